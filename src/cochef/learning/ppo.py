"""Proximal policy optimisation (Schulman et al. 2017) for a stack of learners, with the paper's refinements."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, Key, UInt8

from cochef.agents.actor_critic import actor
from cochef.agents.networks import Network, ObservationSpec
from cochef.learning.config import TrainingConfig
from cochef.learning.returns import ValueNormalizer, new_value_normalizer
from cochef.pytree import pytree

_TINY = 1e-5

Penalty = Callable[[Network, Key[Array, ""]], Float[Array, ""]]


@pytree
class Learner:
    """All that changes in a learner: what acts, what judges, how they were moving, the scale of values."""

    actor: Network
    critic: Network
    actor_motion: optax.OptState
    critic_motion: optax.OptState
    normaliser: ValueNormalizer


@pytree
class Batch:
    """What a learner played, in blocks of time that stay together, with what it is to learn from it."""

    views: UInt8[Array, "*learners_blocks_view"]
    begins: Bool[Array, "*learners blocks block rows"]
    actions: Int[Array, "*learners blocks block rows"]
    log_probs: Float[Array, "*learners blocks block rows"]
    advantages: Float[Array, "*learners blocks block rows"]
    values: Float[Array, "*learners blocks block rows"]  # when played, in the critic's units
    targets: Float[Array, "*learners blocks block rows"]  # in the critic's units
    actor_memory: Float[Array, "*learners blocks rows memory"]  # before the first step of a block
    critic_memory: Float[Array, "*learners blocks rows memory"]
    identity: Float[Array, "*learners blocks block rows identities"] | None = None  # of the partner, for the critic


@pytree
class Update:
    """How an update went, averaged over its gradient steps."""

    actor_loss: Float[Array, "*learners"]
    critic_loss: Float[Array, "*learners"]
    entropy: Float[Array, "*learners"]
    clipped: Float[Array, "*learners"]
    divergence: Float[Array, "*learners"]
    actor_gradient: Float[Array, "*learners"]
    critic_gradient: Float[Array, "*learners"]


def new_learner(
    config: TrainingConfig, spec: ObservationSpec, actions: int, key: Key[Array, ""], identities: int = 0
) -> Learner:
    """A learner that knows nothing."""
    key_actor, key_critic = jax.random.split(key)
    acting = actor(config.network, spec, actions, key_actor)
    judging = Network(config.network, spec, 1, 1.0, key_critic, identities)
    optimiser = _optimiser(config)
    at_rest = [optimiser.init(network) for network in (acting, judging)]  # pyright: ignore[reportArgumentType]
    return Learner(acting, judging, at_rest[0], at_rest[1], new_value_normalizer())


def update(
    learners: Learner,
    batch: Batch,
    penalty: Penalty | None,
    keys: Key[Array, " learners"],
    entropy: Float[Array, ""],
    learning_rate: Float[Array, ""],
    config: TrainingConfig,
) -> tuple[Learner, Update]:
    """All learners after some epochs on what they played; a penalty may tie their actors together."""

    def total(networks: tuple[Network, Network], part: Batch, key: Key[Array, ""]) -> tuple[Float[Array, ""], Any]:
        losses, report = jax.vmap(lambda actor, critic, part: _loss(actor, critic, part, entropy, config))(
            *networks, part
        )
        joint = penalty(networks[0], key) if penalty else 0.0
        return losses.sum() + joint, report

    def gradient_step(
        learners: Learner, now: tuple[Int[Array, "learners part"], Key[Array, ""]]
    ) -> tuple[Learner, Any]:
        chosen, key = now
        part = batch if config.minibatches == 1 else jax.vmap(_take)(batch, chosen)
        networks = (learners.actor, learners.critic)
        (actor_gradient, critic_gradient), report = jax.grad(total, has_aux=True)(networks, part, key)
        move = jax.vmap(lambda gradient, motion, network: _move(gradient, motion, network, learning_rate, config))
        actor, actor_motion, actor_size = move(actor_gradient, learners.actor_motion, learners.actor)
        critic, critic_motion, critic_size = move(critic_gradient, learners.critic_motion, learners.critic)
        learners = Learner(actor, critic, actor_motion, critic_motion, learners.normaliser)
        return learners, Update(*report, actor_size, critic_size)  # pyright: ignore[reportCallIssue]

    orders = jax.vmap(lambda key: _orders(key, batch.actions.shape[1], config))(keys)
    key_penalty = jax.random.fold_in(keys[0], 1)
    steps = (jnp.moveaxis(orders, 1, 0), jax.random.split(key_penalty, orders.shape[1]))
    learners, reports = jax.lax.scan(gradient_step, learners, steps)
    return learners, jax.tree.map(lambda leaf: leaf.mean(axis=0), reports)


def _orders(key: Key[Array, ""], blocks: int, config: TrainingConfig) -> Int[Array, "gradient_steps part"]:
    """Which blocks each gradient step of an update takes: every epoch takes each once."""
    shuffle = jax.vmap(lambda key: jax.random.permutation(key, blocks))
    epochs = shuffle(jax.random.split(jax.random.fold_in(key, 0), config.epochs))
    return epochs.reshape(config.epochs * config.minibatches, -1)


def _take(batch: Batch, chosen: Int[Array, " part"]) -> Batch:
    return jax.tree.map(lambda leaf: leaf[chosen], batch)


def _loss(
    actor: Network, critic: Network, part: Batch, entropy_weight: Float[Array, ""], config: TrainingConfig
) -> tuple[Float[Array, ""], tuple[Array, ...]]:
    """The loss of one learner on some blocks, and its parts."""
    steps = jax.tree.map(
        _time_first,
        (part.views, part.begins, part.identity, part.actions, part.log_probs, part.advantages),
    )
    old_values, targets = jax.tree.map(_time_first, (part.values, part.targets))
    views, begins, identity, actions, old_log_probs, advantages = steps
    memories = [memory.reshape(begins.shape[1], memory.shape[-1]) for memory in (part.actor_memory, part.critic_memory)]
    logits, _ = actor.unroll(views, begins, memories[0])
    values, _ = critic.unroll(views, begins, memories[1], identity)
    log_policy = jax.nn.log_softmax(logits)
    log_ratio = chosen_log_probs(log_policy, actions) - old_log_probs
    ratio = jnp.exp(log_ratio)
    gain = jnp.minimum(ratio * advantages, jnp.clip(ratio, 1 - config.clip, 1 + config.clip) * advantages).mean()
    entropy = -(jnp.exp(log_policy) * log_policy).sum(axis=-1).mean()
    moved = old_values + jnp.clip(values[..., 0] - old_values, -config.value_clip, config.value_clip)
    huber = lambda values: optax.huber_loss(values, targets, delta=config.huber)  # noqa: E731
    critic_loss = jnp.maximum(huber(values[..., 0]), huber(moved)).mean()
    clipped = (jnp.abs(ratio - 1) > config.clip).mean()
    divergence = (ratio - 1 - log_ratio).mean()
    loss = config.value_weight * critic_loss - gain - entropy_weight * entropy
    return loss, (-gain, critic_loss, entropy, clipped, divergence)


def chosen_log_probs(
    log_policy: Float[Array, "*batch actions"], actions: Int[Array, "*batch"]
) -> Float[Array, "*batch"]:
    """The log-probabilities of the actions taken."""
    return jnp.where(actions[..., None] == jnp.arange(log_policy.shape[-1]), log_policy, 0.0).sum(axis=-1)


def _time_first(leaf: Array) -> Array:
    """From blocks, block, rows to block, (blocks and rows)."""
    leaf = jnp.moveaxis(leaf, 1, 0)
    return leaf.reshape(leaf.shape[0], leaf.shape[1] * leaf.shape[2], *leaf.shape[3:])


def _optimiser(config: TrainingConfig) -> optax.GradientTransformation:
    steps = [optax.clip_by_global_norm(config.gradient_norm), optax.scale_by_adam(eps=config.adam_epsilon)]
    if config.weight_decay:
        steps.append(optax.add_decayed_weights(config.weight_decay))
    return optax.chain(*steps)


def _move(
    gradient: Network, motion: optax.OptState, network: Network, rate: Float[Array, ""], config: TrainingConfig
) -> tuple[Network, optax.OptState, Float[Array, ""]]:
    """The network a gradient step later, how it was moving, and the gradient's length."""
    direction, motion = _optimiser(config).update(gradient, motion, network)  # pyright: ignore[reportArgumentType]
    moved = jax.tree.map(lambda parameter, change: parameter - rate * change, network, direction)
    return moved, motion, optax.tree.norm(gradient)
