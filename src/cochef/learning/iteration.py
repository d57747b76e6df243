"""An iteration of training: collect a rollout, estimate advantages, update every learner.

All functions are of the members on one device; `trainer.py` compiles them for all devices.
"""

from dataclasses import replace
from enum import IntEnum
from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from cochef.agents.networks import Network, ValueHead, inherit
from cochef.learning import axes
from cochef.learning.collect import Collector, Kitchens, Rollout, RolloutInputs
from cochef.learning.config import Schedule, TrainingConfig
from cochef.learning.environments import Environment
from cochef.learning.partner_sampling import PartnerPool
from cochef.learning.population import (
    Algorithm,
    IterationMetrics,
    Parents,
    RewardWeights,
    TrainState,
)
from cochef.learning.ppo import Batch, LearnerState, UpdateMetrics, new_learner, update
from cochef.learning.returns import ValueNormalizer, estimate_advantages
from cochef.learning.roles import CopyRole, Roles

AXIS = "members"  # of the mesh of devices

_ADVANTAGE_EPSILON = 1e-5


class _KeyUse(IntEnum):
    """Uses of a member's random numbers; each has a key of its own."""

    INIT = 0
    RESET = 1
    COLLECT = 2
    UPDATE = 3


def _member_keys(
    key: Key[Array, ""],
    members: Int[Array, " members"],
    iteration: Int[Array, ""] | int,
    use: _KeyUse,
) -> Key[Array, " members"]:
    fold_in = jax.random.fold_in

    def of_member(member: Int[Array, ""]) -> Key[Array, ""]:
        return fold_in(fold_in(fold_in(key, member), iteration), int(use))

    return jax.vmap(of_member)(members)


def _learner_keys(keys: Key[Array, " members"], learners: int) -> Key[Array, "members learners"]:
    return jax.vmap(lambda key: jax.random.split(key, learners))(keys)


def begin_members(
    environment: Environment,
    algorithm: Algorithm,
    config: TrainingConfig,
    members: Int[Array, " members"],
    pool: PartnerPool | None,
    parents: Parents | None,
    key: Key[Array, ""],
) -> TrainState:
    """The initial training state of some members."""
    roles = algorithm.roles
    collector = Collector(environment, config, roles, pool)
    learners = _new_learners(collector, _member_keys(key, members, 0, _KeyUse.INIT))
    if parents is not None:
        learners = _begin_as(learners, parents)
    kitchens = collector.reset(learners.actor, _member_keys(key, members, 0, _KeyUse.RESET))
    rows = roles.trained * config.kitchens // roles.learners
    return TrainState(
        members=members,
        learners=learners,
        copies=first_copies(roles, learners.actor),
        kitchens=kitchens,
        critic_carry=learners.critic.initial_carry(len(members), roles.learners, rows),
        restarted=jnp.zeros(len(members), bool),
    )


def _new_learners(collector: Collector, keys: Key[Array, " members"]) -> LearnerState:
    """Learners with fresh weights, [members, learners]."""
    environment = collector.environment
    identities = 0 if collector.pool is None else collector.pool.identities.shape[1]

    def init(key: Key[Array, ""]) -> LearnerState:
        spec = environment.observation_spec
        return new_learner(collector.config, spec, environment.actions, key, identities)

    return jax.vmap(jax.vmap(init))(_learner_keys(keys, collector.roles.learners))


def _begin_as(learners: LearnerState, parents: Parents) -> LearnerState:
    """The learners, those with a parent with its layers; also in critics that have layers."""

    def transfer(network: Network) -> Network:
        child = jax.vmap(jax.vmap(inherit))(network, parents.actors)
        choose = jax.vmap(jax.vmap(jnp.where))
        return jax.tree.map(lambda new, old: choose(parents.taken, new, old), child, network)

    critic = learners.critic
    if not isinstance(critic, ValueHead):
        critic = transfer(critic)
    return replace(learners, actor=transfer(learners.actor), critic=critic)


