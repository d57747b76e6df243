"""Things that act in a kitchen."""
