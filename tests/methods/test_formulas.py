"""MEP's intrinsic reward and TrajDiv's loss, against their formulas written as loops."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from cochef.agents.actor_critic import actor
from cochef.agents.network_config import NetworkConfig
from cochef.agents.networks import ObservationSpec
from cochef.learning.collect import Rollout
from cochef.methods.mep import PopulationEntropy
from cochef.methods.trajdiv import divergence, objective

POLICIES = 3
TIME = 6
ROWS = 2
DISCOUNT = 0.5


@pytest.fixture
def trajectories():
    """Log-probabilities [policies, members, time, rows] of members' actions; episode starts."""
    generator = np.random.default_rng(0)
    probabilities = generator.uniform(0.1, 0.9, (POLICIES, POLICIES, TIME, ROWS))
    log_probs = np.log(probabilities).astype(np.float32)
    start = np.zeros((POLICIES, TIME, ROWS), bool)
    start[0, 0] = start[1, 2, 0] = start[1, 3, 1] = start[2, 4] = start[2, 5, 1] = True
    return log_probs, start


def episode_of(start, step):
    return start[: step + 1].sum()


def by_definition(log_probs, start):
    total = 0.0
    for member in range(POLICIES):
        for row in range(ROWS):
            started = start[member, :, row]
            for step in range(TIME):
                course = np.ones(POLICIES)
                for other_step in range(TIME):
                    if episode_of(started, step) != episode_of(started, other_step):
                        continue
                    power = DISCOUNT ** abs(step - other_step)
                    course *= np.exp(log_probs[:, member, other_step, row]) ** power
                total += np.log(course.mean() / course[member]) / TIME / ROWS
    return -total / POLICIES


def test_trajectory_diversity_is_the_published_formula_within_episodes(trajectories):
    log_probs, start = map(jnp.asarray, trajectories)
    found = divergence(log_probs, jnp.arange(POLICIES), start, DISCOUNT)
    assert np.isclose(found, by_definition(*trajectories), atol=1e-5)
    without_ends = divergence(log_probs, jnp.arange(POLICIES), jnp.zeros_like(start), DISCOUNT)
    assert not np.isclose(found, without_ends, atol=1e-3)


def test_the_diversity_of_a_population_is_the_sum_over_the_parts_of_it_that_devices_hold(
    trajectories,
):
    log_probs, start = map(jnp.asarray, trajectories)
    whole = divergence(log_probs, jnp.arange(POLICIES), start, DISCOUNT)
    first = divergence(log_probs[:, :1], jnp.arange(1), start[:1], DISCOUNT)
    rest = divergence(log_probs[:, 1:], jnp.arange(1, POLICIES), start[1:], DISCOUNT)
    assert np.isclose(whole, first + rest, atol=1e-6)


def test_policies_that_act_alike_have_no_diversity(trajectories):
    log_probs, start = map(jnp.asarray, trajectories)
    alike = jnp.broadcast_to(log_probs[:1], log_probs.shape)
    found = divergence(alike, jnp.arange(POLICIES), start, DISCOUNT)
    assert np.isclose(found, 0.0, atol=1e-6)


def test_policies_that_exclude_each_other_have_the_largest_diversity():
    never = np.full((POLICIES, POLICIES, TIME, ROWS), -50.0, np.float32)
    never[np.arange(POLICIES), np.arange(POLICIES)] = 0.0
    start = jnp.zeros((POLICIES, TIME, ROWS), bool)
    found = divergence(jnp.asarray(never), jnp.arange(POLICIES), start, DISCOUNT)
    assert np.isclose(found, np.log(POLICIES), atol=1e-5)


def test_the_loss_of_trajdiv_has_the_gradient_of_the_divergence_that_policies_really_have():
    """With one step and every action as often as its probability, nothing is left to chance."""
    logits = jnp.array([[0.3, -0.2, 0.1], [0.0, 0.4, -0.5], [0.2, 0.2, -0.1]])
    counts = np.round(1_000 * np.asarray(jax.nn.softmax(logits))).astype(int)
    counts[:, 0] += 1_000 - counts.sum(axis=1)
    actions = np.stack([np.repeat(np.arange(3), count) for count in counts])
    start = jnp.ones((POLICIES, 1, 1_000), bool)
    members = jnp.arange(POLICIES)

    def true_divergence(logits):
        policies = jax.nn.softmax(logits)
        return (policies * jnp.log(policies / policies.mean(axis=0))).sum(axis=-1).mean()

    def from_samples(loss, logits):
        log_probs = jax.nn.log_softmax(logits)[:, actions][:, :, None]
        return loss(log_probs, jax.lax.stop_gradient(log_probs[members, members]))

    def surrogate(log_probs, old_log_probs):
        return objective(log_probs, old_log_probs, members, start, DISCOUNT)

    def samples_taken_as_given(log_probs, _):
        return divergence(log_probs, members, start, DISCOUNT)

    def gradient(loss):
        return jax.grad(partial(from_samples, loss))(logits)

    wanted = jax.grad(true_divergence)(logits)
    assert np.allclose(gradient(surrogate), wanted, atol=1e-3)
    assert not np.allclose(gradient(samples_taken_as_given), wanted, atol=1e-2)


def test_the_intrinsic_reward_is_the_negative_log_probability_under_the_whole_population():
    kitchens = 2
    entries = 4
    actions = 3
    weight = 0.7
    spec = ObservationSpec((entries,), (1.0,) * entries)

    def build(key):
        return actor(NetworkConfig(hidden=(8,)), spec, actions, key)

    everyone = jax.vmap(build)(jax.random.split(jax.random.key(0), POLICIES))
    everyone = jax.tree.map(lambda leaf: 5 * leaf, everyone)  # policies that differ
    members = 2  # those on one of several devices
    shape = (TIME, members, 2, kitchens)
    generator = np.random.default_rng(1)
    observations = generator.integers(0, 2, (TIME + 1, *shape[1:], entries))
    rollout = Rollout(
        observations=jnp.asarray(observations, jnp.uint8),
        episode_start=jnp.zeros((TIME + 1, members, kitchens), bool),
        actions=jnp.asarray(generator.integers(0, actions, shape), jnp.int32),
        log_probs=jnp.zeros(shape),
        rewards=jnp.zeros(shape),
        task_rewards=jnp.zeros((TIME, members, kitchens)),
        actor_carry=jnp.zeros((*shape, 0)),
        events=jnp.zeros((members, 2, 1)),
    )
    found = PopulationEntropy(weight)(everyone, rollout)
    for where in np.ndindex(*shape):
        probabilities = []
        for number in range(POLICIES):
            one = jax.tree.map(lambda leaf, number=number: leaf[number], everyone)
            logits, _ = one.step(rollout.observations[where], one.initial_carry())
            probabilities.append(jax.nn.softmax(logits)[rollout.actions[where]])
        assert np.isclose(found[where], -weight * np.log(np.mean(probabilities)), atol=1e-4)
