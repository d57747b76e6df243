"""The command line: the only reader of argv.

A command is a dataclass: its fields are its arguments, and `run` returns the exit code. The modules
here load JAX only inside `run`, so that help appears at once.
"""
