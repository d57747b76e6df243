"""One trainer for all methods: a whole population learns in one compiled program.

An iteration collects a rollout, estimates advantages, and updates every learner. It is one program
for all members, sharded over the available devices. A member's random numbers follow from the seed,
its number and the iteration alone.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cached_property, lru_cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Bool, Float, Int, Key

from cochef.agents import hosting
from cochef.agents.networks import Network, ValueHead, inherit
from cochef.errors import InputError
from cochef.kitchen.stepping import EnvState
from cochef.learning import axes
from cochef.learning.collect import Collector, Kitchens, Players, Rollout
from cochef.learning.config import Schedule, TrainingConfig
from cochef.learning.environments import Environment, KitchenEnvironment
from cochef.learning.host_partners import HostPartners
from cochef.learning.partner_sampling import PartnerPool
from cochef.learning.ppo import Batch, LearnerState, UpdateMetrics, new_learner, update
from cochef.learning.returns import ValueNormalizer, estimate_advantages
from cochef.learning.roles import SELF_PLAY, CopyRole, Roles
from cochef.pytree import pytree
from cochef.randomness import fast

AXIS = "members"  # of the mesh of devices

_ADVANTAGE_EPSILON = 1e-5


class _KeyUse(IntEnum):
    """Uses of a member's random numbers; each has a key of its own."""

    INIT = 0
    RESET = 1
    COLLECT = 2
    UPDATE = 3


@pytree
class RewardWeights:
    """What each role of each member is rewarded for."""

    events: Float[Array, "members roles events"]
    task: Float[Array, "members roles"]
    shaping: Float[Array, "members roles events"]  # annealed by the configuration's schedule


@pytree
class Parents:
    """The policies that learners begin as, instead of with fresh weights."""

    actors: Network  # [members, learners]; feed-forward
    taken: Bool[Array, "members learners"]  # which learners have a parent


@pytree
class Origin:
    """Learners that are trained further, as they were; without a critic, that one is fresh."""

    actors: Network  # [members, learners]
    critics: Network | ValueHead | None
    value_normalizers: ValueNormalizer | None


IntrinsicReward = Callable[[Network, Rollout], Float[Array, "time members roles kitchens"]]
AuxiliaryLoss = Callable[[Network, Rollout, Key[Array, ""]], Float[Array, ""]]


@dataclass(frozen=True)
class Algorithm:
    """How the training of populations differs. It is hashable: each has a compiled program.

    Intrinsic reward and auxiliary loss get the actors of the whole population, [all members, ...],
    and the rollout of this device's members.
    """

    roles: Roles = SELF_PLAY
    intrinsic_reward: IntrinsicReward | None = None
    """Added to the rewards for events and task."""
    auxiliary_loss: AuxiliaryLoss | None = None
    """Added to PPO's loss in every gradient step."""

    @property
    def members_meet(self) -> bool:
        """Whether members learn from each other, so that their population cannot be split."""
        return bool(self.intrinsic_reward or self.auxiliary_loss)


@pytree
class TrainState:
    """All that changes during training; every array has the members first."""

    members: Int[Array, " members"]
    learners: LearnerState  # [members, learners]
    copies: Network | None  # [members], if a copy plays the second role
    kitchens: Kitchens
    critic_carry: Float[Array, "members learners rows carry"]  # before the next rollout
    restarted: Bool[Array, " members"]  # who began anew: see `TrainingConfig.restart_at`


@pytree
class IterationMetrics:
    """Metrics of an iteration, per member."""

    task_return: Float[Array, " members"]  # mean task return of an episode
    objective_return: Float[Array, "members roles"]  # of all that a role is rewarded for
    events: Float[Array, "members roles events"]  # mean counts of an episode
    partner_returns: Float[Array, "members partners"] | None  # average, if there is a pool
    update: UpdateMetrics  # [members, learners]


