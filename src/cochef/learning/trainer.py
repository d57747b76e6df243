"""One trainer for all methods: a whole population learns in one compiled program.

An iteration plays a turn, scores it, and updates every learner. It is one program for all members, spread over the
devices there are. A member's random numbers follow from the seed, its number and the iteration alone.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Float, Int, Key

from cochef.agents.networks import Network
from cochef.learning.collect import Rollout, Seating, Table, Wants, play, reset_kitchens
from cochef.learning.config import Schedule, TrainingConfig
from cochef.learning.environments import Game
from cochef.learning.partner_sampling import Pool
from cochef.learning.ppo import Batch, Learner, Update, new_learner, update
from cochef.learning.returns import advantages
from cochef.pytree import pytree
from cochef.randomness import fast

AXIS = "members"

_INIT, _TABLE, _PLAY, _UPDATE = range(4)  # what a member's random numbers are for


@pytree
class Utility:
    """What each role of each member wants: weights of its events and of the task reward, and helping rewards."""

    events: Float[Array, "members roles events"]
    order: Float[Array, "members roles"]
    shaping: Float[Array, "members roles events"]  # annealed


Bonus = Callable[[Network, Rollout], Float[Array, "time members roles kitchens"]]
Penalty = Callable[[Network, Rollout, Key[Array, ""]], Float[Array, ""]]


@dataclass(frozen=True)
class Recipe:
    """Where methods differ; hashable, as compiled programs are specialised to it.

    Bonus and penalty get the actors of the whole population, [all members, ...].
    """

    seating: Seating = Seating.ALONE
    """Who plays."""
    bonus: Bonus | None = None
    """A reward on top of what the roles want."""
    penalty: Penalty | None = None
    """A loss on top of PPO's."""


@pytree
class Training:
    """All that changes while a population learns; every array has the members first."""

    members: Int[Array, " members"]
    learners: Learner  # [members, learners]
    table: Table
    critic_memory: Float[Array, "members learners rows memory"]


@pytree
class Progress:
    """What an iteration gave, per member."""

    task: Float[Array, " members"]  # mean task return of an episode
    reward: Float[Array, "members roles"]  # mean return of what each role wants, helping rewards and bonus included
    events: Float[Array, "members roles events"]  # mean number in an episode
    partners: Float[Array, "members partners"] | None  # with a pool: the average return with each of it
    update: Update  # [members, learners]


@dataclass(frozen=True)
class Trainer:
    """A population and how it learns, ready to go."""

    game: Game
    recipe: Recipe
    config: TrainingConfig
    utility: Utility
    key: Key[Array, ""]
    pool: Pool | None = None

    @property
    def mesh(self) -> Mesh:
        """As many devices as the members can be divided among evenly."""
        members, devices = self.utility.order.shape[0], jax.devices()
        count = max(number for number in range(1, len(devices) + 1) if members % number == 0)
        return Mesh(np.array(devices[:count]), (AXIS,))

    def begin(self) -> Training:
        """The population before it has learned anything."""
        members = self.utility.order.shape[0]
        return _beginning(self.game, self.recipe, self.config, members, self.mesh)(fast(self.key), self.pool)

    def iterate(self, training: Training, iteration: int) -> tuple[Training, Progress]:
        """The population an iteration later; `training` must not be used any more."""
        program = _program(self.game, self.recipe, self.config, self.mesh)
        return program(training, self.utility, self.pool, fast(self.key), jnp.int32(iteration))


@lru_cache(maxsize=8)
def _beginning(game: Game, recipe: Recipe, config: TrainingConfig, members: int, mesh: Mesh) -> Any:  # noqa: ANN401
    def begin(key: Key[Array, ""], pool: Pool | None) -> Training:
        first = _begin(game, recipe, config, jnp.arange(members), pool, key)
        return jax.tree.map(lambda leaf: jax.lax.convert_element_type(leaf, leaf.dtype), first)  # weakly typed no more

    return jax.jit(begin, out_shardings=NamedSharding(mesh, PartitionSpec(AXIS)))


