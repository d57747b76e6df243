"""An update, against PPO's formulas written with numpy, and what it takes from a rollout."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from cochef.agents.network_config import NetworkConfig
from cochef.agents.networks import ObservationSpec
from cochef.learning.config import TrainingConfig
from cochef.learning.ppo import Batch, new_learner, update

LEARNERS = 2
CHUNKS = 8
CHUNK = 1
ROWS = 6
ACTIONS = 3
SPEC = ObservationSpec((4,), (1.0, 2.0, 1.0, 5.0))
CONFIG = TrainingConfig(
    rollout_steps=CHUNKS,
    epochs=1,
    minibatches=1,
    huber_delta=0.5,
    network=NetworkConfig(hidden=(8,)),
)
ENTROPY = jnp.float32(0.01)


@pytest.fixture(scope="module")
def learners():
    keys = jax.random.split(jax.random.key(0), LEARNERS)
    fresh = jax.vmap(lambda key: new_learner(CONFIG, SPEC, ACTIONS, key))(keys)

    def louder(leaf):  # policies that are not all the same
        return leaf * 3 if leaf.ndim > 1 else leaf

    return replace(fresh, actor=jax.tree.map(louder, fresh.actor))


@pytest.fixture(scope="module")
def batch(learners):
    generator = np.random.default_rng(0)
    shape = (LEARNERS, CHUNKS, CHUNK, ROWS)

    def noise():
        return jnp.asarray(generator.normal(size=shape), jnp.float32)

    observations = jnp.asarray(generator.integers(0, 6, (*shape, 4)), jnp.uint8)
    actions = jnp.asarray(generator.integers(0, ACTIONS, shape), jnp.int32)
    carry = jnp.zeros((LEARNERS, CHUNKS, ROWS, 0))
    log_policy, values = outputs(learners, observations)
    log_probs = jnp.take_along_axis(log_policy, actions[..., None], axis=-1)[..., 0]
    return Batch(
        observations=observations,
        episode_start=jnp.zeros(shape, bool),
        actions=actions,
        log_probs=log_probs + 0.3 * noise(),
        advantages=noise(),
        values=values + 0.3 * noise(),
        targets=values + noise(),
        actor_carry=carry,
        critic_carry=carry,
    )


def outputs(learners, observations):
    """Log-probabilities of all actions, and values."""

    def of_learner(learner, observations):
        rows = observations.shape[:-1]
        logits, _ = learner.actor.step(observations, learner.actor.initial_carry(*rows))
        values, _ = learner.critic.step(observations, learner.critic.initial_carry(*rows))
        return jax.nn.log_softmax(logits), values[..., 0]

    return jax.vmap(of_learner)(learners, observations)


def updated(learners, batch, rate=0.0, joint_loss=None, **changes):
    keys = jax.random.split(jax.random.key(1), LEARNERS)
    config = replace(CONFIG, **changes)
    return update(learners, batch, joint_loss, keys, ENTROPY, jnp.float32(rate), config)


def test_the_losses_are_those_of_the_formulas(learners, batch):
    _, metrics = updated(learners, batch)
    log_policy, values = map(np.asarray, outputs(learners, batch.observations))
    axes = (1, 2, 3)
    chosen = np.take_along_axis(log_policy, np.asarray(batch.actions)[..., None], axis=-1)[..., 0]
    ratio = np.exp(chosen - batch.log_probs)
    surrogate = np.minimum(ratio * batch.advantages, np.clip(ratio, 0.8, 1.2) * batch.advantages)
    assert np.allclose(metrics.actor_loss, -surrogate.mean(axes), atol=1e-5)
    assert np.allclose(metrics.clip_fraction, (np.abs(ratio - 1) > 0.2).mean(axes), atol=1e-6)
    assert np.allclose(
        metrics.entropy, -(np.exp(log_policy) * log_policy).sum(-1).mean(axes), atol=1e-5
    )

    def huber(values):
        error = np.abs(values - batch.targets)
        return np.where(error < 0.5, error**2 / 2, 0.5 * (error - 0.25))

    moved = batch.values + np.clip(values - batch.values, -0.2, 0.2)
    assert np.allclose(
        metrics.critic_loss, np.maximum(huber(values), huber(moved)).mean(axes), atol=1e-5
    )


@pytest.mark.parametrize(("epochs", "minibatches"), [(1, 2), (1, 8), (3, 4)])
def test_every_epoch_takes_each_chunk_once(learners, batch, epochs, minibatches):
    """At rate 0 nothing moves: means over equal parts are the mean if the parts make up all."""
    _, whole = updated(learners, batch)
    _, parts = updated(learners, batch, epochs=epochs, minibatches=minibatches)
    for name in ("actor_loss", "critic_loss", "entropy", "clip_fraction", "approx_kl"):
        assert np.allclose(getattr(whole, name), getattr(parts, name), atol=1e-5)


def test_the_gradients_of_actor_and_critic_are_each_cut_to_the_same_length(learners, batch):
    limit = 1e-3
    _, free = updated(learners, batch, max_grad_norm=1e6)
    after, metrics = updated(learners, batch, max_grad_norm=limit)
    for found, opt_state, unlimited in (
        (metrics.actor_grad_norm, after.actor_opt_state, free.actor_grad_norm),
        (metrics.critic_grad_norm, after.critic_opt_state, free.critic_grad_norm),
    ):
        assert np.allclose(found, unlimited)
        assert (found > 10 * limit).all()
        momentum = optax.tree.get(opt_state, "mu")  # a tenth of the gradient after one step
        assert np.allclose(jax.vmap(optax.tree.norm)(momentum), limit / 10, rtol=1e-3)


def test_learners_do_not_learn_from_each_other(learners, batch):
    apart, _ = updated(learners, batch, rate=1e-2)
    changed = replace(batch, advantages=batch.advantages.at[1].multiply(-1.0))
    other, _ = updated(learners, changed, rate=1e-2)

    def weights(stack):
        return np.asarray(stack.actor.layers[0].weight)

    assert np.array_equal(weights(apart)[0], weights(other)[0])
    assert not np.allclose(weights(apart)[1], weights(other)[1])


def test_a_joint_loss_moves_the_actors_and_leaves_the_critics(learners, batch):
    def smaller(actors, key):
        return sum((leaf**2).sum() for leaf in jax.tree.leaves(actors))

    still = replace(batch, advantages=jnp.zeros_like(batch.advantages))
    without, _ = updated(learners, still, rate=1e-2)
    with_it, _ = updated(learners, still, rate=1e-2, joint_loss=smaller)
    assert smaller(with_it.actor, None) < smaller(learners.actor, None)
    assert smaller(with_it.actor, None) < smaller(without.actor, None)
    assert all(
        map(np.array_equal, jax.tree.leaves(without.critic), jax.tree.leaves(with_it.critic))
    )


def test_an_update_makes_good_actions_likelier_and_values_better(learners, batch):
    now, values = outputs(learners, batch.observations)

    def chosen(log_policy):
        return jnp.take_along_axis(log_policy, batch.actions[..., None], axis=-1)[..., 0]

    def error(values):
        return ((values - batch.targets) ** 2).mean(axis=(1, 2, 3))

    fair = replace(batch, log_probs=chosen(now), values=values)
    after, _ = updated(learners, fair, rate=1e-3, epochs=4)
    later, later_values = outputs(after, batch.observations)
    gains = ((chosen(later) - chosen(now)) * batch.advantages).mean(axis=(1, 2, 3))
    assert (gains > 0).all()
    assert (error(later_values) < error(values)).all()
