"""Playing for a while, so that there is something to learn from.

Two roles play in every kitchen. Role 0 sits in the seat drawn for the episode, role 1 in the other. In self-play one
learner plays both roles; in a game of two learners each plays its own; with a pool a learner has role 0 and a frozen
policy role 1, of which nothing is kept. In every case the rows of a learner lie next to each other:
[members, roles, kitchens] is [members, learners, rows] in another shape.

While kitchens are stepped they are the last axis, those of all members together, as in `rollout`.
"""

from dataclasses import replace
from enum import Enum
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, Shaped, UInt8

from cochef.agents.networks import Network
from cochef.kitchen.constants import SEATS
from cochef.learning.config import TrainingConfig
from cochef.learning.environments import EnvState, Game
from cochef.learning.partner_sampling import Match, Pool
from cochef.learning.ppo import chosen_log_probs
from cochef.pytree import pytree
from cochef.rollout import over_kitchens


class Seating(Enum):
    """Who plays: the value is the number of learners in a member, and of roles they play."""

    ALONE = (1, 2)
    """One learner in both roles: self-play."""
    PAIR = (2, 2)
    """Two learners."""
    POOL = (1, 1)
    """A learner with frozen partners."""

    @property
    def learners(self) -> int:
        """Learners in a member."""
        return self.value[0]

    @property
    def roles(self) -> int:
        """Roles that are learned."""
        return self.value[1]


@pytree
class Table:
    """Where the kitchens of all members stand between two steps."""

    states: EnvState  # members first, kitchens last
    clock: Int[Array, "members kitchens"]
    seat: Int[Array, "members kitchens"]  # of role 0
    actor_memory: Float[Array, "members roles kitchens memory"]
    match: Match | None  # with a pool


@pytree
class Wants:
    """What each role wants: weights of its own events and of what both earn."""

    events: Float[Array, "members roles events"]
    order: Float[Array, "members roles"]


@pytree
class Rollout:
    """What was played, time first; the views have one step more, what is seen after the last."""

    views: UInt8[Array, "time_and_last members roles kitchens *view"]
    begins: Bool[Array, "time_and_last members kitchens"]
    actions: Int[Array, "time members roles kitchens"]
    log_probs: Float[Array, "time members roles kitchens"]
    rewards: Float[Array, "time members roles kitchens"]
    task: Float[Array, "time members kitchens"]
    actor_memory: Float[Array, "time members roles kitchens memory"]  # before each step
    events: Float[Array, "members roles events"]  # mean number in an episode
    partners: Int[Array, "time_and_last members kitchens"] | None = None  # with a pool


def reset_kitchens(
    game: Game,
    config: TrainingConfig,
    actors: Network,
    keys: Key[Array, " members"],
    seating: Seating,
    pool: Pool | None = None,
) -> Table:
    """All kitchens before the first step. Episodes longer than a turn are staggered, so each turn has a bit of all."""
    members, kitchens = keys.shape[0], config.kitchens
    staggered = game.horizon > config.steps
    elapsed = jax.random.permutation(jax.random.key(0), kitchens) * game.horizon // kitchens * staggered
    begin = over_kitchens(game.begin)
    scattered = jnp.arange(kitchens) < config.scattered_kitchens
    states = jax.vmap(lambda key: begin(jax.random.split(key, kitchens), elapsed, scattered))(keys)
    key_seat = jax.vmap(lambda key: jax.random.fold_in(key, 1))(keys)
    match, seat = None, _draw_seats(key_seat, kitchens, seating)
    if pool is not None:
        match, seat = partner_sampling.begin(pool, elapsed == 0, key_seat)
    memory = actors.begin(members, seating.roles, kitchens)
    return Table(states, jnp.broadcast_to(elapsed, (members, kitchens)), seat, memory, match)