@lru_cache(maxsize=8)
def _program(game: Game, recipe: Recipe, config: TrainingConfig, mesh: Mesh) -> Any:  # noqa: ANN401
    split, same = PartitionSpec(AXIS), PartitionSpec()

    def iterate(
        training: Training, utility: Utility, pool: Pool | None, key: Key[Array, ""], iteration: Int[Array, ""]
    ) -> tuple[Training, Progress]:
        return _iterate(game, recipe, config, training, utility, pool, key, iteration)

    spread = jax.shard_map(
        iterate, mesh=mesh, in_specs=(split, split, same, same, same), out_specs=(split, split), check_vma=False
    )
    split, same = NamedSharding(mesh, split), NamedSharding(mesh, same)
    shardings = {"in_shardings": (split, split, same, same, same), "out_shardings": (split, split)}
    return jax.jit(spread, donate_argnums=0, **shardings)


def _member_keys(
    key: Key[Array, ""], members: Int[Array, " members"], iteration: Int[Array, ""] | int, use: int
) -> Key[Array, " members"]:
    fold = jax.random.fold_in
    return jax.vmap(lambda member: fold(fold(fold(key, member), iteration), use))(members)


def _begin(
    game: Game,
    recipe: Recipe,
    config: TrainingConfig,
    members: Int[Array, " members"],
    pool: Pool | None,
    key: Key[Array, ""],
) -> Training:
    seating = recipe.seating
    identities = 0 if pool is None else pool.identities.shape[1]
    fresh = jax.vmap(jax.vmap(lambda key: new_learner(config, game.spec, game.actions, key, identities)))
    keys = _member_keys(key, members, 0, _INIT)
    learners = fresh(jax.vmap(lambda key: jax.random.split(key, seating.learners))(keys))
    table = reset_kitchens(game, config, learners.actor, _member_keys(key, members, 0, _TABLE), seating, pool)
    rows = seating.roles * config.kitchens // seating.learners
    return Training(members, learners, table, learners.critic.begin(len(members), seating.learners, rows))


def _iterate(
    game: Game,
    recipe: Recipe,
    config: TrainingConfig,
    training: Training,
    utility: Utility,
    pool: Pool | None,
    key: Key[Array, ""],
    iteration: Int[Array, ""],
) -> tuple[Training, Progress]:
    """Play, score, update."""
    steps = iteration * config.steps_per_iteration
    shaping = _scheduled(config.shaping, steps)
    wants = Wants(utility.events + shaping * utility.shaping, utility.order)
    keys_play = _member_keys(key, training.members, iteration, _PLAY)
    actors = training.learners.actor
    table, played = play(game, config, actors, wants, training.table, keys_play, recipe.seating, pool)
    rewards = played.rewards
    if recipe.bonus:
        rewards = rewards + recipe.bonus(_everyone(jax.tree.map(_merge, actors)), played)

    learners = jax.tree.map(_merge, training.learners)
    rows = _Rows(recipe.seating)
    identity = None if pool is None or played.partners is None else pool.identities[rows.shared(played.partners)]
    learners, batch, critic_memory = _judge(
        learners, played, rows(rewards), identity, _merge(training.critic_memory), rows, config
    )
    joint = recipe.penalty
    penalty = joint and (lambda actors, key: joint(_everyone(actors), played, key))
    keys = _member_keys(key, training.members, iteration, _UPDATE)
    keys = jax.vmap(lambda key: jax.random.split(key, recipe.seating.learners))(keys).reshape(-1)
    entropy, rate = _scheduled(config.entropy, steps), _scheduled(config.learning_rate, steps)
    learners, report = update(learners, batch, penalty, keys, entropy, rate, config)

    apart = lambda leaf: leaf.reshape(len(training.members), recipe.seating.learners, *leaf.shape[1:])  # noqa: E731
    after = Training(training.members, jax.tree.map(apart, learners), table, apart(critic_memory))
    progress = Progress(
        task=game.horizon * played.task[..., config.scattered_kitchens :].mean(axis=(0, 2)),
        reward=game.horizon * rewards[..., config.scattered_kitchens :].mean(axis=(0, 3)),
        events=played.events,
        partners=None if table.match is None else table.match.average,
        update=jax.tree.map(apart, report),
    )
    return after, progress


