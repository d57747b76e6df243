"""Proximal policy optimisation (Schulman et al. 2017) for a stack of learners, as in MAPPO."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, Key, UInt8

from cochef.agents.actor_critic import actor
from cochef.agents.networks import Network, ObservationSpec, ValueHead
from cochef.learning import axes
from cochef.learning.config import TrainingConfig
from cochef.learning.returns import ValueNormalizer, new_value_normalizer
from cochef.pytree import pytree

JointLoss = Callable[[Network, Key[Array, ""]], Float[Array, ""]]  # of all learners' actors


@pytree
class LearnerState:
    """Parameters, optimiser states and value normalisation of a learner."""

    actor: Network
    critic: Network | ValueHead
    actor_opt_state: optax.OptState
    critic_opt_state: optax.OptState
    value_normalizer: ValueNormalizer


@pytree
class Batch:
    """A learner's transitions, with advantages and targets, in chunks of consecutive steps.

    Values and targets are normalised.
    """

    observations: UInt8[Array, "*learners_chunks_observation"]
    episode_start: Bool[Array, "*learners chunks chunk rows"]
    actions: Int[Array, "*learners chunks chunk rows"]
    log_probs: Float[Array, "*learners chunks chunk rows"]
    advantages: Float[Array, "*learners chunks chunk rows"]
    values: Float[Array, "*learners chunks chunk rows"]  # before the update
    targets: Float[Array, "*learners chunks chunk rows"]
    # Before the first step of a chunk; a critic on the actor's features has none.
    actor_carry: Float[Array, "*learners chunks rows actor_carry"]
    critic_carry: Float[Array, "*learners chunks rows critic_carry"]
    identity: Float[Array, "*learners chunks chunk rows identities"] | None = None  # for the critic


@pytree
class _LossParts:
    """The parts of a loss, and how far the policy has moved."""

    actor_loss: Float[Array, "*learners"]
    critic_loss: Float[Array, "*learners"]
    entropy: Float[Array, "*learners"]
    clip_fraction: Float[Array, "*learners"]
    approx_kl: Float[Array, "*learners"]


@pytree
class UpdateMetrics(_LossParts):
    """Metrics of an update, averaged over its gradient steps."""

    actor_grad_norm: Float[Array, "*learners"]
    critic_grad_norm: Float[Array, "*learners"]


def new_learner(
    config: TrainingConfig,
    spec: ObservationSpec,
    actions: int,
    key: Key[Array, ""],
    identities: int = 0,
) -> LearnerState:
    """A learner with fresh weights; its critic may be told the partner's identity."""
    key_actor, key_critic = jax.random.split(key)
    new_actor = actor(config.network, spec, actions, key_actor)
    if config.network.shared_trunk:
        width = new_actor.head.weight.shape[0]
        new_critic = ValueHead(width, identities, key_critic)
    else:
        new_critic = Network(config.network, spec, 1, 1.0, key_critic, identities)
    optimizer = _optimizer(config)
    return LearnerState(
        actor=new_actor,
        critic=new_critic,
        actor_opt_state=optimizer.init(new_actor),  # pyright: ignore[reportArgumentType]
        critic_opt_state=optimizer.init(new_critic),  # pyright: ignore[reportArgumentType]
        value_normalizer=new_value_normalizer(),
    )


def update(
    learners: LearnerState,
    batch: Batch,
    joint_loss: JointLoss | None,
    keys: Key[Array, " learners"],
    entropy_weight: Float[Array, " learners"],
    learning_rate: Float[Array, " learners"],
    config: TrainingConfig,
) -> tuple[LearnerState, UpdateMetrics]:
    """All learners after some epochs on their batches.

    A joint loss, if there is one, depends on the actors of all learners together.
    """

    def total_loss(
        networks: tuple[Network, Network | ValueHead], minibatch: Batch, key: Key[Array, ""]
    ) -> tuple[Float[Array, ""], _LossParts]:
        loss = jax.vmap(partial(_loss, config=config))
        losses, parts = loss(*networks, minibatch, entropy_weight)
        joint = joint_loss(networks[0], key) if joint_loss else 0.0
        # A learner's parameters are in no other's loss, so the sum gives each its own gradient.
        return losses.sum() + joint, parts

    def gradient_step(
        learners: LearnerState, now: tuple[Int[Array, "learners part"], Key[Array, ""]]
    ) -> tuple[LearnerState, UpdateMetrics]:
        chosen, key = now
        # The order within a minibatch does not matter: the only one needs no copy.
        minibatch = batch if config.minibatches == 1 else jax.vmap(_take)(batch, chosen)
        networks = (learners.actor, learners.critic)
        grads, parts = jax.grad(total_loss, has_aux=True)(networks, minibatch, key)
        apply = jax.vmap(partial(_apply_gradients, config=config))
        actor, actor_opt_state, actor_norm = apply(
            grads[0], learners.actor_opt_state, learners.actor, learning_rate
        )
        critic, critic_opt_state, critic_norm = apply(
            grads[1], learners.critic_opt_state, learners.critic, learning_rate
        )
        learners = replace(
            learners,
            actor=actor,
            critic=critic,
            actor_opt_state=actor_opt_state,
            critic_opt_state=critic_opt_state,
        )
        return learners, UpdateMetrics(
            **vars(parts), actor_grad_norm=actor_norm, critic_grad_norm=critic_norm
        )

    chunks = batch.actions.shape[1]
    draw = partial(_minibatches, chunks=chunks, config=config)
    minibatches = jax.vmap(draw, out_axes=1)(keys)  # [gradient steps, learners, chunks]
    # The first learner's, on each device: a joint loss that draws depends on how many there are.
    key_joint = jax.random.fold_in(keys[0], 1)
    steps = (minibatches, jax.random.split(key_joint, len(minibatches)))
    learners, metrics = jax.lax.scan(gradient_step, learners, steps)
    return learners, jax.tree.map(lambda leaf: leaf.mean(axis=0), metrics)


