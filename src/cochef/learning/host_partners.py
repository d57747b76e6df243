"""The partners of a pool that are own agents and no JAX code.

They are asked between the steps of a rollout, in the kitchens where they are the partner.
"""

from typing import Any

import jax
import numpy as np

from cochef.agents import hosting
from cochef.agents.hosting import HostCaller, HostSeat
from cochef.agents.own_observations import observe_seats
from cochef.kitchen.layout import Layout
from cochef.kitchen.stepping import EnvState
from cochef.learning import axes
from cochef.learning.collect import Players
from cochef.learning.partner_sampling import PartnerPool


class HostPartners:
    """Own agents of a pool, in all kitchens of all members.

    Their recurrent states are here, not in checkpoints: after an interruption they begin anew.
    """

    def __init__(self, layout: Layout, pool: PartnerPool, rows: int) -> None:
        """All of them begin."""
        self._layout = layout
        self._rows = rows
        self._numbers: list[int] = []  # of the partner in the pool, group by group
        self._seats: dict[tuple[int, int], HostSeat] = {}  # by group and its answer's number
        first = 0
        for group in pool.groups:
            self._numbers.append(first)
            first += group.size

    def answer(self, states: EnvState, players: Players) -> tuple[Any, ...]:
        """The partners' carries, with what each says to these states where it is the partner."""
        assert players.pairing is not None
        members = players.clock.shape[0]
        partner = np.asarray(players.pairing.partner).ravel()
        episode_start = np.asarray(players.clock).ravel() == 0
        seats = 1 - np.asarray(players.seat).ravel()
        carries = []
        for number, carry in enumerate(players.partner_carry):
            here = partner == self._numbers[number]
            found = []
            for place, answer in enumerate(hosting.answers_in(carry)):
                seat = self._seat((number, place), answer.caller)
                seat.restart(here & episode_start)
                seen = observe_seats(self._layout, answer.caller.observes, states, seats)
                said = seat.ask(jax.device_get(seen), here)
                found.append(axes.split_kitchens(said, members))
            carries.append(hosting.with_answers(carry, found))
        return tuple(carries)

    def _seat(self, place: tuple[int, int], caller: HostCaller) -> HostSeat:
        if place not in self._seats:
            self._seats[place] = HostSeat(caller, self._rows)
        return self._seats[place]
