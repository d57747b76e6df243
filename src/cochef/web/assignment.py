"""Who plays where, with whom, and in which order: pure functions of a participant's place and seed.

The games come in rounds; every round has each agent once, and every two rounds each agent in both
seats. The order within a round is a row of a Williams square, another one in each round and for
each place. So over as many participants as there are agents, each agent comes at every position of
the session equally often, and within rounds each follows each other equally often.
"""

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_uppercase

from cochef.kitchen.constants import SEATS
from cochef.web.study import Study


@dataclass(frozen=True)
class BlindedPartner:
    """An agent as a participant meets it: a letter on the page, its label in the data."""

    label: str
    agent: str


@dataclass(frozen=True)
class PlannedGame:
    """One of the games that count: its partner by place in the plan, the participant's seat."""

    number: int
    partner: int
    seat: int


@dataclass(frozen=True)
class ParticipantPlan:
    """The layout, partners and games of one participant."""

    layout: str
    partners: tuple[BlindedPartner, ...]  # in the random order in which the page shows them
    games: tuple[PlannedGame, ...]


def free_place(
    study: Study, taken: Mapping[str, Collection[int]], seed: int
) -> tuple[str, int] | None:
    """A newcomer's layout and lowest free place there; None when the study is full.

    The layout is the one with the fewest participants, drawn among equals.
    """
    size = study.numbers.participants_per_layout
    counts = {layout: len(taken.get(layout, ())) for layout in study.layouts}
    open_ones = [layout for layout, count in counts.items() if count < size]
    if not open_ones:
        return None
    fewest = min(counts[layout] for layout in open_ones)
    equals = [layout for layout in open_ones if counts[layout] == fewest]
    # Seeds of their own keep what is drawn here independent of the letters of partners.
    layout = random.Random(f"kitchen {seed}").choice(equals)
    return layout, min(set(range(size)) - set(taken.get(layout, ())))


def plan(study: Study, layout: str, place: int, seed: int) -> ParticipantPlan:
    """A participant's plan: partners under random letters, games in the place's balanced order."""
    shown = random.Random(f"letters {seed}").sample(study.agents, len(study.agents))
    partners = tuple(
        BlindedPartner(letter, agent) for letter, agent in zip(ascii_uppercase, shown, strict=False)
    )
    games = tuple(
        PlannedGame(number, shown.index(study.agents[agent]), seat)
        for number, (agent, seat) in enumerate(
            order(len(study.agents), study.numbers.repeats, place)
        )
    )
    return ParticipantPlan(layout, partners, games)


def order(agents: int, repeats: int, place: int) -> list[tuple[int, int]]:
    """The games of a place as (agent, the participant's seat)."""
    square = williams(agents)
    return [
        (agent, (round_ + agent + place // agents) % SEATS)
        for round_ in range(repeats * SEATS)
        for agent in square[(place + round_) % len(square)]
    ]


def williams(agents: int) -> list[tuple[int, ...]]:
    """A Williams square: orders of the agents that are balanced for position and succession.

    Over all rows each agent is equally often at every position and directly after every other one.
    An odd number of agents takes the rows backwards as well.
    """
    first = [0]
    for distance in range(1, agents):
        first.append((first[-1] + (distance if distance % 2 else -distance)) % agents)
    rows = [_shifted(first, shift) for shift in range(agents)]
    return rows + [row[::-1] for row in rows] if agents % 2 else rows


def _shifted(agents: Sequence[int], shift: int) -> tuple[int, ...]:
    return tuple((agent + shift) % len(agents) for agent in agents)
