"""Behaviours beyond the score, counted for each chef and episode."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from cochef.kitchen.constants import POT_CAPACITY, SEATS, Action
from cochef.kitchen.events import Event
from cochef.kitchen.layout import Layout
from cochef.kitchen.metrics import TOTALS, EpisodeTotals
from cochef.kitchen.movement import in_front
from cochef.kitchen.pots import is_lit
from cochef.kitchen.stepping import Transition
from cochef.pytree import pytree

NOBODY = -1


@pytree
class EpisodeBehaviour:
    """An episode's totals and each chef's behaviours."""

    totals: EpisodeTotals
    correct_placements: Int[Array, "*kitchens 2"]  # a tomato into a pot begun with tomatoes only
    wrong_placements: Int[Array, "*kitchens 2"]  # an onion into such a pot
    soups_from_pot: Int[Array, "*kitchens 2 pots"]
    handed_over: Int[Array, "*kitchens 2"]  # put on a counter, and picked up by the other chef
    onions_passed: Int[Array, "*kitchens 2 counters"]  # onions among these, by counter
    collisions: Int[Array, "*kitchens 2"]  # steps onto floor that were blocked
    idle: Int[Array, "*kitchens 2"]  # steps in which neither place, facing nor hand changed
    giver: Int[Array, "*kitchens counters"]  # who put down what lies on each counter


class CountBehaviour:
    """Measures the score, the events and the behaviours of an episode."""

    def begin(self, layout: Layout) -> EpisodeBehaviour:
        """Nothing yet."""
        pots = len(layout.pot_cells)
        counters = len(layout.counter_cells)
        none = jnp.zeros(SEATS, jnp.int32)
        return EpisodeBehaviour(
            totals=TOTALS.begin(layout),
            correct_placements=none,
            wrong_placements=none,
            soups_from_pot=jnp.zeros((SEATS, pots), jnp.int32),
            handed_over=none,
            onions_passed=jnp.zeros((SEATS, counters), jnp.int32),
            collisions=none,
            idle=none,
            giver=jnp.full(counters, NOBODY, jnp.int32),
        )

    def update(
        self, layout: Layout, measured: EpisodeBehaviour, transition: Transition
    ) -> EpisodeBehaviour:
        """Add a step."""
        fronts = in_front(layout, transition.state.chefs)
        events = transition.outcome.events
        at_pot = fronts[:, None] == jnp.asarray(layout.pot_cells)
        plated = at_pot & events[:, Event.SOUP_PICKUP, None]
        correct, wrong = _placements(at_pot, events, transition.state.pots.contents)
        passed, giver = _hand_overs(layout, fronts, events, measured.giver)
        # What passed is an onion if the receiver, who is the other chef, picked up an onion.
        onions = passed & events[::-1, Event.PICKUP_ONION_FROM_COUNTER, None]
        return EpisodeBehaviour(
            totals=TOTALS.update(layout, measured.totals, transition),
            correct_placements=measured.correct_placements + correct,
            wrong_placements=measured.wrong_placements + wrong,
            soups_from_pot=measured.soups_from_pot + plated,
            handed_over=measured.handed_over + passed.any(axis=1),
            onions_passed=measured.onions_passed + onions,
            collisions=measured.collisions + _collisions(layout, transition),
            idle=measured.idle + _idle(at_pot, transition),
            giver=giver,
        )


BEHAVIOUR = CountBehaviour()


def _placements(
    at_pot: Bool[Array, "2 pots"], events: Bool[Array, "2 events"], contents: Int[Array, "pots 2"]
) -> tuple[Bool[Array, "2"], Bool[Array, "2"]]:
    """Whether each chef put a tomato, or an onion, into a pot partly filled with tomatoes."""
    potted = jnp.stack([events[:, Event.POTTING_ONION], events[:, Event.POTTING_TOMATO]], axis=1)
    by_first = at_pot[0, :, None] & potted[0]
    found = jnp.stack([contents, contents + by_first])  # seat 1 finds what seat 0 left
    begun = (found[..., 0] == 0) & (found[..., 1] > 0) & (found[..., 1] < POT_CAPACITY)
    there = (at_pot & begun).any(axis=1)
    return there & potted[:, 1], there & potted[:, 0]


def _hand_overs(
    layout: Layout,
    fronts: Int[Array, "2"],
    events: Bool[Array, "2 events"],
    giver: Int[Array, " counters"],
) -> tuple[Bool[Array, "2 counters"], Int[Array, " counters"]]:
    """Which counters passed an item of each chef to the other in this step, and the new givers."""
    put = slice(Event.PUT_ONION_ON_COUNTER, Event.PUT_SOUP_ON_COUNTER + 1)
    taken = slice(Event.PICKUP_ONION_FROM_COUNTER, Event.PICKUP_SOUP_FROM_COUNTER + 1)
    here = fronts[:, None] == jnp.asarray(layout.counter_cells)
    passed: list[Bool[Array, " counters"]] = [jnp.zeros(giver.shape, bool)] * SEATS
    for seat in range(SEATS):  # in this order, as the rules go
        puts = here[seat] & events[seat, put].any()
        takes = here[seat] & events[seat, taken].any()
        passed[1 - seat] = takes & (giver == 1 - seat)
        giver = jnp.where(puts, seat, jnp.where(takes, NOBODY, giver))
    return jnp.stack(passed), giver


def _collisions(layout: Layout, transition: Transition) -> Bool[Array, "2"]:
    before = transition.state.chefs.cell
    walks = transition.actions < Action.STAY
    ahead = before + jnp.asarray(layout.steps)[jnp.where(walks, transition.actions, 0)]
    to_floor = jnp.asarray(layout.is_floor)[ahead]
    return walks & to_floor & (transition.next_state.chefs.cell == before)


def _idle(at_pot: Bool[Array, "2 pots"], transition: Transition) -> Bool[Array, "2"]:
    before = transition.state.chefs
    after = transition.next_state.chefs
    stands = (before.cell == after.cell) & (before.facing == after.facing)
    same = stands & (before.held == after.held)
    # Lighting a pot changes nothing about the chef, and is no event.
    was_lit = is_lit(transition.state.pots) | ~is_lit(transition.next_state.pots)
    lights = (transition.actions == Action.INTERACT) & (at_pot & ~was_lit).any(axis=1)
    return same & ~lights & ~transition.outcome.events.any(axis=1)


def counts(layout: Layout, behaviour: EpisodeBehaviour) -> dict[str, np.ndarray]:
    """The behaviours as columns with axes [episode, chef], by name.

    Soups from the middle pot are counted only where a pot is in the middle of others.
    """
    middle = _middle_pot(layout)
    positions = [layout.position(cell) for cell in layout.counter_cells]
    inner = [
        x not in (0, layout.width - 1) and y not in (0, layout.height - 1) for x, y in positions
    ]
    inner_onions = behaviour.onions_passed[..., np.array(inner, bool)]
    columns = {
        "correct_placements": behaviour.correct_placements,
        "wrong_placements": behaviour.wrong_placements,
        "onions_passed_over_counter": inner_onions.sum(axis=-1),
        "handed_over": behaviour.handed_over,
        "collisions": behaviour.collisions,
        "idle": behaviour.idle,
    }
    if middle is not None:
        columns["soups_from_middle_pot"] = behaviour.soups_from_pot[..., middle]
    return {name: np.asarray(column) for name, column in columns.items()}


def _middle_pot(layout: Layout) -> int | None:
    """The number of the pot with as many pots on its left as on its right, or above as below.

    There is none where pots do not lie in one line, or are even in number, or alone.
    """
    positions = [layout.position(cell) for cell in layout.pot_cells]
    pots = len(positions)
    lie_in_line = any(len(set(ordinates)) == 1 for ordinates in zip(*positions, strict=True))
    return pots // 2 if lie_in_line and pots > 1 and pots % 2 else None


def own_share(counts: np.ndarray) -> np.ndarray:
    """Each chef's share of both chefs' count, [episode, chef]; NaN where both are 0."""
    total = counts.sum(axis=1, keepdims=True)
    return np.divide(counts, total, out=np.full(counts.shape, np.nan), where=total > 0)


def self_cooking(events: np.ndarray) -> np.ndarray:
    """Each chef's share of the placements into pots, [episode, chef]."""
    return own_share(events[..., Event.PLACEMENT_IN_POT].astype(float))


def self_delivery(events: np.ndarray) -> np.ndarray:
    """Each chef's share of the deliveries, [episode, chef]."""
    return own_share(events[..., Event.DELIVERY].astype(float))
