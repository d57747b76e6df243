"""Same seed, same result; a member learns the same whoever learns beside it, and wherever."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from cochef import methods
from cochef.errors import InputError
from cochef.experiments.presets import PRESETS
from cochef.learning.config import Schedule
from tests.learning.first_iteration import AGENTS, arrays, first_iteration, trainer

METHODS = ("sp", "hsp", AGENTS)
# What follows from random draws alone: the first actors; states, seats and clocks later.
DRAWN = ("before", "after.kitchens")
BIASED_PAIRS = 36
MEMORY_LIMIT = 4e9

ONE_LAPTOP_ITERATION = """
import resource
import jax
from cochef.runtime import use_all_cores
use_all_cores()
from cochef.experiments.pipeline import population
from cochef.kitchen import layouts
trainer = population("hsp", layouts.get("counter_circuit"), "laptop").trainer
state = trainer.begin()
for iteration in range(2):
    state, metrics = trainer.iterate(state, iteration)
jax.block_until_ready(state)
print(len(metrics.task_return), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""


@pytest.fixture(scope="module", params=METHODS)
def method(request):
    return request.param


@pytest.fixture(scope="module")
def two(method):
    return first_iteration(method, 2)


@pytest.fixture(scope="module")
def four(method):
    return first_iteration(method, 4)


@pytest.fixture(scope="module")
def on_two_devices(tmp_path_factory):
    """A file for each method: four members on two devices."""
    directory = tmp_path_factory.mktemp("devices")
    command = [sys.executable, "-m", "tests.learning.first_iteration", "2", "4", str(directory)]
    subprocess.run([*command, *METHODS], check=True)
    return directory


@pytest.fixture(scope="module")
def four_on_two_devices(on_two_devices, method):
    with np.load(on_two_devices / f"{method}.npz") as found:
        return dict(found)


def after_two_iterations(method, seed):
    one = trainer(method, 2, seed)
    state = one.begin()
    for iteration in range(2):
        state, _ = one.iterate(state, iteration)
    return arrays(state, "")


def test_the_same_seed_gives_the_same_bits(method):
    one, again, other = (after_two_iterations(method, seed) for seed in (0, 0, 1))
    assert all(np.array_equal(one[name], again[name]) for name in one)
    assert not np.allclose(one[".learners.actor.head.weight"], other[".learners.actor.head.weight"])


def test_a_member_learns_the_same_to_the_bit_however_many_there_are(two, four):
    assert two.keys() == four.keys()
    assert all(np.array_equal(two[name], four[name][:2]) for name in two)


def test_members_draw_the_same_on_more_devices_and_learn_the_same_but_for_rounding(
    four, four_on_two_devices
):
    assert four.keys() == four_on_two_devices.keys()
    for name, found in four_on_two_devices.items():
        if name.startswith(DRAWN) and "carry" not in name:
            assert np.array_equal(four[name], found), name
        else:
            assert np.allclose(four[name], found, atol=1e-4), name


def test_members_differ_from_each_other_and_from_what_they_were(four):
    weights = four["after.learners.actor.head.weight"]
    assert (np.abs(weights - four["before.head.weight"]).max(axis=(1, 2, 3)) > 1e-3).all()
    assert all(np.abs(weights[0] - weights[member]).max() > 1e-3 for member in range(1, 4))
    cells = np.moveaxis(four["after.kitchens.states.chefs.cell"], 0, -1)
    assert (cells != cells[..., :1]).any()


@pytest.mark.parametrize(("chunk", "minibatches"), [(8, 4), (4, 8), (2, 16)])
def test_minibatches_beyond_the_chunks_share_their_kitchens_and_take_every_step_once(
    chunk, minibatches
):
    """At rate 0 nothing moves: means over equal parts are the mean if the parts make up all."""
    first = trainer(AGENTS, 2)
    still = replace(first.config, learning_rate=Schedule(0.0, 0.0, 1), epochs=1, chunk=8)
    found = []
    for changes in ({"minibatches": 1}, {"minibatches": minibatches, "chunk": chunk}):
        one = replace(first, config=replace(still, **changes))
        found.append(one.iterate(one.begin(), 0)[1].update)
    whole, parts = found
    for name in ("actor_loss", "critic_loss", "entropy"):
        assert np.allclose(getattr(whole, name), getattr(parts, name), atol=1e-5), name


def test_kitchens_that_minibatches_cannot_share_are_refused_or_rounded_up():
    config = replace(trainer(AGENTS, 2).config, chunk=8, minibatches=4)
    assert config.with_partners(5).kitchens == 8  # 20 would be far more
    assert replace(config, kitchens=32).with_partners(9).kitchens == 36
    message = "4 minibatches of 1 chunks of 8 steps in 6 kitchens; .* a multiple of 4"
    with pytest.raises(InputError, match=message):
        replace(config, kitchens=6)


@pytest.mark.long
def test_the_pairs_of_a_biased_population_train_in_little_memory():
    command = [sys.executable, "-c", ONE_LAPTOP_ITERATION]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    pairs, most = done.stdout.split()
    sizes = methods.get("hsp").sizes(PRESETS["laptop"].scale)
    assert int(pairs) == sizes["biased"] == BIASED_PAIRS
    assert int(most) < MEMORY_LIMIT
