"""Members that earn nothing begin anew, once; everybody else goes on."""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from cochef.agents.network_config import NetworkConfig
from cochef.errors import InputError
from cochef.learning.config import Schedule, TrainingConfig
from cochef.learning.population import Algorithm, RewardWeights
from cochef.learning.trainer import Trainer
from tests.ladder.game import Ladder, Rung

TASK_ALONE, OTHER_REWARD = range(2)  # the two members
CONFIG = TrainingConfig(
    kitchens=8,
    rollout_steps=8,
    total_steps=3 * 8 * 8,
    minibatches=2,
    restart_at=0.4,  # after the first of three iterations
    network=NetworkConfig(hidden=(8,)),
)


@dataclass(frozen=True)
class UnpaidLadder(Ladder):
    """The ladder without a task reward."""

    def step(self, state, actions):
        state, outcome = super().step(state, actions)
        return state, replace(outcome, reward=0 * outcome.reward)


def gradient_steps(environment, config=CONFIG):
    """How many gradient steps each member's learner has behind it, after every iteration."""
    events = jnp.zeros((2, 2, len(Rung))).at[OTHER_REWARD].set(1.0)
    weights = RewardWeights(events, jnp.ones((2, 2)), jnp.zeros_like(events))
    trainer = Trainer(environment, Algorithm(), config, weights, jax.random.key(0))
    state = trainer.begin()
    found = []
    for iteration in range(config.iterations):
        state, _ = trainer.iterate(state, iteration)
        found.append(np.ravel(state.learners.actor_opt_state[1].count).tolist())
    return found


def test_a_member_that_earns_nothing_begins_anew_once():
    each = CONFIG.epochs * CONFIG.minibatches
    assert gradient_steps(UnpaidLadder()) == [[0, each], [each, 2 * each], [2 * each, 3 * each]]


def test_a_member_that_earns_something_goes_on():
    each = CONFIG.epochs * CONFIG.minibatches
    assert gradient_steps(Ladder())[-1] == [3 * each, 3 * each]


def test_without_a_share_nobody_begins_anew():
    each = CONFIG.epochs * CONFIG.minibatches
    assert gradient_steps(UnpaidLadder(), replace(CONFIG, restart_at=0.0))[-1] == [3 * each] * 2


def test_who_began_anew_goes_through_all_schedules_in_the_time_that_is_left():
    # Every step is paid by the shaped reward and by nothing else: its weight is what a step pays.
    config = replace(CONFIG, shaping=Schedule(1.0, 0.0, CONFIG.total_steps))
    nothing = jnp.zeros((2, 2, len(Rung)))
    weights = RewardWeights(nothing, jnp.ones((2, 2)), nothing.at[:, :, Rung.STEP].set(1.0))
    trainer = Trainer(UnpaidLadder(), Algorithm(), config, weights, jax.random.key(0))
    state = trainer.begin()
    shares = []
    for iteration in range(config.iterations):
        state, metrics = trainer.iterate(state, iteration)
        shares.append(float(metrics.objective_return[0, 0]) / UnpaidLadder().horizon)
    assert np.allclose(shares, [1.0, 1.0, 0.5])


@pytest.mark.parametrize("share", [-0.1, 1.0, float("nan")])
def test_a_share_outside_its_range_is_refused(share):
    with pytest.raises(InputError, match=r"restart_at is .*; it takes a number from 0 to below 1"):
        replace(CONFIG, restart_at=share)
