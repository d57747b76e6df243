"""An update, against PPO's formulas written with numpy, and what it takes from a rollout."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from cochef.agents.network_config import NetworkConfig
from cochef.agents.networks import ObservationSpec, ValueHead
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
SHARED = NetworkConfig(hidden=(8,), shared_trunk=True)
# One network for each, or one trunk for both, whose critic may be told who the partner is.
CRITICS = {
    "own layers": (CONFIG.network, 0),
    "shared trunk": (SHARED, 0),
    "shared trunk, identity": (SHARED, 2),
}


@pytest.fixture(scope="module", params=CRITICS)
def learners(request):
    network, identities = CRITICS[request.param]
    return new_learners(network, identities)


def new_learners(network, identities=0):
    keys = jax.random.split(jax.random.key(0), LEARNERS)
    config = replace(CONFIG, network=network)
    fresh = jax.vmap(lambda key: new_learner(config, SPEC, ACTIONS, key, identities))(keys)

    def louder(leaf):  # policies that are not all the same
        return leaf * 3 if leaf.ndim > 1 else leaf

    return replace(fresh, actor=jax.tree.map(louder, fresh.actor))


@pytest.fixture(scope="module")
def batch(learners):
    return new_batch(learners)


def new_batch(learners):
    """Random transitions, and partners if the critics are told who they are."""
    generator = np.random.default_rng(0)
    shape = (LEARNERS, CHUNKS, CHUNK, ROWS)

    def noise():
        return jnp.asarray(generator.normal(size=shape), jnp.float32)

    observations = jnp.asarray(generator.integers(0, 6, (*shape, 4)), jnp.uint8)
    actions = jnp.asarray(generator.integers(0, ACTIONS, shape), jnp.int32)
    carry = jnp.zeros((LEARNERS, CHUNKS, ROWS, 0))
    identity = None
    if isinstance(learners.critic, ValueHead):
        identities = learners.critic.layer.weight.shape[-2] - 8
        identity = jnp.asarray(generator.normal(size=(*shape, identities)), jnp.float32)
        identity = identity if identities else None
    log_policy, values = outputs(learners, observations, identity)
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
        identity=identity,
    )


def outputs(learners, observations, identity=None):
    """Log-probabilities of all actions, and values."""

    def of_learner(learner, observations, identity):
        rows = observations.shape[:-1]
        logits, _ = learner.actor.step(observations, learner.actor.initial_carry(*rows))
        if isinstance(learner.critic, ValueHead):
            layer = learner.actor.layers[0]
            features = jax.nn.relu(layer(observations / jnp.array(SPEC.peaks)))
            values = learner.critic(features, identity)
        else:
            values, _ = learner.critic.step(observations, learner.critic.initial_carry(*rows))
        return jax.nn.log_softmax(logits), values[..., 0]

    return jax.vmap(of_learner)(learners, observations, identity)


def updated(learners, batch, rate=0.0, joint_loss=None, **changes):
    keys = jax.random.split(jax.random.key(1), LEARNERS)
    config = replace(CONFIG, **changes)
    rates = (every(ENTROPY), every(rate))
    return update(learners, batch, joint_loss, keys, *rates, config)


def every(value):
    """The same number for every learner."""
    return jnp.full(LEARNERS, value, jnp.float32)


def test_every_learner_has_a_learning_rate_of_its_own(learners, batch):
    keys = jax.random.split(jax.random.key(1), LEARNERS)
    rates = every(0.0).at[0].set(1e-2)
    after, _ = update(learners, batch, None, keys, every(ENTROPY), rates, CONFIG)
    moved = np.abs(after.actor.head.weight - learners.actor.head.weight).max(axis=(1, 2))
    assert moved[0] > 0
    assert (moved[1:] == 0).all()


def test_the_losses_are_those_of_the_formulas(learners, batch):
    _, metrics = updated(learners, batch)
    found = outputs(learners, batch.observations, batch.identity)
    log_policy, values = map(np.asarray, found)
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
    now, values = outputs(learners, batch.observations, batch.identity)

    def chosen(log_policy):
        return jnp.take_along_axis(log_policy, batch.actions[..., None], axis=-1)[..., 0]

    def error(values):
        return ((values - batch.targets) ** 2).mean(axis=(1, 2, 3))

    fair = replace(batch, log_probs=chosen(now), values=values)
    after, _ = updated(learners, fair, rate=1e-3, epochs=4)
    later, later_values = outputs(after, batch.observations, batch.identity)
    gains = ((chosen(later) - chosen(now)) * batch.advantages).mean(axis=(1, 2, 3))
    assert (gains > 0).all()
    assert (error(later_values) < error(values)).all()


@pytest.mark.parametrize("shared", [False, True])
def test_the_value_loss_moves_the_trunk_if_it_is_shared_and_never_the_action_head(shared):
    learners = new_learners(SHARED if shared else CONFIG.network)
    batch = new_batch(learners)
    only_values = replace(batch, advantages=jnp.zeros_like(batch.advantages))
    keys = jax.random.split(jax.random.key(1), LEARNERS)
    after, metrics = update(learners, only_values, None, keys, every(0), every(1e-2), CONFIG)
    assert (metrics.critic_grad_norm > 1e-3).all()
    moved = np.abs(after.actor.layers[0].weight - learners.actor.layers[0].weight)
    assert (moved.max(axis=(1, 2)) > 1e-3).all() == shared
    assert (moved > 0).any() == shared
    assert np.array_equal(after.actor.head.weight, learners.actor.head.weight)


def test_with_a_shared_trunk_only_the_critic_is_told_the_identity():
    learners = new_learners(SHARED, identities=2)
    batch = new_batch(learners)
    _, metrics = updated(learners, batch)
    _, other = updated(learners, replace(batch, identity=-batch.identity))
    for name in ("actor_loss", "entropy", "approx_kl"):
        assert np.array_equal(getattr(metrics, name), getattr(other, name))
    assert (np.abs(metrics.critic_loss - other.critic_loss) > 1e-3).all()