@dataclass(frozen=True)
class Trainer:
    """Trains a population."""

    environment: Environment
    algorithm: Algorithm
    config: TrainingConfig
    weights: RewardWeights
    key: Key[Array, ""]
    pool: PartnerPool | None = None
    parents: Parents | None = None
    first: int = 0
    """The number of its first member, which is not 0 in a shard of a population."""
    origin: Origin | None = None

    def __post_init__(self) -> None:
        """Refuse what would be computed wrongly."""
        if self.algorithm.members_meet and self.config.network.recurrent:
            raise InputError(
                f"recurrent is {self.config.network.recurrent} in a population whose members meet; "
                "it takes 0: their policies are compared step by step, without a carry"
            )
        if self.parents is not None:
            self.config.network.check_inherits()

    @property
    def members(self) -> int:
        """How many members the population has."""
        return self.weights.task.shape[0]

    def shard(self, first: int, count: int) -> "Trainer":
        """Some of the members, with the random numbers that they have among all."""
        if self.algorithm.members_meet:
            raise InputError("a shard of a population whose members meet; it is trained as a whole")
        own = slice(first, first + count)
        weights, parents = jax.tree.map(lambda leaf: leaf[own], (self.weights, self.parents))
        return replace(self, weights=weights, parents=parents, first=self.first + first)

    @property
    def mesh(self) -> Mesh:
        """The largest number of devices that divides the members evenly."""
        # Own agents that are no JAX code are asked for all members at once.
        devices = jax.devices() if self._host_partners is None else jax.devices()[:1]
        count = max(number for number in range(1, len(devices) + 1) if self.members % number == 0)
        return Mesh(np.array(devices[:count]), (AXIS,))

    def begin(self) -> TrainState:
        """The initial training state."""
        program = _begin_program(self.environment, self.algorithm, self.config, self.mesh)
        numbers = self.first + jnp.arange(self.members)
        pool = hosting.answered(self.pool)
        state = program(fast(self.key), numbers, pool, self.parents)
        return state if self.origin is None else self._as_origin(state, self.origin)

    def _as_origin(self, state: TrainState, origin: Origin) -> TrainState:
        """The initial training state with the networks of learners that are trained further."""
        learners = replace(state.learners, actor=origin.actors)
        if origin.critics is not None and origin.value_normalizers is not None:
            learners = replace(
                learners, critic=origin.critics, value_normalizer=origin.value_normalizers
            )
        copies = _first_copies(self.algorithm.roles, origin.actors)
        sharding = NamedSharding(self.mesh, PartitionSpec(AXIS))
        return jax.device_put(replace(state, learners=learners, copies=copies), sharding)

    @cached_property
    def _host_partners(self) -> HostPartners | None:
        """The partners that are called on the host, if there are any."""
        if self.pool is None or not hosting.callers(self.pool):
            return None
        assert isinstance(self.environment, KitchenEnvironment)
        rows = self.members * self.config.kitchens
        return HostPartners(self.environment.layout, self.pool, rows)

    def iterate(self, state: TrainState, iteration: int) -> tuple[TrainState, IterationMetrics]:
        """The training state after an iteration; `state` is donated, and cannot be used again."""
        if self._host_partners is not None:
            return self._iterate_on_host(self._host_partners, state, iteration)
        program = _iterate_program(self.environment, self.algorithm, self.config, self.mesh)
        return program(state, self.weights, self.pool, fast(self.key), jnp.int32(iteration))

    def _iterate_on_host(
        self, partners: HostPartners, state: TrainState, iteration: int
    ) -> tuple[TrainState, IterationMetrics]:
        """An iteration whose rollout goes step by step; own agents are asked in between."""
        advance, learn = _host_programs(self.environment, self.algorithm, self.config)
        pool = hosting.answered(self.pool)
        arguments = (state, self.weights, pool, fast(self.key), jnp.int32(iteration))
        states = axes.to_stepping(state.kitchens.states)
        players = state.kitchens.players
        records = []
        for number in range(self.config.rollout_steps):
            players = replace(players, partner_carry=partners.answer(states, players))
            states, players, one = advance(*arguments, states, players, jnp.int32(number))
            records.append(jax.device_get(one))
        rollout = jax.tree.map(lambda *leaves: np.stack(leaves), *records)
        return learn(*arguments, states, players, rollout)


@lru_cache(maxsize=8)
def _host_programs(
    environment: Environment, algorithm: Algorithm, config: TrainingConfig
) -> tuple[Any, Any]:
    """A step of a rollout, and the update after all steps."""

    @jax.jit
    def advance(
        state: TrainState,
        weights: RewardWeights,
        pool: PartnerPool,
        key: Key[Array, ""],
        iteration: Int[Array, ""],
        states: EnvState,
        players: Players,
        number: Int[Array, ""],
    ) -> tuple[EnvState, Players, Any]:
        collector = Collector(environment, config, algorithm.roles, pool)
        loop = collector.loop(**_loop_inputs(collector, state, weights, key, iteration))
        (states, players, _), one = loop.advance((states, players, ()), number)
        return states, players, one

    @jax.jit
    def learn(
        state: TrainState,
        weights: RewardWeights,
        pool: PartnerPool,
        key: Key[Array, ""],
        iteration: Int[Array, ""],
        states: EnvState,
        players: Players,
        records: Any,  # noqa: ANN401
    ) -> tuple[TrainState, IterationMetrics]:
        collector = Collector(environment, config, algorithm.roles, pool)
        collected = collector.finish(states, players, records)
        return _iterate(collector, algorithm, state, weights, key, iteration, collected)

    return advance, learn


