"""An update, against PPO's formulas written with numpy, and what it takes from what was played."""

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

LEARNERS, BLOCKS, BLOCK, ROWS, ACTIONS = 2, 8, 1, 6, 3
SIGHT = ObservationSpec((4,), (1.0, 2.0, 1.0, 5.0))
CONFIG = TrainingConfig(steps=BLOCKS, epochs=1, minibatches=1, huber=0.5, network=NetworkConfig(hidden=(8,)))
ENTROPY = jnp.float32(0.01)


@pytest.fixture(scope="module")
def learners():
    keys = jax.random.split(jax.random.key(0), LEARNERS)
    fresh = jax.vmap(lambda key: new_learner(CONFIG, SIGHT, ACTIONS, key))(keys)
    louder = lambda leaf: leaf * 3 if leaf.ndim > 1 else leaf  # noqa: E731  (policies that are not all the same)
    return replace(fresh, actor=jax.tree.map(louder, fresh.actor))


@pytest.fixture(scope="module")
def batch(learners):
    generator = np.random.default_rng(0)
    shape = (LEARNERS, BLOCKS, BLOCK, ROWS)
    noise = lambda: jnp.asarray(generator.normal(size=shape), jnp.float32)  # noqa: E731
    views = jnp.asarray(generator.integers(0, 6, (*shape, 4)), jnp.uint8)
    actions = jnp.asarray(generator.integers(0, ACTIONS, shape), jnp.int32)
    memory = jnp.zeros((LEARNERS, BLOCKS, ROWS, 0))
    log_policy, values = judged(learners, views)
    played_with = jnp.take_along_axis(log_policy, actions[..., None], axis=-1)[..., 0]
    return Batch(
        views=views,
        begins=jnp.zeros(shape, bool),
        actions=actions,
        log_probs=played_with + 0.3 * noise(),
        advantages=noise(),
        values=values + 0.3 * noise(),
        targets=values + noise(),
        actor_memory=memory,
        critic_memory=memory,
    )


def judged(learners, views):
    """Log-probabilities of all actions, and values."""

    def judge(learner, views):
        logits, _ = learner.actor.step(views, learner.actor.begin(*views.shape[:-1]))
        values, _ = learner.critic.step(views, learner.critic.begin(*views.shape[:-1]))
        return jax.nn.log_softmax(logits), values[..., 0]

    return jax.vmap(judge)(learners, views)


def updated(learners, batch, rate=0.0, penalty=None, **changes):
    keys = jax.random.split(jax.random.key(1), LEARNERS)
    return update(learners, batch, penalty, keys, ENTROPY, jnp.float32(rate), replace(CONFIG, **changes))


def test_the_losses_are_those_of_the_formulas(learners, batch):
    _, report = updated(learners, batch)
    log_policy, values = map(np.asarray, judged(learners, batch.views))
    axes = (1, 2, 3)
    chosen = np.take_along_axis(log_policy, np.asarray(batch.actions)[..., None], axis=-1)[..., 0]
    ratio = np.exp(chosen - batch.log_probs)
    gain = np.minimum(ratio * batch.advantages, np.clip(ratio, 0.8, 1.2) * batch.advantages)
    assert np.allclose(report.actor_loss, -gain.mean(axes), atol=1e-5)
    assert np.allclose(report.clipped, (np.abs(ratio - 1) > 0.2).mean(axes), atol=1e-6)
    assert np.allclose(report.entropy, -(np.exp(log_policy) * log_policy).sum(-1).mean(axes), atol=1e-5)

    def huber(values):
        error = np.abs(values - batch.targets)
        return np.where(error < 0.5, error**2 / 2, 0.5 * (error - 0.25))

    moved = batch.values + np.clip(values - batch.values, -0.2, 0.2)
    assert np.allclose(report.critic_loss, np.maximum(huber(values), huber(moved)).mean(axes), atol=1e-5)


@pytest.mark.parametrize(("epochs", "minibatches"), [(1, 2), (1, 8), (3, 4)])
def test_every_epoch_takes_each_block_once(learners, batch, epochs, minibatches):
    """Nothing moves at rate 0, so means over equal parts are the mean over all only if the parts make up all."""
    _, whole = updated(learners, batch)
    _, parts = updated(learners, batch, epochs=epochs, minibatches=minibatches)
    for name in ("actor_loss", "critic_loss", "entropy", "clipped", "divergence"):
        assert np.allclose(getattr(whole, name), getattr(parts, name), atol=1e-5)


def test_the_gradients_of_actor_and_critic_are_each_cut_to_the_same_length(learners, batch):
    limit = 1e-3
    _, free = updated(learners, batch, gradient_norm=1e6)
    after, report = updated(learners, batch, gradient_norm=limit)
    for found, motion, unlimited in (
        (report.actor_gradient, after.actor_motion, free.actor_gradient),
        (report.critic_gradient, after.critic_motion, free.critic_gradient),
    ):
        assert np.allclose(found, unlimited)
        assert (found > 10 * limit).all()
        momentum = optax.tree.get(motion, "mu")  # a tenth of the gradient after one step
        assert np.allclose(jax.vmap(optax.tree.norm)(momentum), limit / 10, rtol=1e-3)


def test_learners_do_not_learn_from_each_other(learners, batch):
    apart, _ = updated(learners, batch, rate=1e-2)
    changed = replace(batch, advantages=batch.advantages.at[1].multiply(-1.0))
    other, _ = updated(learners, changed, rate=1e-2)
    weights = lambda stack: np.asarray(stack.actor.layers[0].weight)  # noqa: E731
    assert np.array_equal(weights(apart)[0], weights(other)[0])
    assert not np.allclose(weights(apart)[1], weights(other)[1])


def test_a_penalty_moves_the_actors_and_leaves_the_critics(learners, batch):
    def smaller(actors, key):
        return sum((leaf**2).sum() for leaf in jax.tree.leaves(actors))

    still = replace(batch, advantages=jnp.zeros_like(batch.advantages))
    without, _ = updated(learners, still, rate=1e-2)
    with_it, _ = updated(learners, still, rate=1e-2, penalty=smaller)
    assert smaller(with_it.actor, None) < smaller(learners.actor, None)
    assert smaller(with_it.actor, None) < smaller(without.actor, None)
    assert all(map(np.array_equal, jax.tree.leaves(without.critic), jax.tree.leaves(with_it.critic)))


def test_an_update_makes_good_actions_likelier_and_values_better(learners, batch):
    now, values = judged(learners, batch.views)
    chosen = lambda log_policy: jnp.take_along_axis(log_policy, batch.actions[..., None], axis=-1)[..., 0]  # noqa: E731
    fair = replace(batch, log_probs=chosen(now), values=values)
    after, _ = updated(learners, fair, rate=1e-3, epochs=4)
    later, later_values = judged(after, batch.views)
    gained = ((chosen(later) - chosen(now)) * batch.advantages).mean(axis=(1, 2, 3))
    assert (gained > 0).all()
    error = lambda values: ((values - batch.targets) ** 2).mean(axis=(1, 2, 3))  # noqa: E731
    assert (error(later_values) < error(values)).all()
