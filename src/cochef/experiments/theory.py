"""The paper's theorem as a checked example: its bounds on random games, as a table."""

from collections.abc import Sequence

from cochef.evaluation.tables import ResultTable
from cochef.methods.parts.theorem import TheoremCheck, check_theorem, random_game, random_people

GAMES = 5
PEOPLE = 200
LEVELS = (4, 8, 16, 64, 256)


def theorem_checks(
    games: int = GAMES, people: int = PEOPLE, levels: Sequence[int] = LEVELS
) -> list[TheoremCheck]:
    """Theorem 5.1 on the first random games, with people drawn for each and every K."""
    found: list[TheoremCheck] = []
    for seed in range(games):
        game = random_game(seed)
        found += check_theorem(game, random_people(game, people, seed), levels)
    return found


def theorem_table(checks: Sequence[TheoremCheck]) -> ResultTable:
    """A row for each K: the worst that came out in any game, and the least that the proof allows.

    Returns are discounted and lie between -2 and 2.
    """
    header = (
        *("K", "hidden rewards", "rounded by", "at most", "policy found again to"),
        *("objective changed by", "at most", "gap with people", "epsilon", "bounds hold"),
    )
    body = []
    for levels in sorted({check.levels for check in checks}):
        rows = [check for check in checks if check.levels == levels]
        numbers = sorted({row.hidden_rewards for row in rows})
        rewards = " to ".join(str(number) for number in (numbers[0], *numbers[1:][-1:]))
        held = sum(row.holds for row in rows)
        body.append(
            (
                str(levels),
                f"{rewards} for {rows[0].people} people",
                f"{max(row.rounding for row in rows):.4f}",
                f"{min(row.rounding_bound for row in rows):.4f}",
                f"{max(row.recovery for row in rows):.0e}",
                f"{max(row.change for row in rows):.4f}",
                f"{min(row.change_bound for row in rows):.3f}",
                f"{max(row.gap for row in rows):.4f}",
                f"{min(row.epsilon for row in rows):.3f}",
                f"{held} of {len(rows)} games",
            )
        )
    title = "Theorem 5.1: people's policies, rounded to probabilities i / K, as hidden rewards"
    return ResultTable(title, header, tuple(body))
