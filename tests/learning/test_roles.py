"""Roles that are not trained: a copy of the learner, and partners of several kinds from a pool."""

from dataclasses import dataclass, replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from cochef.agents.agent import Stay
from cochef.agents.network_config import NetworkConfig, RecurrentKind
from cochef.agents.networks import Network, ObservationSpec
from cochef.kitchen.constants import SEATS, Action, Direction
from cochef.kitchen.dynamics import Outcome
from cochef.learning.config import Schedule, TrainingConfig
from cochef.learning.environments import KitchenEnvironment
from cochef.learning.partner_sampling import AgentGroup, NetworkGroup, PartnerPool, Sampling
from cochef.learning.population import Algorithm, RewardWeights
from cochef.learning.roles import SELF_PLAY, TWO_LEARNERS, WITH_POOL, CopyRole, Roles
from cochef.learning.trainer import Trainer
from cochef.pytree import pytree
from tests.learning.small_runs import LAYOUT


def test_what_follows_from_the_roles():
    with_copy = Roles(CopyRole())
    every = (SELF_PLAY, TWO_LEARNERS, WITH_POOL, with_copy)
    assert [roles.learners for roles in every] == [1, 2, 1, 1]
    assert [roles.trained for roles in every] == [2, 2, 1, 1]
    assert [roles.are_one_learner for roles in every] == [True, False, False, False]
    assert len(set(every)) == len(every)


@dataclass(frozen=True)
class Mirror:
    """A seat's event says what the other seat did, and in which step; action 0 is the task."""

    horizon: int = 2
    actions: int = 3

    @property
    def events(self):
        return self.horizon * self.actions

    @property
    def observation_spec(self):
        return ObservationSpec((1,), (1.0,))

    def reset(self, key, elapsed, random_start):
        return elapsed.astype(jnp.int32)

    def step(self, state, actions):
        happened = state * self.actions + actions[::-1]
        events = happened[:, None] == jnp.arange(self.events)
        return state + 1, Outcome(events, (actions == 0).astype(jnp.float32))

    def observe(self, states):
        return jnp.ones((SEATS, 1, *states.shape), jnp.uint8)


MIRROR = Mirror()
MEMBERS = 2
NOISE = 0.25
CONFIG = TrainingConfig(
    kitchens=8192,
    rollout_steps=8,
    random_starts=0.0,
    epochs=1,
    minibatches=1,
    chunk=8,
    learning_rate=Schedule(0.1, 0.1, 1),
    network=NetworkConfig(hidden=(4,)),
    total_steps=8192 * 8 * 6,
)


def with_copy(decay, network=CONFIG.network):
    nothing = jnp.zeros((MEMBERS, 1, MIRROR.events))
    return Trainer(
        environment=MIRROR,
        algorithm=Algorithm(Roles(CopyRole(decay=decay, random_actions=NOISE))),
        config=replace(CONFIG, network=network),
        weights=RewardWeights(nothing, jnp.ones((MEMBERS, 1)), nothing),
        key=jax.random.key(0),
    )


def policy_by_step(copies):
    """What the copies would do in each step of an episode without noise: [members, steps, 3]."""

    def of_member(network):
        carry = network.initial_carry()
        found = []
        for _ in range(MIRROR.horizon):
            logits, carry = network.step(jnp.ones(1, jnp.uint8), carry)
            found.append(jax.nn.softmax(logits))
        return jnp.stack(found)

    return np.asarray(jax.vmap(of_member)(copies))


@pytest.mark.parametrize(
    "network",
    [
        NetworkConfig(hidden=(4,)),
        NetworkConfig(hidden=(4,), recurrent=4),
        NetworkConfig(
            hidden=(4,), recurrent=4, recurrent_kind=RecurrentKind.MINGRU, shared_trunk=True
        ),
    ],
    ids=["feed-forward", "GRU", "minGRU, shared trunk"],
)
def test_a_copy_is_a_noisy_moving_average_of_its_learner(network):
    decay = 0.9
    trainer = with_copy(decay, network)
    state = trainer.begin()
    assert jax.tree.all(jax.tree.map(np.array_equal, state.copies, own_actors(state)))
    for iteration in range(6):
        before = jax.device_get(state.copies)
        state, metrics = trainer.iterate(state, iteration)
        # What the partner did: its own policy, and a share of actions that are drawn uniformly.
        frequencies = np.asarray(metrics.events).reshape(MEMBERS, MIRROR.horizon, MIRROR.actions)
        wanted = (1 - NOISE) * policy_by_step(before) + NOISE / MIRROR.actions
        assert np.abs(frequencies - wanted).max() < 0.01
        # After the update it follows its learner, and nothing else changes it.
        average = jax.tree.map(
            lambda copy, actor: decay * copy + (1 - decay) * actor, before, own_actors(state)
        )
        assert jax.tree.all(
            jax.tree.map(lambda one, two: np.allclose(one, two, atol=1e-6), state.copies, average)
        )
    learned = policy_by_step(own_actors(state))[..., 0]
    copied = policy_by_step(state.copies)[..., 0]
    assert (learned > 0.9).all()
    assert (copied > 0.36).all()
    assert (copied < learned - 0.1).all()


