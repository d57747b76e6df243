"""Our kitchen is the same game as overcooked_ai 1.1.0."""

import os
from collections import Counter
from functools import cache

import numpy as np
import pytest

from cochef.kitchen import layouts
from cochef.kitchen.events import Event
from cochef.kitchen.state import start
from cochef.kitchen.text import from_json, to_json
from tests.reference.allowed import allowed
from tests.reference.anything import random_state
from tests.reference.engine import Engine, ReferenceOutcome
from tests.reference.proof import Comparison, compare_anything, compare_play, compiled_in_a_hurry
from tests.reference.table import PROPERTY, row_of

STEPS = int(os.environ.get("COCHEF_LONG_STEPS", "200000"))  # on every layout, in the long proof
LEAST = 500 * STEPS // 200_000  # how often everything that a layout allows has to happen
EPISODES = 25  # played and compared at a time

engine_of = cache(lambda name: Engine(layouts.get(name)))  # what it plans ahead takes long
every_layout = pytest.mark.parametrize("name", layouts.names())


@every_layout
def test_a_sample_of_play_is_the_same_in_both_engines(name):
    engine, rng = engine_of(name), np.random.default_rng(7)
    compared = sum(
        (compare_play(engine, 1, rng, compiled_in_a_hurry) for _ in range(2)), Comparison()
    )
    assert compared.steps == 800
    assert compared.differences == ()


@every_layout
def test_a_step_from_any_state_is_the_same_in_both_engines(name):
    engine = engine_of(name)
    compared = compare_anything(
        engine, engine.layout.horizon, np.random.default_rng(7), compiled_in_a_hurry
    )
    assert compared.differences == ()


@every_layout
def test_both_engines_start_alike_and_read_and_write_the_same_json(name):
    engine, rng = engine_of(name), np.random.default_rng(7)
    layout = engine.layout
    assert engine.to_json(engine.start()) == to_json(layout, start(layout))
    for _ in range(20):
        data = random_state(layout, rng)
        assert engine.to_json(engine.from_json(data)) == data
        assert to_json(layout, from_json(layout, data)) == data


class FaultyEngine(Engine):
    """A reference that is wrong in all it says, each time in a small way."""

    def step(self, state, actions):
        after, outcome = super().step(state, actions)
        events = (outcome.events[0] ^ {Event.DELIVERY}, outcome.events[1])
        after.timestep += 1
        return after, ReferenceOutcome(events, (outcome.reward[0], outcome.reward[1] + 1))

    def planes(self, state):
        return super().planes(state) + 1

    def features(self, state):
        return super().features(state)[:, :95]


def test_every_kind_of_difference_is_found():
    layout = layouts.get("coordination_ring")
    compared = compare_anything(
        FaultyEngine(layout), layout.horizon, np.random.default_rng(7), compiled_in_a_hurry
    )
    found = Counter(difference.split(": ")[1].split()[0] for difference in compared.differences)
    steps = layout.horizon
    assert found == {
        "after": steps,
        "events": steps,
        "reward": steps,
        "planes": steps // 2,
        "features": steps // 4,
    }


def test_a_difference_is_told_in_words():
    layout = layouts.get("coordination_ring")
    compared = compare_anything(
        FaultyEngine(layout), layout.horizon, np.random.default_rng(7), compiled_in_a_hurry
    )
    assert compared.differences[0].startswith("coordination_ring, step 0: after at [[")


@pytest.mark.long
@every_layout
def test_two_hundred_thousand_steps_are_the_same_in_both_engines(name, record_property):
    engine, rng, compared = engine_of(name), np.random.default_rng(1), Comparison()
    wanted = Counter(dict.fromkeys(allowed(engine.layout), LEAST))
    while compared.steps < STEPS or (wanted - compared.counts and compared.steps < 3 * STEPS):
        compared += compare_play(engine, EPISODES, rng)
        if compared.differences:
            break
    record_property(PROPERTY, (name, row_of(compared)))
    assert compared.differences == ()
    assert not wanted - compared.counts, "these happened too seldom, by so many times"
    assert set(+compared.counts) <= set(wanted), (
        "some of this happened, although the layout should not allow it"
    )


@pytest.mark.long
@every_layout
def test_thousands_of_steps_from_any_state_are_the_same_in_both_engines(name):
    compared = compare_anything(engine_of(name), max(STEPS // 40, 1), np.random.default_rng(1))
    assert compared.differences == ()
