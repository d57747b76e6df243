"""One step of the game."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from cochef.kitchen.constants import POT_CAPACITY, SEATS, Action, Item
from cochef.kitchen.events import Event
from cochef.kitchen.interaction import (
    NOWHERE,
    Happened,
    use_counter,
    use_dispenser,
    use_pot,
    use_serving,
)
from cochef.kitchen.layout import Layout
from cochef.kitchen.movement import in_front, move
from cochef.kitchen.pots import is_lit, is_ready
from cochef.kitchen.state import Chef, Pot, State
from cochef.pytree import pytree


@pytree
class Outcome:
    """What a step brought about: events per chef, and the task reward that each chef's delivery paid."""

    events: Bool[Array, "*batch 2 events"]
    reward: Float[Array, "*batch 2"]


def step(layout: Layout, state: State, actions: Int[Array, "2"]) -> tuple[State, Outcome]:
    """Advance the kitchen one tick: interact in seat order, move, cook."""
    state, outcome = interact(layout, state, actions)
    chefs = move(layout, state.chefs, actions)
    return State(chefs, cook(layout, state.pots), state.counters, state.time + 1), outcome


def interact(layout: Layout, state: State, actions: Int[Array, "2"]) -> tuple[State, Outcome]:
    """Let seat 0 use what it faces, then seat 1 on what seat 0 left behind."""
    fronts = jnp.where(actions == Action.INTERACT, in_front(layout, state.chefs), NOWHERE)
    dishes_wanted = count_dishes_wanted(state.pots)
    events, rewards = [], []
    for seat in range(SEATS):
        state, happened, reward = _use(layout, state, seat, fronts[seat], dishes_wanted)
        events.append(jnp.stack([happened[event] for event in Event]))
        rewards.append(reward)
    return state, Outcome(jnp.stack(events), jnp.stack(rewards))


def _use(
    layout: Layout, state: State, seat: int, front: Int[Array, ""], dishes_wanted: Int[Array, ""]
) -> tuple[State, Happened, Float[Array, ""]]:
    """One chef uses the tile in front of it; at most one station answers."""
    before, hand = state, state.chefs.held[seat]
    # A hand that one station has changed must not reach the next: all are asked with the same hand.
    by_counter, counters, at_counter = use_counter(layout, front, hand, state.counters)
    by_dispenser, at_dispenser = use_dispenser(layout, front, hand)
    by_pot, pots, at_pot = use_pot(layout, front, hand, state.pots)
    by_serving, reward, at_serving = use_serving(layout, front, hand)
    hand = by_counter + by_dispenser + by_pot + by_serving - 3 * hand
    held = state.chefs.held.at[seat].set(hand)
    state = State(Chef(state.chefs.cell, state.chefs.facing, held), pots, counters, state.time)
    happened = {**at_counter, **at_dispenser, **at_pot, **at_serving}
    return state, {**happened, **_useful_pickups(before, seat, happened, dishes_wanted)}, reward


def _useful_pickups(
    before: State, seat: int, happened: Happened, dishes_wanted: Int[Array, ""]
) -> Happened:
    """Whether a dish just taken had a pot waiting for it, and a tomato a pot begun with tomatoes."""
    no_dish_lies = ~(before.counters == Item.DISH).any()
    dishes_held = (before.chefs.held == Item.DISH).sum()
    tomato = (
        happened[Event.PICKUP_TOMATO_FROM_DISPENSER] | happened[Event.PICKUP_TOMATO_FROM_COUNTER]
    )
    onions, tomatoes = before.pots.contents[:, 0], before.pots.contents[:, 1]
    begun_with_tomatoes = ((onions == 0) & (tomatoes > 0) & (tomatoes < POT_CAPACITY)).any()
    return {
        Event.USEFUL_DISH_PICKUP: happened[Event.PICKUP_DISH_FROM_DISPENSER]
        & no_dish_lies
        & (dishes_held < dishes_wanted),
        Event.USEFUL_TOMATO_PICKUP: tomato
        & begun_with_tomatoes
        & (before.chefs.held[1 - seat] != Item.TOMATO),
    }


def count_dishes_wanted(pots: Pot) -> Int[Array, ""]:
    """How many pots are partly filled, cooking or ready; full ones that nobody has lit do not count."""
    items = pots.contents.sum(axis=-1)
    return (is_lit(pots) | ((items > 0) & (items < POT_CAPACITY))).sum()


def cook(layout: Layout, pots: Pot) -> Pot:
    """Every lit pot cooks one tick further until its soup is ready."""
    return Pot(pots.contents, pots.ticks + (is_lit(pots) & ~is_ready(layout, pots)))
