"""How the converted games compare with their record, as a table and as sentences."""

from collections.abc import Iterator, Sequence

from cochef.human.convert import Check

HEADER = ("kitchen", "games", "steps", "reproduced", "share", "recorded score", "replayed score")

Row = tuple[str, ...]


def rows(checks: Sequence[Check]) -> Iterator[Row]:
    """A row for each kitchen, in the columns of HEADER, and one for all of them."""
    for layout in sorted({check.game.layout for check in checks}):
        yield _row(layout, [check for check in checks if check.game.layout == layout])
    yield _row("all", checks)


def _row(name: str, checks: Sequence[Check]) -> Row:
    steps = sum(len(check.game.actions) for check in checks)
    exact = sum(check.exact for check in checks)
    recorded, replayed = sum(check.game.score for check in checks), sum(check.replayed_score for check in checks)
    return (name, str(len(checks)), str(steps), str(exact), f"{exact / steps:.2%}", str(recorded), str(replayed))


def differences(checks: Sequence[Check]) -> Iterator[str]:
    """A sentence for each game that our rules do not reproduce."""
    for check in checks:
        if check.first_difference is not None:
            game, first = check.game, check.first_difference
            yield (
                f"{game.layout}, {game.split.value}, pair {game.pair}: {len(game.actions) - check.exact} of "
                f"{len(game.actions)} steps differ, first step {first.step}: "
                f"recorded {first.recorded}, replayed {first.replayed}"
            )


def markdown(checks: Sequence[Check]) -> str:
    """The table, and the sentences on games that differ."""
    lines = [HEADER, ["---", *["---:"] * (len(HEADER) - 1)], *rows(checks)]
    table = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    return table + "".join(f"\n- {sentence}" for sentence in differences(checks))