def _everyone(actors: Network) -> Network:
    """The actors of all devices together."""
    return jax.tree.map(lambda leaf: jax.lax.all_gather(leaf, AXIS, tiled=True), actors)


def _merge(leaf: Array) -> Array:
    """From members and learners to a stack of learners."""
    return leaf.reshape(leaf.shape[0] * leaf.shape[1], *leaf.shape[2:])


@dataclass(frozen=True)
class _Rows:
    """From time, members, roles, kitchens to time, learners of all members, rows."""

    seating: Seating

    def __call__(self, leaf: Array) -> Array:
        time, members, roles, kitchens, *rest = leaf.shape
        learners = self.seating.learners
        return leaf.reshape(time, members * learners, roles // learners * kitchens, *rest)

    def shared(self, leaf: Array) -> Array:
        """Of something that is the same for all roles."""
        time, members, kitchens = leaf.shape
        return self(jnp.broadcast_to(leaf[:, :, None], (time, members, self.seating.roles, kitchens)))


def _judge(
    learners: Learner,
    played: Rollout,
    rewards: Float[Array, "time learners rows"],
    identity: Float[Array, "time_and_last learners rows identities"] | None,
    memory: Float[Array, "learners rows memory"],
    rows: _Rows,
    config: TrainingConfig,
) -> tuple[Learner, Batch, Float[Array, "learners rows memory"]]:
    """What there is to learn from what was played, values of each step included, and the critics' memory afterwards."""
    by_learner = lambda leaf: jnp.moveaxis(leaf, 1, 0)  # noqa: E731
    views, begins = by_learner(rows(played.views)), by_learner(rows.shared(played.begins))
    identity = None if identity is None else by_learner(identity)
    values, memories = jax.vmap(Network.unroll)(learners.critic, views, begins, memory, identity)
    values = values[..., 0]
    worth = jax.vmap(lambda normaliser, values: normaliser.denormalise(values))(learners.normaliser, values)
    gains = jax.vmap(partial(advantages, discount=config.discount, trace=config.trace))(
        by_learner(rewards), worth, begins[:, 1:]
    )
    targets = gains + worth[:, :-1]
    normaliser = jax.vmap(lambda normaliser, targets: normaliser.seen(targets, config.value_decay))(
        learners.normaliser, targets
    )
    learners = Learner(learners.actor, learners.critic, learners.actor_motion, learners.critic_motion, normaliser)
    centred = gains - gains.mean(axis=(1, 2), keepdims=True)
    deviation = jnp.sqrt((centred**2).mean(axis=(1, 2), keepdims=True))
    blocks = lambda leaf: leaf.reshape(leaf.shape[0], leaf.shape[1] // config.block, config.block, *leaf.shape[2:])  # noqa: E731
    batch = Batch(
        views=blocks(views[:, :-1]),
        begins=blocks(begins[:, :-1]),
        actions=blocks(by_learner(rows(played.actions))),
        log_probs=blocks(by_learner(rows(played.log_probs))),
        advantages=blocks(centred / (deviation + 1e-5)),
        values=blocks(values[:, :-1]),
        targets=blocks(jax.vmap(lambda normaliser, targets: normaliser.normalise(targets))(normaliser, targets)),
        actor_memory=blocks(by_learner(rows(played.actor_memory)))[:, :, 0],
        critic_memory=blocks(memories[:, :-1])[:, :, 0],
        identity=None if identity is None else blocks(identity[:, :-1]),
    )
    return learners, batch, memories[:, -1]


def _scheduled(schedule: Schedule, steps: Int[Array, ""]) -> Float[Array, ""]:
    share = jnp.clip(steps / schedule.steps, 0.0, 1.0)
    return schedule.start + (schedule.end - schedule.start) * share
