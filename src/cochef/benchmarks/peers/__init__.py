"""Other simulators of the game. Each module is a program for an environment of its own; see `service`."""