def iterate_one_by_one(
    collector: Collector,
    algorithm: Algorithm,
    state: TrainState,
    weights: RewardWeights,
    key: Key[Array, ""],
    iteration: Int[Array, ""],
) -> tuple[TrainState, IterationMetrics]:
    """An iteration of all members, one after the other.

    On a CPU this is faster than all at once, as a member's minibatches stay in the cache. And a
    member learns the same to the bit however many others there are, also in a shard.
    """
    if algorithm.auxiliary_loss:
        # Every gradient step of a joint loss takes the actors of all members.
        return iterate_members(collector, algorithm, state, weights, key, iteration)
    population = gather_actors(state)

    def iterate(
        member: tuple[TrainState, RewardWeights],
    ) -> tuple[TrainState, IterationMetrics]:
        own_state, own_weights = axes.add_member_axis(member)
        found = iterate_members(
            collector, algorithm, own_state, own_weights, key, iteration, population=population
        )
        return axes.drop_member_axis(found)

    return jax.lax.map(iterate, (state, weights))


def gather_actors(state: TrainState) -> Network:
    """The actors of all learners on all devices together."""
    return _gather(axes.merge_learners(state.learners.actor))


def iterate_members(
    collector: Collector,
    algorithm: Algorithm,
    state: TrainState,
    weights: RewardWeights,
    key: Key[Array, ""],
    iteration: Int[Array, ""],
    collected: tuple[Kitchens, Rollout] | None = None,
    population: Network | None = None,
) -> tuple[TrainState, IterationMetrics]:
    """Collect a rollout, unless that has been done; estimate advantages, update.

    `population` are all actors, for an intrinsic reward, if there are others than in `state`.
    """
    config = collector.config
    roles = collector.roles
    steps = _scheduled_steps(config, state.restarted, iteration)
    if collected is None:
        inputs = rollout_inputs(collector, state, weights, key, iteration)
        collected = collector.collect(inputs, state.kitchens)
    kitchens, rollout = collected
    rewards = rollout.rewards
    if algorithm.intrinsic_reward:
        actors = gather_actors(state) if population is None else population
        rewards = rewards + algorithm.intrinsic_reward(actors, rollout)

    learners, batch, critic_carry = _to_batch(collector, state, rollout, rewards)
    auxiliary = algorithm.auxiliary_loss

    def joint_loss(actors: Network, key: Key[Array, ""]) -> Float[Array, ""]:
        assert auxiliary is not None
        return auxiliary(_gather(actors), rollout, key)

    keys = _member_keys(key, state.members, iteration, _KeyUse.UPDATE)
    learners, update_metrics = update(
        learners,
        batch,
        joint_loss if auxiliary else None,
        axes.merge_learners(_learner_keys(keys, roles.learners)),
        jnp.repeat(_scheduled(config.entropy, steps), roles.learners),
        jnp.repeat(_scheduled(config.learning_rate, steps), roles.learners),
        config,
    )
    learners = axes.split_learners(learners, roles.learners)
    next_state = TrainState(
        members=state.members,
        learners=learners,
        copies=_next_copies(roles, state.copies, learners.actor),
        kitchens=kitchens,
        critic_carry=axes.split_learners(critic_carry, roles.learners),
        restarted=state.restarted,
    )
    metrics = _metrics(collector, kitchens, rollout, rewards, update_metrics)
    next_state = _restart(collector, next_state, weights, metrics.task_return, key, iteration)
    return next_state, metrics


