"""A learner with frozen partners finds out whom it plays with, and does what that one needs."""

from dataclasses import dataclass, replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from cochef.agents.network_config import NetworkConfig, RecurrentKind
from cochef.agents.networks import Network, ObservationSpec
from cochef.kitchen.constants import SEATS
from cochef.kitchen.dynamics import Outcome
from cochef.learning.config import Schedule, TrainingConfig
from cochef.learning.partner_sampling import NetworkGroup, PartnerIdentity, PartnerPool, Sampling
from cochef.learning.population import Algorithm, RewardWeights
from cochef.learning.roles import WITH_POOL
from cochef.learning.trainer import Trainer
from cochef.pytree import pytree

PARTNERS = 3
LEARNERS = 8


@pytree
class FollowState:
    """How many steps have passed, and what each seat did last."""

    elapsed: jax.Array
    actions: jax.Array


@dataclass(frozen=True)
class Follow:
    """The last step rewards both for doing the same.

    In the second step a seat observes what the other one did in the first.
    """

    horizon: int = 4
    actions: int = PARTNERS
    events: int = 1

    @property
    def observation_spec(self):
        entries = self.horizon + self.actions
        return ObservationSpec((entries,), (1.0,) * entries)

    def reset(self, key, elapsed, random_start):
        return FollowState(elapsed.astype(jnp.int32), jnp.full(SEATS, -1))

    def step(self, state, actions):
        same = (actions[0] == actions[1]) & (state.elapsed == self.horizon - 1)
        shown = jnp.where(state.elapsed == 0, actions, -1)
        outcome = Outcome(jnp.zeros((SEATS, 1), bool), jnp.full(SEATS, 0.5) * same)
        return FollowState(state.elapsed + 1, shown), outcome

    def observe(self, states):
        step = states.elapsed == jnp.arange(self.horizon)[:, None]
        other = states.actions[::-1, None] == jnp.arange(self.actions)[None, :, None]
        both = jnp.broadcast_to(step, (SEATS, *step.shape))
        return jnp.concatenate([both, other], axis=1).astype(jnp.uint8)


FOLLOW = Follow()
CONFIG = TrainingConfig(
    kitchens=48,
    rollout_steps=8,
    random_starts=0.0,
    minibatches=2,
    chunk=4,
    learning_rate=Schedule(1e-2, 1e-3, 48 * 8 * 100),
    entropy=Schedule(0.01, 0.01, 1),
    discount=0.9,
    network=NetworkConfig(hidden=(16,), recurrent=16),
)
GRU = CONFIG.network
MINGRU = NetworkConfig(
    hidden=(16, 16), recurrent=16, recurrent_kind=RecurrentKind.MINGRU, shared_trunk=True
)


def stubborn():
    """Partners that always do the same, each something else."""
    one = Network(
        NetworkConfig(hidden=(4,)), FOLLOW.observation_spec, PARTNERS, 0.0, jax.random.key(0)
    )
    many = jax.tree.map(lambda leaf: jnp.stack([leaf] * PARTNERS), one)
    return eqx.tree_at(lambda networks: networks.head.bias, many, 20.0 * jnp.eye(PARTNERS))


def trainer(sampling, identity, learners, network=GRU):
    pool = PartnerPool((NetworkGroup(stubborn()),), sampling, identity)
    nothing = jnp.zeros((learners, 1, 1))
    weights = RewardWeights(nothing, jnp.ones((learners, 1)), nothing)
    config = replace(CONFIG, network=network)
    return Trainer(FOLLOW, Algorithm(WITH_POOL), config, weights, jax.random.key(0), pool)


@pytest.mark.parametrize(
    ("sampling", "network"),
    [
        (Sampling.STRATIFIED, GRU),
        pytest.param(Sampling.UNIFORM, GRU, marks=pytest.mark.long),
        pytest.param(Sampling.PRIORITISED, GRU, marks=pytest.mark.long),
        (Sampling.STRATIFIED, MINGRU),
    ],
    ids=["stratified", "uniform", "prioritised", "stratified-mingru"],
)
def test_a_recurrent_learner_follows_whoever_it_meets_in_either_seat(sampling, network, caplog):
    """The long cases show learning; how they draw partners is in test_partner_sampling.py."""
    learning = trainer(sampling, PartnerIdentity.NUMBER, LEARNERS, network)
    state = learning.begin()
    with jax.log_compiles():
        for iteration in range(100):
            state, metrics = learning.iterate(state, iteration)
    # Once, although the environment starts with a weakly typed array.
    assert caplog.text.count("Compiling jit(iterate)") == 1
    with_each = np.asarray(metrics.partner_returns)
    assert with_each.shape == (LEARNERS, PARTNERS)
    follows = (np.asarray(metrics.task_return) > 0.9) & (with_each > 0.9).all(axis=1)
    assert follows.mean() >= 0.75  # now and then one never follows the third


def test_partners_stay_as_they_are_and_only_the_critic_is_told_who_they_are():
    state = trainer(Sampling.STRATIFIED, PartnerIdentity.ONE_HOT, 1).begin()
    entries = FOLLOW.observation_spec.shape[0]
    assert state.learners.actor.layers[0].weight.shape == (1, 1, entries, 16)
    assert state.learners.critic.layers[0].weight.shape == (1, 1, entries + PARTNERS, 16)


def test_a_value_head_on_a_shared_trunk_is_told_who_the_partner_is_and_the_trunk_is_not():
    state = trainer(Sampling.STRATIFIED, PartnerIdentity.ONE_HOT, 1, MINGRU).begin()
    entries = FOLLOW.observation_spec.shape[0]
    assert state.learners.actor.layers[0].weight.shape == (1, 1, entries, 16)
    assert state.learners.critic.layer.weight.shape == (1, 1, 16 + PARTNERS, 16)
