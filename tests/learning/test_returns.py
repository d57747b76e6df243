"""Advantages and the scale of values, against their definitions written as loops."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from cochef.learning.returns import estimate_advantages, new_value_normalizer

TIME, ROWS = 12, 5


@pytest.fixture
def numbers():
    generator = np.random.default_rng(0)
    rewards = generator.normal(size=(TIME, ROWS)).astype(np.float32)
    values = generator.normal(size=(TIME + 1, ROWS)).astype(np.float32)
    return rewards, values, generator.random((TIME, ROWS)) < 0.25


def by_definition(rewards, values, done, discount, gae_lambda):
    """Sum over later steps of the same episode of (discount * lambda)^k times the TD error."""
    found = np.zeros_like(rewards)
    for row in range(ROWS):
        for start in range(TIME):
            for step in range(start, TIME):
                next_value = 0.0 if done[step, row] else values[step + 1, row]
                td_error = rewards[step, row] + discount * next_value - values[step, row]
                found[start, row] += (discount * gae_lambda) ** (step - start) * td_error
                if done[step, row]:
                    break
    return found


@pytest.mark.parametrize(("discount", "gae_lambda"), [(0.99, 0.95), (0.9, 0.0), (0.5, 1.0)])
def test_advantages_are_the_discounted_td_errors_until_the_episode_ends(
    numbers, discount, gae_lambda
):
    found = estimate_advantages(*map(jnp.asarray, numbers), discount, gae_lambda)
    assert np.allclose(found, by_definition(*numbers, discount, gae_lambda), atol=1e-5)


def test_nothing_after_the_end_of_an_episode_changes_an_advantage(numbers):
    rewards, values, _ = map(jnp.asarray, numbers)
    done = jnp.zeros((TIME, ROWS), bool).at[4].set(True)
    one = estimate_advantages(rewards, values, done, 0.9, 0.9)
    other = estimate_advantages(rewards.at[5:].add(1.0), values.at[5:].add(1.0), done, 0.9, 0.9)
    assert np.array_equal(one[:5], other[:5])
    assert not np.allclose(one[5:], other[5:])


def test_with_lambda_1_a_target_is_the_discounted_return(numbers):
    rewards, values, _ = map(jnp.asarray, numbers)
    done = jnp.zeros((TIME, ROWS), bool).at[-1].set(True)
    targets = estimate_advantages(rewards, values, done, 0.9, 1.0) + values[:-1]
    wanted = sum(0.9**step * rewards[step] for step in range(TIME))
    assert np.allclose(targets[0], wanted, atol=1e-5)


@pytest.mark.parametrize("decay", [0.0, 0.9, 0.99999])
def test_the_normalizer_is_the_debiased_running_mean_and_deviation(decay):
    batches = np.random.default_rng(1).normal(3.0, 2.0, size=(6, 50)).astype(np.float32)
    normalizer = new_value_normalizer()
    for batch in batches:
        normalizer = normalizer.update(jnp.asarray(batch), decay)
    weights = np.array([decay ** (len(batches) - 1 - number) for number in range(len(batches))])
    weights /= weights.sum()
    mean = weights @ batches.mean(axis=1)
    deviation = np.sqrt(weights @ (batches**2).mean(axis=1) - mean**2)
    assert np.allclose(
        normalizer.normalize(jnp.asarray(batches)),
        (batches - mean) / deviation,
        rtol=0.02,
        atol=0.02,
    )


def test_normalized_values_come_back_in_units_of_reward():
    normalizer = new_value_normalizer().update(jnp.array([1.0, 5.0, 9.0]), 0.99999)
    values = jnp.array([-3.0, 0.0, 40.0])
    assert np.allclose(normalizer.denormalize(normalizer.normalize(values)), values, atol=1e-4)


def test_equal_targets_are_not_blown_up():
    normalizer = new_value_normalizer().update(jnp.full(8, 2.0), 0.9)
    assert np.allclose(normalizer.normalize(jnp.full(3, 2.0)), 0.0, atol=1e-4)
    assert jnp.abs(normalizer.normalize(jnp.array([2.1]))) <= 1.01


def test_before_any_target_values_are_finite():
    assert jnp.isfinite(jax.vmap(new_value_normalizer().denormalize)(jnp.arange(3.0))).all()