def _restart(
    collector: Collector,
    state: TrainState,
    weights: RewardWeights,
    task_return: Float[Array, " members"],
    key: Key[Array, ""],
    iteration: Int[Array, ""],
) -> TrainState:
    """Members that earn nothing begin anew, in one iteration of the training.

    Where rewards are rare, a few members settle for the shaped reward and never find the task's.
    Whether one restarts follows from its own games alone.
    """
    config = collector.config
    if config.restart_iteration == 0:
        return state
    only_task = (weights.events == 0).all(axis=(1, 2)) & (weights.task > 0).all(axis=1)
    restarts = only_task & (task_return == 0)

    def begin_anew(state: TrainState) -> TrainState:
        keys = _member_keys(key, state.members, iteration, _KeyUse.INIT)
        fresh = _new_learners(collector, keys)
        choose = jax.vmap(jnp.where)
        learners, copies = jax.tree.map(
            lambda new, old: choose(restarts, new, old),
            (fresh, first_copies(collector.roles, fresh.actor)),
            (state.learners, state.copies),
        )
        return replace(state, learners=learners, copies=copies, restarted=restarts)

    due = iteration + 1 == config.restart_iteration
    return jax.lax.cond(due, begin_anew, lambda state: state, state)


def rollout_inputs(
    collector: Collector,
    state: TrainState,
    weights: RewardWeights,
    key: Key[Array, ""],
    iteration: Int[Array, ""],
) -> RolloutInputs:
    """Who acts in an iteration's rollout, and for which rewards; shaping is annealed."""
    config = collector.config
    shaping = _scheduled(config.shaping, _scheduled_steps(config, state.restarted, iteration))
    return RolloutInputs(
        actors=state.learners.actor,
        copies=state.copies,
        event_weights=weights.events + shaping[:, None, None] * weights.shaping,
        task_weights=weights.task,
        keys=_member_keys(key, state.members, iteration, _KeyUse.COLLECT),
    )


def _metrics(
    collector: Collector,
    kitchens: Kitchens,
    rollout: Rollout,
    rewards: Float[Array, "time members roles kitchens"],
    update_metrics: UpdateMetrics,
) -> IterationMetrics:
    """The metrics of an iteration, without the kitchens with random starts."""
    horizon = collector.environment.horizon
    counted = slice(collector.config.random_start_kitchens, None)
    pairing = kitchens.players.pairing
    return IterationMetrics(
        # A rollout has whole episodes, or staggered ones: all of their steps as often. So the
        # mean reward of a step times the horizon is the mean return of an episode.
        task_return=horizon * rollout.task_rewards[..., counted].mean(axis=(0, 2)),
        objective_return=horizon * rewards[..., counted].mean(axis=(0, 3)),
        events=rollout.events,
        partner_returns=None if pairing is None else pairing.average,
        update=axes.split_learners(update_metrics, collector.roles.learners),
    )


def _to_batch(
    collector: Collector,
    state: TrainState,
    rollout: Rollout,
    rewards: Float[Array, "time members roles kitchens"],
) -> tuple[LearnerState, Batch, Float[Array, "learners rows carry"]]:
    """Estimate advantages, and put the rollout into the order of an update.

    Also the learners with updated value normalisation, and the critics' carry after the rollout.
    """
    config = collector.config
    roles = collector.roles
    learners: LearnerState = axes.merge_learners(state.learners)
    by_learner = partial(axes.by_learner, learners=roles.learners)
    observations = by_learner(rollout.observations)
    episode_start = by_learner(axes.over_roles(rollout.episode_start, roles.trained))
    identity = None
    if collector.pool is not None and rollout.partners is not None:
        identities = collector.pool.identities[rollout.partners]
        identity = by_learner(axes.over_roles(identities, roles.trained))
    actor_carry = by_learner(rollout.actor_carry)
    outputs, critic_carry = _values(
        learners,
        observations,
        episode_start,
        actor_carry[:, 0],
        axes.merge_learners(state.critic_carry),
        identity,
    )
    normalized_values = outputs[..., 0]
    normalizer = learners.value_normalizer
    values = jax.vmap(ValueNormalizer.denormalize)(normalizer, normalized_values)
    # An episode ends in a step if the next one starts an episode.
    done = episode_start[:, 1:]
    estimate = partial(estimate_advantages, discount=config.discount, gae_lambda=config.gae_lambda)
    advantages = jax.vmap(estimate)(by_learner(rewards), values, done)
    targets = advantages + values[:, :-1]
    observe_targets = partial(ValueNormalizer.update, decay=config.value_norm_decay)
    normalizer = jax.vmap(observe_targets)(normalizer, targets)
    chunks = partial(axes.chunk_time, chunk=config.chunk_length, row_blocks=config.row_blocks)
    batch = Batch(
        observations=chunks(observations[:, :-1]),
        episode_start=chunks(episode_start[:, :-1]),
        actions=chunks(by_learner(rollout.actions)),
        log_probs=chunks(by_learner(rollout.log_probs)),
        advantages=chunks(_standardize(advantages)),
        values=chunks(normalized_values[:, :-1]),
        targets=chunks(jax.vmap(ValueNormalizer.normalize)(normalizer, targets)),
        # A chunk starts from the carry of the old parameters, as in MAPPO.
        actor_carry=chunks(actor_carry)[:, :, 0],
        critic_carry=chunks(critic_carry[:, :-1])[:, :, 0],
        identity=None if identity is None else chunks(identity[:, :-1]),
    )
    return replace(learners, value_normalizer=normalizer), batch, critic_carry[:, -1]


