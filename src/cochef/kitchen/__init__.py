"""The game, with no learning in it."""
