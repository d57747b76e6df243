"""One step of the game."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from cochef.kitchen.constants import POT_CAPACITY, SEATS, Action, Item
from cochef.kitchen.events import Event
from cochef.kitchen.interaction import (
    NOWHERE,
    EventFlags,
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
    """What a step brought about: each chef's events, and the task reward of its delivery."""

    events: Bool[Array, "*batch 2 events"]
    reward: Float[Array, "*batch 2"]


def step(layout: Layout, state: State, actions: Int[Array, "2"]) -> tuple[State, Outcome]:
    """Advance the kitchen one step: interact in seat order, move, cook."""
    state, outcome = interact(layout, state, actions)
    chefs = move(layout, state.chefs, actions)
    pots = cook(layout, state.pots)
    return State(chefs, pots, state.counters, state.time + 1), outcome


def interact(layout: Layout, state: State, actions: Int[Array, "2"]) -> tuple[State, Outcome]:
    """Let seat 0 use what it faces, then seat 1 what seat 0 has left."""
    fronts = jnp.where(actions == Action.INTERACT, in_front(layout, state.chefs), NOWHERE)
    # As the reference engine does, both chefs' pickups are judged by the pots before the step.
    dishes_needed = count_dishes_needed(state.pots)
    events, rewards = [], []
    for seat in range(SEATS):
        state, flags, reward = _use(layout, state, seat, fronts[seat], dishes_needed)
        events.append(_stacked(flags))
        rewards.append(reward)
    return state, Outcome(jnp.stack(events), jnp.stack(rewards))


def _stacked(flags: EventFlags) -> Bool[Array, " events"]:
    """The flags in the order of the events."""
    missing = [event.name for event in Event if event not in flags]
    if missing:
        raise NotImplementedError(f"{missing[0]} is not emitted by interaction.py or dynamics.py")
    return jnp.stack([flags[event] for event in Event])


def _use(
    layout: Layout, state: State, seat: int, front: Int[Array, ""], dishes_needed: Int[Array, ""]
) -> tuple[State, EventFlags, Float[Array, ""]]:
    """One chef uses the tile in front of it: at most one station changes what the hand holds."""
    hand = state.chefs.held[seat]
    # Each station gets the same hand rather than the last one's answer: the compiled step is a
    # quarter faster, as no station waits for another.
    by_counter, counters, counter_events = use_counter(layout, front, hand, state.counters)
    by_dispenser, dispenser_events = use_dispenser(layout, front, hand)
    by_pot, pots, pot_events = use_pot(layout, front, hand, state.pots)
    by_serving, reward, serving_events = use_serving(layout, front, hand)
    new_hand = hand
    for answer in (by_counter, by_dispenser, by_pot, by_serving):
        new_hand = jnp.where(answer != hand, answer, new_hand)

    flags = {**counter_events, **dispenser_events, **pot_events, **serving_events}
    flags |= _useful_pickups(state, seat, flags, dishes_needed)
    chefs = Chef(state.chefs.cell, state.chefs.facing, state.chefs.held.at[seat].set(new_hand))
    return State(chefs, pots, counters, state.time), flags, reward


def _useful_pickups(
    before: State, seat: int, flags: EventFlags, dishes_needed: Int[Array, ""]
) -> EventFlags:
    """Whether a pot waited for the dish that was taken, or for the tomato."""
    no_dish_lies = ~(before.counters == Item.DISH).any()
    dishes_held = (before.chefs.held == Item.DISH).sum()
    dish_from_dispenser = flags[Event.PICKUP_DISH_FROM_DISPENSER]
    tomato_from_dispenser = flags[Event.PICKUP_TOMATO_FROM_DISPENSER]
    tomato_from_counter = flags[Event.PICKUP_TOMATO_FROM_COUNTER]

    onions, tomatoes = before.pots.contents[:, 0], before.pots.contents[:, 1]
    begun_with_tomatoes = ((onions == 0) & (tomatoes > 0) & (tomatoes < POT_CAPACITY)).any()
    partner_holds_none = before.chefs.held[1 - seat] != Item.TOMATO
    return {
        Event.USEFUL_DISH_PICKUP: (
            dish_from_dispenser & no_dish_lies & (dishes_held < dishes_needed)
        ),
        Event.USEFUL_TOMATO_PICKUP: (
            (tomato_from_dispenser | tomato_from_counter) & begun_with_tomatoes & partner_holds_none
        ),
    }


def count_dishes_needed(pots: Pot) -> Int[Array, ""]:
    """How many pots are partly filled, cooking or ready; full ones that nobody has lit are not."""
    items = pots.contents.sum(axis=-1)
    return (is_lit(pots) | ((items > 0) & (items < POT_CAPACITY))).sum()


def cook(layout: Layout, pots: Pot) -> Pot:
    """Let every lit pot cook one step further until its soup is ready."""
    return Pot(pots.contents, pots.ticks + (is_lit(pots) & ~is_ready(layout, pots)))
