"""A learner with frozen partners finds out in each episode whom it plays with, and does what that one needs."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from cochef.agents.network_config import NetworkConfig
from cochef.agents.networks import Network, ObservationSpec
from cochef.kitchen.constants import SEATS
from cochef.learning.collect import Seating
from cochef.learning.config import Schedule, TrainingConfig
from cochef.learning.partner_sampling import Identity, Pool, Sampling
from cochef.learning.trainer import Recipe, Trainer, Utility
from cochef.pytree import pytree

PARTNERS = 3
LEARNERS = 8


@pytree
class Moment:
    """How many steps have passed, and what each seat did last."""

    elapsed: jax.Array
    actions: jax.Array


@dataclass(frozen=True)
class Follow:
    """In the second step a seat sees what the other one did in the first; the last step pays for doing the same."""

    horizon: int = 4
    actions: int = PARTNERS
    events: int = 1

    @property
    def spec(self):
        entries = self.horizon + self.actions
        return ObservationSpec((entries,), (1.0,) * entries)

    def begin(self, key, elapsed, scattered):
        return Moment(elapsed.astype(jnp.int32), jnp.full(SEATS, -1))

    def step(self, state, actions):
        same = (actions[0] == actions[1]) & (state.elapsed == self.horizon - 1)
        seen = jnp.where(state.elapsed == 0, actions, -1)
        return Moment(state.elapsed + 1, seen), jnp.zeros((SEATS, 1), bool), jnp.full(SEATS, 0.5) * same

    def look(self, states):
        step = states.elapsed == jnp.arange(self.horizon)[:, None]
        other = states.actions[::-1, None] == jnp.arange(self.actions)[None, :, None]
        both = jnp.broadcast_to(step, (SEATS, *step.shape))
        return jnp.concatenate([both, other], axis=1).astype(jnp.uint8)


GAME = Follow()
CONFIG = TrainingConfig(
    kitchens=48,
    steps=8,
    scattered=0.0,
    minibatches=2,
    chunk=4,
    learning_rate=Schedule(1e-2, 1e-3, 48 * 8 * 100),
    entropy=Schedule(0.01, 0.01, 1),
    discount=0.9,
    network=NetworkConfig(hidden=(16,), memory=16),
)


def stubborn():
    """Partners that always do the same, each something else."""
    one = Network(NetworkConfig(hidden=(4,)), GAME.spec, PARTNERS, 0.0, jax.random.key(0))
    many = jax.tree.map(lambda leaf: jnp.stack([leaf] * PARTNERS), one)
    return jax.tree_util.tree_map_with_path(
        lambda path, leaf: 20.0 * jnp.eye(PARTNERS) if jax.tree_util.keystr(path) == ".head.bias" else leaf, many
    )


@pytest.mark.parametrize(
    "sampling", [Sampling.STRATIFIED, Sampling.UNIFORM, pytest.param(Sampling.PRIORITISED, marks=pytest.mark.long)]
)
def test_a_learner_with_a_memory_follows_whoever_it_meets_in_either_seat(sampling, caplog):
    pool = Pool(stubborn(), sampling, Identity.NUMBER)
    nothing = jnp.zeros((LEARNERS, 1, 1))
    utility = Utility(nothing, jnp.ones((LEARNERS, 1)), nothing)
    trainer = Trainer(GAME, Recipe(Seating.POOL), CONFIG, utility, jax.random.key(0), pool)
    training = trainer.begin()
    with jax.log_compiles():
        for iteration in range(100):
            training, progress = trainer.iterate(training, iteration)
    assert caplog.text.count("Compiling jit(iterate)") == 1  # although the game begins with a weakly typed array
    assert progress.partners.shape == (LEARNERS, PARTNERS)
    follows = (np.asarray(progress.task) > 0.9) & (np.asarray(progress.partners) > 0.9).all(axis=1)
    assert follows.mean() >= 0.75  # now and then one never follows the third


def test_partners_stay_as_they_are_and_only_the_critic_is_told_who_they_are():
    pool = Pool(stubborn(), Sampling.STRATIFIED, Identity.ONE_HOT)
    nothing = jnp.zeros((1, 1, 1))
    utility = Utility(nothing, jnp.ones((1, 1)), nothing)
    training = Trainer(GAME, Recipe(Seating.POOL), CONFIG, utility, jax.random.key(0), pool).begin()
    entries = GAME.spec.shape[0]
    assert training.learners.actor.layers[0].weight.shape == (1, 1, entries, 16)
    assert training.learners.critic.layers[0].weight.shape == (1, 1, entries + PARTNERS, 16)