def chosen_log_probs(
    log_policy: Float[Array, "*batch actions"], actions: Int[Array, "*batch"]
) -> Float[Array, "*batch"]:
    """The log-probabilities of the actions taken."""
    # A comparison and a sum: on a CPU much faster than indexing, and so is its gradient.
    taken = actions[..., None] == jnp.arange(log_policy.shape[-1])
    return jnp.where(taken, log_policy, 0.0).sum(axis=-1)


def _minibatches(
    key: Key[Array, ""], chunks: int, config: TrainingConfig
) -> Int[Array, "gradient_steps part"]:
    """Which chunks each gradient step takes; every epoch shuffles them and takes each once.

    A chunk is the same few steps of all rows, so that a minibatch copies whole blocks of memory.
    """
    shuffle = jax.vmap(lambda key: jax.random.permutation(key, chunks))
    key_shuffle = jax.random.fold_in(key, 0)  # 1 is for a joint loss
    epochs = shuffle(jax.random.split(key_shuffle, config.epochs))
    return axes.cut_epochs(epochs, config.minibatches)


def _take(batch: Batch, chosen: Int[Array, " part"]) -> Batch:
    return jax.tree.map(lambda leaf: leaf[chosen], batch)


def _loss(
    actor: Network,
    critic: Network | ValueHead,
    minibatch: Batch,
    entropy_weight: Float[Array, ""],
    config: TrainingConfig,
) -> tuple[Float[Array, ""], _LossParts]:
    """The PPO loss of one learner on a minibatch, and its parts."""
    rows = axes.chunks_to_rows
    observations = rows(minibatch.observations)
    episode_start = rows(minibatch.episode_start)
    identity = None if minibatch.identity is None else rows(minibatch.identity)
    actor_carry = axes.carries_to_rows(minibatch.actor_carry)
    critic_carry = axes.carries_to_rows(minibatch.critic_carry)
    features, _ = actor.features(observations, episode_start, actor_carry)
    logits = actor.head(features)
    if isinstance(critic, ValueHead):
        values = critic(features, identity)
    else:
        values, _ = critic.unroll(observations, episode_start, critic_carry, identity)

    log_policy = jax.nn.log_softmax(logits)
    advantages = rows(minibatch.advantages)
    log_ratio = chosen_log_probs(log_policy, rows(minibatch.actions)) - rows(minibatch.log_probs)
    ratio = jnp.exp(log_ratio)
    clipped_ratio = jnp.clip(ratio, 1 - config.clip, 1 + config.clip)
    surrogate = jnp.minimum(ratio * advantages, clipped_ratio * advantages).mean()
    entropy = -(jnp.exp(log_policy) * log_policy).sum(axis=-1).mean()
    critic_loss = _value_loss(
        values[..., 0], rows(minibatch.values), rows(minibatch.targets), config
    )
    loss = config.value_weight * critic_loss - surrogate - entropy_weight * entropy
    return loss, _LossParts(
        actor_loss=-surrogate,
        critic_loss=critic_loss,
        entropy=entropy,
        clip_fraction=(jnp.abs(ratio - 1) > config.clip).mean(),
        # Never negative, unlike the mean of -log_ratio (http://joschu.net/blog/kl-approx.html).
        approx_kl=(ratio - 1 - log_ratio).mean(),
    )


def _value_loss(
    values: Float[Array, "time rows"],
    old_values: Float[Array, "time rows"],
    targets: Float[Array, "time rows"],
    config: TrainingConfig,
) -> Float[Array, ""]:
    """The clipped value loss, with Huber's loss instead of the square."""
    change = jnp.clip(values - old_values, -config.value_clip, config.value_clip)
    unclipped = optax.huber_loss(values, targets, delta=config.huber_delta)
    clipped = optax.huber_loss(old_values + change, targets, delta=config.huber_delta)
    return jnp.maximum(unclipped, clipped).mean()


def _optimizer(config: TrainingConfig) -> optax.GradientTransformation:
    """Gradient clipping and Adam, without the learning rate, which changes during training."""
    transforms = [
        optax.clip_by_global_norm(config.max_grad_norm),
        optax.scale_by_adam(eps=config.adam_epsilon),
    ]
    if config.weight_decay:
        transforms.append(optax.add_decayed_weights(config.weight_decay))
    return optax.chain(*transforms)


def _apply_gradients(
    gradient: Any,  # noqa: ANN401
    opt_state: optax.OptState,
    network: Any,  # noqa: ANN401
    learning_rate: Float[Array, ""],
    config: TrainingConfig,
) -> tuple[Any, optax.OptState, Float[Array, ""]]:
    """The network after a gradient step, the optimiser's state, and the gradient's norm."""
    updates, opt_state = _optimizer(config).update(gradient, opt_state, network)

    def apply(parameter: Array, change: Array) -> Array:
        return parameter - learning_rate * change

    return jax.tree.map(apply, network, updates), opt_state, optax.tree.norm(gradient)
