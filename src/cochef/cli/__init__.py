"""The command line: the only reader of argv. A command is a dataclass with a `run` that returns an exit code."""
