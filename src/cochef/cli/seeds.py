"""Seeds as they are given on the command line."""

from cochef.errors import InputError

MAX_SEED = 2**32 - 1


def check_seed(seed: int) -> None:
    """Complain about a seed that no generator takes."""
    if not 0 <= seed <= MAX_SEED:
        raise InputError(f"seed {seed}; allowed: 0 to {MAX_SEED}")