def play(
    game: Game,
    config: TrainingConfig,
    actors: Network,
    wants: Wants,
    table: Table,
    keys: Key[Array, " members"],
    seating: Seating,
    pool: Pool | None = None,
) -> tuple[Table, Rollout]:
    """Let the actors ([members, learners]) play a turn at their tables."""
    members = table.clock.shape[0]
    step = over_kitchens(game.step)
    counted = jnp.arange(config.kitchens) >= config.scattered_kitchens

    def roles(found: Shaped[Array, "2 *rest games"], table: Table) -> Shaped[Array, "members 2 kitchens *rest"]:
        by_seat = _by_member(found, members)
        return by_seat if seating is Seating.ALONE else _swap(by_seat, table.seat)

    def tick(carry: tuple[Table, Bool[Array, "members kitchens"]], number: Int[Array, ""]) -> tuple[Any, Any]:
        table, begins = carry
        key_act, key_begin, key_seat = _keys(keys, number)
        views = roles(game.look(_together(table.states)), table)
        logits, memory, partner_memory = _act(actors, pool, views, table)
        log_policy = jax.nn.log_softmax(logits)
        actions = _draw(log_policy, key_act)
        by_seat = actions if seating is Seating.ALONE else _swap(actions, table.seat)
        after, events, reward = step(_together(table.states), jnp.moveaxis(by_seat, 1, 0).reshape(SEATS, -1))
        events, reward = roles(events, table)[:, : seating.roles], roles(reward, table)
        earned = (events * wants.events[:, :, None]).sum(axis=-1)
        task = reward.sum(axis=1)
        log_probs = chosen_log_probs(log_policy, actions)[:, : seating.roles]
        rewards = earned + wants.order[..., None] * task[:, None]
        kept = (views[:, : seating.roles], begins, actions[:, : seating.roles], log_probs, rewards, task)
        partner = None if table.match is None else table.match.partner
        kept = (*kept, table.actor_memory, partner, (events * counted[:, None]).sum(axis=2))
        ended = table.clock + 1 == game.horizon
        match, seat = _seats_after(table, seating, pool, partner_memory, task, ended, counted, key_seat)
        table = Table(
            states=_renew(game, config, _apart(after, members), ended, key_begin),
            clock=jnp.where(ended, 0, table.clock + 1),
            seat=seat,
            actor_memory=jnp.where(ended[:, None, :, None], 0.0, memory),
            match=match,
        )
        return (table, ended), kept

    first = table.clock == 0
    (table, begins), kept = jax.lax.scan(tick, (table, first), jnp.arange(config.steps))
    last = roles(game.look(_together(table.states)), table)[:, : seating.roles]
    views, begun, actions, log_probs, rewards, task, memory, partners, events = kept
    episodes = (config.kitchens - config.scattered_kitchens) * config.steps / game.horizon
    played = Rollout(
        views=jnp.concatenate([views, last[None]]),
        begins=jnp.concatenate([begun, begins[None]]),
        actions=actions,
        log_probs=log_probs,
        rewards=rewards,
        task=task,
        actor_memory=memory,
        events=events.sum(axis=0) / episodes,
        partners=None if table.match is None else jnp.concatenate([partners, table.match.partner[None]]),
    )
    return table, played


def _keys(keys: Key[Array, " members"], number: Int[Array, ""]) -> tuple[Key[Array, " members"], ...]:
    split = jax.vmap(lambda key: jax.random.split(jax.random.fold_in(key, number), 3))(keys)
    return split[:, 0], split[:, 1], split[:, 2]


def _draw_seats(keys: Key[Array, " members"], kitchens: int, seating: Seating) -> Int[Array, "members kitchens"]:
    """Where role 0 sits; if both roles are the same learner's, it does not matter."""
    if seating is Seating.ALONE:
        return jnp.zeros((keys.shape[0], kitchens), jnp.int32)
    return jax.vmap(lambda key: (jax.random.bits(key, (kitchens,)) % SEATS).astype(jnp.int32))(keys)


def _seats_after(
    table: Table,
    seating: Seating,
    pool: Pool | None,
    partner_memory: Any,  # noqa: ANN401
    task: Float[Array, "members kitchens"],
    ended: Bool[Array, "members kitchens"],
    counted: Bool[Array, " kitchens"],
    keys: Key[Array, " members"],
) -> tuple[Match | None, Int[Array, "members kitchens"]]:
    """Who plays with whom after a step, and where role 0 sits then."""
    if pool is None or table.match is None:
        return None, jnp.where(ended, _draw_seats(keys, ended.shape[1], seating), table.seat)
    match = replace(table.match, memory=partner_memory)
    return partner_sampling.after(pool, match, table.seat, task, ended, counted, keys)