@lru_cache(maxsize=8)
def _begin_program(
    environment: Environment, algorithm: Algorithm, config: TrainingConfig, mesh: Mesh
) -> Any:  # noqa: ANN401
    def begin(
        key: Key[Array, ""],
        members: Int[Array, " members"],
        pool: PartnerPool | None,
        parents: Parents | None,
    ) -> TrainState:
        state = _begin(environment, algorithm, config, members, pool, parents, key)

        # Weakly typed arrays would make the first iteration compile twice.
        def strong(leaf: Array) -> Array:
            return jax.lax.convert_element_type(leaf, leaf.dtype)

        return jax.tree.map(strong, state)

    return jax.jit(begin, out_shardings=NamedSharding(mesh, PartitionSpec(AXIS)))


@lru_cache(maxsize=8)
def _iterate_program(
    environment: Environment, algorithm: Algorithm, config: TrainingConfig, mesh: Mesh
) -> Any:  # noqa: ANN401
    def iterate(
        state: TrainState,
        weights: RewardWeights,
        pool: PartnerPool | None,
        key: Key[Array, ""],
        iteration: Int[Array, ""],
    ) -> tuple[TrainState, IterationMetrics]:
        collector = Collector(environment, config, algorithm.roles, pool)
        return _iterate(collector, algorithm, state, weights, key, iteration)

    split = PartitionSpec(AXIS)
    same = PartitionSpec()
    in_specs = (split, split, same, same, same)  # as the arguments of `iterate`
    out_specs = (split, split)
    sharded = jax.shard_map(
        iterate, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=False
    )
    return jax.jit(
        sharded,
        donate_argnums=0,
        in_shardings=tuple(NamedSharding(mesh, spec) for spec in in_specs),
        out_shardings=tuple(NamedSharding(mesh, spec) for spec in out_specs),
    )


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


def _begin(
    environment: Environment,
    algorithm: Algorithm,
    config: TrainingConfig,
    members: Int[Array, " members"],
    pool: PartnerPool | None,
    parents: Parents | None,
    key: Key[Array, ""],
) -> TrainState:
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
        copies=_first_copies(roles, learners.actor),
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


def _iterate(
    collector: Collector,
    algorithm: Algorithm,
    state: TrainState,
    weights: RewardWeights,
    key: Key[Array, ""],
    iteration: Int[Array, ""],
    collected: tuple[Kitchens, Rollout] | None = None,
) -> tuple[TrainState, IterationMetrics]:
    """Collect a rollout, unless that has been done; estimate advantages, update."""
    config = collector.config
    roles = collector.roles
    steps = _scheduled_steps(config, state.restarted, iteration)
    actors = state.learners.actor
    if collected is None:
        inputs = _loop_inputs(collector, state, weights, key, iteration)
        collected = collector.collect(kitchens=state.kitchens, **inputs)
    kitchens, rollout = collected
    rewards = rollout.rewards
    if algorithm.intrinsic_reward:
        population = _gather(axes.merge_learners(actors))
        rewards = rewards + algorithm.intrinsic_reward(population, rollout)

    learners, batch, critic_carry = _prepare(collector, state, rollout, rewards)
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
            (fresh, _first_copies(collector.roles, fresh.actor)),
            (state.learners, state.copies),
        )
        return replace(state, learners=learners, copies=copies, restarted=restarts)

    due = iteration + 1 == config.restart_iteration
    return jax.lax.cond(due, begin_anew, lambda state: state, state)


def _loop_inputs(
    collector: Collector,
    state: TrainState,
    weights: RewardWeights,
    key: Key[Array, ""],
    iteration: Int[Array, ""],
) -> dict[str, Any]:
    """Who acts in an iteration's rollout, and for which rewards: arguments of `Collector.loop`."""
    config = collector.config
    shaping = _scheduled(config.shaping, _scheduled_steps(config, state.restarted, iteration))
    return {
        "actors": state.learners.actor,
        "copies": state.copies,
        "event_weights": weights.events + shaping[:, None, None] * weights.shaping,
        "task_weights": weights.task,
        "keys": _member_keys(key, state.members, iteration, _KeyUse.COLLECT),
    }


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


def _prepare(
    collector: Collector,
    state: TrainState,
    rollout: Rollout,
    rewards: Float[Array, "time members roles kitchens"],
) -> tuple[LearnerState, Batch, Float[Array, "learners rows carry"]]:
    """The learners with updated value normalisation, their batch, and the critics' next carry."""
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
    chunks = partial(axes.chunk_time, chunk=config.chunk_length)
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


def _first_copies(roles: Roles, actors: Network) -> Network | None:
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