def _values(
    learners: LearnerState,
    observations: Array,
    episode_start: Array,
    actor_carry: Float[Array, "learners rows actor_carry"],
    critic_carry: Float[Array, "learners rows critic_carry"],
    identity: Array | None,
) -> tuple[Float[Array, "learners time_and_last rows 1"], Array]:
    """The critics' values of all steps, and their carry before each."""
    if not isinstance(learners.critic, ValueHead):
        unroll = jax.vmap(Network.unroll)
        return unroll(learners.critic, observations, episode_start, critic_carry, identity)
    features, _ = jax.vmap(Network.features)(
        learners.actor, observations, episode_start, actor_carry
    )
    values = jax.vmap(ValueHead.__call__)(learners.critic, features, identity)
    return values, jnp.zeros((*episode_start.shape, 0))


def _standardize(
    advantages: Float[Array, "learners time rows"],
) -> Float[Array, "learners time rows"]:
    """Advantages with mean 0 and deviation 1 over each learner's rollout, not each minibatch."""
    centred = advantages - advantages.mean(axis=(1, 2), keepdims=True)
    deviation = jnp.sqrt((centred**2).mean(axis=(1, 2), keepdims=True))
    return centred / (deviation + _ADVANTAGE_EPSILON)


def _gather(actors: Network) -> Network:
    """The actors of all devices together."""
    return jax.tree.map(lambda leaf: jax.lax.all_gather(leaf, AXIS, tiled=True), actors)


def first_copies(roles: Roles, actors: Network) -> Network | None:
    """The initial copies of learner 0, if they play the second role."""
    if not isinstance(roles.second, CopyRole):
        return None
    return jax.tree.map(lambda leaf: leaf[:, 0], actors)


def _next_copies(roles: Roles, copies: Network | None, actors: Network) -> Network | None:
    """The copies after an update: an exponential moving average of learner 0."""
    role = roles.second
    if copies is None or not isinstance(role, CopyRole):
        return None

    def average(copy: Array, actor: Array) -> Array:
        return role.decay * copy + (1 - role.decay) * actor[:, 0]

    return jax.tree.map(average, copies, actors)


def _scheduled_steps(
    config: TrainingConfig, restarted: Bool[Array, " members"], iteration: Int[Array, ""]
) -> Float[Array, " members"]:
    """How far each member is in its schedules, in steps.

    One that began anew goes through all of them in what was left of the training: with half of the
    shaped reward gone it would hardly find the task's.
    """
    left = config.iterations - config.restart_iteration
    anew = (iteration - config.restart_iteration) * (config.iterations / left)
    return jnp.where(restarted, anew, iteration) * config.steps_per_iteration


def _scheduled(schedule: Schedule, steps: Float[Array, " members"]) -> Float[Array, " members"]:
    share = jnp.clip(steps / schedule.steps, 0.0, 1.0)
    return schedule.start + (schedule.end - schedule.start) * share