def own_actors(state):
    return jax.tree.map(lambda leaf: np.asarray(leaf[:, 0]), state.learners.actor)


def test_a_copy_without_decay_is_its_learner_and_with_full_decay_never_changes():
    for decay in (0.0, 1.0):
        trainer = with_copy(decay)
        state = trainer.begin()
        first = jax.device_get(state.copies)
        for iteration in range(2):
            state, metrics = trainer.iterate(state, iteration)
        wanted = own_actors(state) if decay == 0 else first
        assert jax.tree.all(jax.tree.map(np.array_equal, jax.device_get(state.copies), wanted))
        assert not np.allclose(own_actors(state).head.bias, first.head.bias)
        assert metrics.objective_return.shape == (MEMBERS, 1)  # of the learner's role alone


@pytree
class TurningCarry:
    """How many steps an agent has acted, and where it was then."""

    steps: jax.Array
    cell: jax.Array


@pytree
class Turning:
    """Goes west and north in turns."""

    def begin(self, key):
        return TurningCarry(jnp.int32(0), jnp.int32(-1))

    def act(self, state, seat, carry, key):
        action = jnp.where(carry.steps % 2 == 0, Action.WEST, Action.NORTH)
        return action, TurningCarry(carry.steps + 1, state.chefs.cell[seat].astype(jnp.int32))


# Rewards of actions in the test environment; nobody can move in the narrow layout, only turn.
REWARDS = {Action.EAST: 1.0, Action.NORTH: 2.0, Action.WEST: 4.0, Action.SOUTH: 8.0}
HORIZON = 5
RETURNS = (5 * 1.0, 5 * 8.0, 0.0, 3 * 4.0 + 2 * 2.0)  # with each partner of the pool below
# Where each looks after the steps of the last episode; all look north at first.
FACING = (Direction.EAST, Direction.SOUTH, Direction.NORTH, Direction.WEST)
STEPS = 3  # of the last episode at the end of a rollout


@dataclass(frozen=True)
class RewardedActions(KitchenEnvironment):
    """A kitchen whose task is to turn."""

    def step(self, state, actions):
        next_state, outcome = super().step(state, actions)
        table = jnp.array([REWARDS.get(action, 0.0) for action in Action])
        return next_state, Outcome(outcome.events, table[actions])


def always(network, *actions):
    """Stacked networks each of which always takes one action."""
    stacked = jax.tree.map(lambda leaf: jnp.stack([leaf] * len(actions)), network)
    bias = 50.0 * jnp.eye(len(Action))[jnp.array(actions)]
    return eqx.tree_at(lambda tree: tree.head.bias, stacked, bias)


@pytest.mark.parametrize("sampling", [Sampling.STRATIFIED, Sampling.UNIFORM])
def test_networks_and_other_agents_play_in_one_pool(sampling):
    environment = RewardedActions(replace(LAYOUT, horizon=HORIZON))
    config = replace(
        CONFIG,
        kitchens=32,
        total_steps=32 * 8,
        learning_rate=Schedule(0.0, 0.0, 1),
        network=NetworkConfig(hidden=(4,), recurrent=3),
    )
    spec = environment.observation_spec
    network = Network(config.network, spec, len(Action), 0.01, jax.random.key(1))
    groups = (
        NetworkGroup(always(network, Action.EAST, Action.SOUTH)),
        AgentGroup(Stay()),
        AgentGroup(Turning()),
    )
    pool = PartnerPool(groups, sampling)
    nothing = jnp.zeros((MEMBERS, 1, environment.events))
    weights = RewardWeights(nothing, jnp.ones((MEMBERS, 1)), nothing)
    trainer = Trainer(environment, Algorithm(WITH_POOL), config, weights, jax.random.key(0), pool)
    state = trainer.begin()
    # The learner stays, so that all rewards are its partners'.
    bias = jnp.broadcast_to(50.0 * jnp.eye(len(Action))[Action.STAY], (MEMBERS, 1, len(Action)))
    state = eqx.tree_at(lambda state: state.learners.actor.head.bias, state, bias)
    state, metrics = trainer.iterate(state, 0)
    assert np.allclose(metrics.partner_returns, RETURNS, atol=1e-3)

    players = jax.device_get(state.kitchens.players)
    chefs = jax.device_get(state.kitchens.states.chefs)
    network_carry, _, turning = players.partner_carry
    partner = players.pairing.partner
    assert set(partner.ravel().tolist()) == set(range(pool.size))
    assert (players.clock == STEPS).all()
    for member, kitchen in np.ndindex(partner.shape):
        who = partner[member, kitchen]
        seat = 1 - players.seat[member, kitchen]
        assert chefs.facing[member, seat, kitchen] == FACING[who]
        # Who is not the partner here carries what an episode starts with.
        turns = who == 3
        assert turning.steps[member, kitchen] == (STEPS if turns else 0)
        own_cell = chefs.cell[member, seat, kitchen]
        assert turning.cell[member, kitchen] == (own_cell if turns else -1)
        assert (network_carry[member, kitchen] != 0).any() == (who < 2)
