"""The extra rewards and losses of MEP and TrajDiv, against their formulas written as loops."""

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

POLICIES, TIME, ROWS = 3, 6, 2
DISCOUNT = 0.5


@pytest.fixture
def trajectories():
    """Log-probabilities [policies, members, time, rows] of actions in trajectories of each, and their beginnings."""
    generator = np.random.default_rng(0)
    log_probs = np.log(generator.uniform(0.1, 0.9, (POLICIES, POLICIES, TIME, ROWS))).astype(np.float32)
    begins = np.zeros((POLICIES, TIME, ROWS), bool)
    begins[0, 0] = begins[1, 2, 0] = begins[1, 3, 1] = begins[2, 4] = begins[2, 5, 1] = True
    return log_probs, begins


def episode_of(begins, step):
    return begins[: step + 1].sum()


def by_definition(log_probs, begins):
    total = 0.0
    for member in range(POLICIES):
        for row in range(ROWS):
            started = begins[member, :, row]
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
    log_probs, begins = trajectories
    found = divergence(jnp.asarray(log_probs), jnp.arange(POLICIES), jnp.asarray(begins), DISCOUNT)
    assert np.isclose(found, by_definition(log_probs, begins), atol=1e-5)
    without_ends = divergence(jnp.asarray(log_probs), jnp.arange(POLICIES), jnp.zeros_like(begins), DISCOUNT)
    assert not np.isclose(found, without_ends, atol=1e-3)


def test_the_diversity_of_a_population_is_the_sum_over_the_parts_of_it_that_devices_hold(trajectories):
    log_probs, begins = map(jnp.asarray, trajectories)
    whole = divergence(log_probs, jnp.arange(POLICIES), begins, DISCOUNT)
    first = divergence(log_probs[:, :1], jnp.arange(1), begins[:1], DISCOUNT)
    rest = divergence(log_probs[:, 1:], jnp.arange(1, POLICIES), begins[1:], DISCOUNT)
    assert np.isclose(whole, first + rest, atol=1e-6)


def test_policies_that_act_alike_have_no_diversity(trajectories):
    log_probs, begins = trajectories
    alike = jnp.asarray(np.broadcast_to(log_probs[:1], log_probs.shape))
    assert np.isclose(divergence(alike, jnp.arange(POLICIES), jnp.asarray(begins), DISCOUNT), 0.0, atol=1e-6)


def test_policies_that_exclude_each_other_have_the_largest_diversity():
    never = np.full((POLICIES, POLICIES, TIME, ROWS), -50.0, np.float32)
    never[np.arange(POLICIES), np.arange(POLICIES)] = 0.0
    begins = jnp.zeros((POLICIES, TIME, ROWS), bool)
    found = divergence(jnp.asarray(never), jnp.arange(POLICIES), begins, DISCOUNT)
    assert np.isclose(found, np.log(POLICIES), atol=1e-5)


def test_the_loss_of_trajdiv_has_the_gradient_of_the_divergence_that_policies_really_have():
    """With one step and all actions as often as they are taken, the divergence is known without sampling."""
    logits = jnp.array([[0.3, -0.2, 0.1], [0.0, 0.4, -0.5], [0.2, 0.2, -0.1]])
    counts = np.round(1_000 * np.asarray(jax.nn.softmax(logits))).astype(int)
    counts[:, 0] += 1_000 - counts.sum(axis=1)
    actions = np.stack([np.repeat(np.arange(3), count) for count in counts])
    begins, members = jnp.ones((POLICIES, 1, 1_000), bool), jnp.arange(POLICIES)

    def true_divergence(logits):
        policies = jax.nn.softmax(logits)
        return (policies * jnp.log(policies / policies.mean(axis=0))).sum(axis=-1).mean()

    def from_samples(loss, logits):
        log_probs = jax.nn.log_softmax(logits)[:, actions][:, :, None]
        return loss(log_probs, jax.lax.stop_gradient(log_probs[members, members]))

    right = partial(from_samples, lambda found, played: objective(found, played, members, begins, DISCOUNT))
    samples_taken_as_given = partial(from_samples, lambda found, _: divergence(found, members, begins, DISCOUNT))
    wanted = jax.grad(true_divergence)(logits)
    assert np.allclose(jax.grad(right)(logits), wanted, atol=1e-3)
    assert not np.allclose(jax.grad(samples_taken_as_given)(logits), wanted, atol=1e-2)


def test_the_bonus_is_the_surprise_of_the_whole_population():
    kitchens, entries, actions, weight = 2, 4, 3, 0.7
    spec = ObservationSpec((entries,), (1.0,) * entries)
    build = lambda key: actor(NetworkConfig(hidden=(8,)), spec, actions, key)  # noqa: E731
    everyone = jax.vmap(build)(jax.random.split(jax.random.key(0), POLICIES))
    everyone = jax.tree.map(lambda leaf: 5 * leaf, everyone)  # policies that differ
    members = 2  # those on one of several devices
    shape = (TIME, members, 2, kitchens)
    generator = np.random.default_rng(1)
    played = Rollout(
        views=jnp.asarray(generator.integers(0, 2, (TIME + 1, *shape[1:], entries)), jnp.uint8),
        begins=jnp.zeros((TIME + 1, members, kitchens), bool),
        actions=jnp.asarray(generator.integers(0, actions, shape), jnp.int32),
        log_probs=jnp.zeros(shape),
        rewards=jnp.zeros(shape),
        task=jnp.zeros((TIME, members, kitchens)),
        actor_memory=jnp.zeros((*shape, 0)),
        events=jnp.zeros((members, 2, 1)),
    )
    bonus = PopulationEntropy(weight)(everyone, played)
    for where in np.ndindex(*shape):
        chances = []
        for number in range(POLICIES):
            one = jax.tree.map(lambda leaf, number=number: leaf[number], everyone)
            logits, _ = one.step(played.views[where], one.begin())
            chances.append(jax.nn.softmax(logits)[played.actions[where]])
        assert np.isclose(bonus[where], -weight * np.log(np.mean(chances)), atol=1e-4)