def _act(
    actors: Network, pool: Pool | None, views: UInt8[Array, "members 2 kitchens *view"], table: Table
) -> tuple[Float[Array, "members 2 kitchens actions"], Float[Array, "members roles kitchens memory"], Any]:
    """What everybody makes of what it sees, what the learners remember then, and what their partners do."""
    members, _, kitchens = views.shape[:3]
    memory = table.actor_memory
    learners, roles = actors.head.bias.shape[1], memory.shape[1]
    rows = lambda leaf: leaf.reshape(members, learners, roles // learners * kitchens, *leaf.shape[3:])  # noqa: E731
    logits, after = jax.vmap(jax.vmap(Network.step))(actors, rows(views[:, :roles]), rows(memory))
    logits, after = logits.reshape(members, roles, kitchens, -1), after.reshape(memory.shape)
    if pool is None or table.match is None:
        return logits, after, None
    others, partner_memory = partner_sampling.act(pool, table.match, views[:, 1])
    return jnp.concatenate([logits, others[:, None]], axis=1), after, partner_memory


def _draw(
    log_policy: Float[Array, "members 2 kitchens actions"], keys: Key[Array, " members"]
) -> Int[Array, "members 2 kitchens"]:
    """Actions by their probabilities: where a uniform number falls among the summed ones."""
    _, roles, kitchens, actions = log_policy.shape
    chance = jax.vmap(lambda key: jax.random.uniform(key, (roles, kitchens)))(keys)
    below = chance[..., None] >= jnp.cumsum(jnp.exp(log_policy), axis=-1)
    return jnp.minimum(below.sum(axis=-1), actions - 1).astype(jnp.int32)


def _renew(
    game: Game,
    config: TrainingConfig,
    states: EnvState,
    ended: Bool[Array, "members kitchens"],
    keys: Key[Array, " members"],
) -> EnvState:
    """States with those of ended episodes replaced by new beginnings."""
    kitchens = config.kitchens
    scattered = jnp.arange(kitchens) < config.scattered_kitchens
    begin = over_kitchens(game.begin)
    nothing = jnp.zeros(kitchens, jnp.int32)
    fresh = jax.vmap(lambda key: begin(jax.random.split(key, kitchens), nothing, scattered))(keys)
    return jax.tree.map(lambda new, old: jax.vmap(jnp.where)(ended, new, old), fresh, states)


def _together(states: EnvState) -> EnvState:
    """From members first and kitchens last to all kitchens of all members last."""
    join = lambda leaf: jnp.moveaxis(leaf, 0, -2).reshape(*leaf.shape[1:-1], -1)  # noqa: E731
    return jax.tree.map(join, states)


def _apart(states: EnvState, members: int) -> EnvState:
    """The way back."""
    split = lambda leaf: jnp.moveaxis(leaf.reshape(*leaf.shape[:-1], members, -1), -2, 0)  # noqa: E731
    return jax.tree.map(split, states)


def _by_member(leaf: Shaped[Array, "2 *rest games"], members: int) -> Shaped[Array, "members 2 kitchens *rest"]:
    """From seats first and all kitchens last to members, seats, kitchens, and the rest."""
    leaf = leaf.reshape(*leaf.shape[:-1], members, -1)
    return jnp.moveaxis(leaf, (-2, 0, -1), (0, 1, 2))


def _swap(
    leaf: Shaped[Array, "members 2 kitchens *rest"], seat: Int[Array, "members kitchens"]
) -> Shaped[Array, "members 2 kitchens *rest"]:
    """From seats to roles, or back."""
    swapped = seat.reshape(seat.shape[0], 1, seat.shape[1], *(1,) * (leaf.ndim - 3)) == 1
    return jnp.where(swapped, leaf[:, ::-1], leaf)
