"""How the converted games compare with their record, as a table and as sentences."""

from collections.abc import Iterator, Sequence

from cochef.human.convert import ReplayCheck

HEADER = (
    "layout",
    "games",
    "steps",
    "reproduced",
    "share",
    "recorded score",
    "replayed score",
)


def rows(checks: Sequence[ReplayCheck]) -> Iterator[tuple[str, ...]]:
    """A row for each layout, in the columns of HEADER, and one for all of them."""
    for name in sorted({check.game.layout_name for check in checks}):
        yield _row(name, [check for check in checks if check.game.layout_name == name])
    yield _row("all", checks)


def _row(name: str, checks: Sequence[ReplayCheck]) -> tuple[str, ...]:
    steps = sum(len(check.game.actions) for check in checks)
    exact = sum(check.exact for check in checks)
    recorded = sum(check.game.score for check in checks)
    replayed = sum(check.replayed_score for check in checks)
    numbers = (len(checks), steps, exact, f"{exact / steps:.2%}", recorded, replayed)
    return (name, *map(str, numbers))


def differences(checks: Sequence[ReplayCheck]) -> Iterator[str]:
    """A sentence for each game that our rules do not reproduce."""
    for check in checks:
        if check.first_difference is not None:
            game = check.game
            first = check.first_difference
            steps = len(game.actions)
            yield (
                f"{game.layout_name}, {game.split.value}, pair {game.pair}: "
                f"{steps - check.exact} of {steps} steps differ, first step {first.step}: "
                f"recorded {first.recorded}, replayed {first.replayed}"
            )


def markdown(checks: Sequence[ReplayCheck]) -> str:
    """The table, and the sentences on games that differ."""
    lines = [HEADER, ["---", *["---:"] * (len(HEADER) - 1)], *rows(checks)]
    table = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    return table + "".join(f"\n- {sentence}" for sentence in differences(checks))
