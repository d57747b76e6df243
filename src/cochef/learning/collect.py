"""Playing for a while, so that there is something to learn from.

Two roles play in every kitchen. Role 0 sits in the seat drawn for the episode, role 1 in the other. In tied self-play
one learner plays both roles; in a game of two learners each plays its own. Either way the rows of a learner lie next
to each other: [members, roles, kitchens] is [members, learners, rows] in another shape.

While kitchens are stepped they are the last axis, those of all members together, as in `rollout`.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, Shaped, UInt8

from cochef.agents.networks import Network
from cochef.kitchen.constants import SEATS
from cochef.learning.config import TrainingConfig
from cochef.learning.games import Game, GameState
from cochef.learning.ppo import chosen_log_probs
from cochef.pytree import pytree
from cochef.rollout import over_kitchens


@pytree
class Table:
    """Where the kitchens of all members stand between two steps."""

    states: GameState  # members first, kitchens last
    clock: Int[Array, "members kitchens"]
    seat: Int[Array, "members kitchens"]  # of role 0
    actor_memory: Float[Array, "members 2 kitchens memory"]


@pytree
class Wants:
    """What each role wants: weights of its own events and of what both earn."""

    events: Float[Array, "members 2 events"]
    order: Float[Array, "members 2"]


@pytree
class Played:
    """What was played, time first; the views have one step more, what is seen after the last."""

    views: UInt8[Array, "time_and_last members 2 kitchens *view"]
    begins: Bool[Array, "time_and_last members kitchens"]
    actions: Int[Array, "time members 2 kitchens"]
    log_probs: Float[Array, "time members 2 kitchens"]
    rewards: Float[Array, "time members 2 kitchens"]
    task: Float[Array, "time members kitchens"]
    actor_memory: Float[Array, "time members 2 kitchens memory"]  # before each step
    events: Float[Array, "members 2 events"]  # mean number in an episode

    @property
    def ends(self) -> Bool[Array, "time members kitchens"]:
        """Whether a step was the last of an episode."""
        return self.begins[1:]


def set_table(game: Game, config: TrainingConfig, actors: Network, keys: Key[Array, " members"], tied: bool) -> Table:
    """All kitchens before the first step. Episodes longer than a turn are staggered, so each turn has a bit of all."""
    members, kitchens = keys.shape[0], config.kitchens
    staggered = game.horizon > config.steps
    elapsed = jax.random.permutation(jax.random.key(0), kitchens) * game.horizon // kitchens * staggered
    begin = over_kitchens(game.begin)
    scattered = jnp.arange(kitchens) < config.scattered_kitchens
    states = jax.vmap(lambda key: begin(jax.random.split(key, kitchens), elapsed, scattered))(keys)
    seat = jax.vmap(lambda key: _draw_seats(jax.random.fold_in(key, 1), kitchens, tied))(keys)
    memory = actors.begin(members, SEATS, kitchens)
    return Table(states, jnp.broadcast_to(elapsed, (members, kitchens)), seat, memory)


def play(
    game: Game,
    config: TrainingConfig,
    actors: Network,
    wants: Wants,
    table: Table,
    keys: Key[Array, " members"],
    tied: bool,
) -> tuple[Table, Played]:
    """Let the actors ([members, learners]) play a turn at their tables."""
    members, kitchens = table.clock.shape
    step = over_kitchens(game.step)

    def roles(found: Shaped[Array, "2 *rest games"], table: Table) -> Shaped[Array, "members 2 kitchens *rest"]:
        by_seat = _by_member(found, members)
        return by_seat if tied else _swap(by_seat, table.seat)

    def tick(carry: tuple[Table, Bool[Array, "members kitchens"]], number: Int[Array, ""]) -> tuple[Any, Any]:
        table, begins = carry
        key_act, key_begin, key_seat = _keys(keys, number)
        views = roles(game.look(_together(table.states)), table)
        logits, memory = _act(actors, views, table.actor_memory)
        log_policy = jax.nn.log_softmax(logits)
        actions = _draw(log_policy, key_act)
        by_seat = actions if tied else _swap(actions, table.seat)
        after, events, reward = step(_together(table.states), jnp.moveaxis(by_seat, 1, 0).reshape(SEATS, -1))
        events, reward = roles(events, table), roles(reward, table)
        earned = (events * wants.events[:, :, None]).sum(axis=-1)
        task = reward.sum(axis=1)
        log_probs = chosen_log_probs(log_policy, actions)
        kept = (views, begins, actions, log_probs, earned + wants.order[..., None] * task[:, None], task)
        ended = table.clock + 1 == game.horizon
        table = Table(
            states=_renew(game, config, _apart(after, members), ended, key_begin),
            clock=jnp.where(ended, 0, table.clock + 1),
            seat=jnp.where(ended, jax.vmap(lambda key: _draw_seats(key, kitchens, tied))(key_seat), table.seat),
            actor_memory=jnp.where(ended[:, None, :, None], 0.0, memory),
        )
        return (table, ended), (*kept, carry[0].actor_memory, events[:, :, config.scattered_kitchens :].sum(axis=2))

    first = table.clock == 0
    (table, begins), kept = jax.lax.scan(tick, (table, first), jnp.arange(config.steps))
    last = roles(game.look(_together(table.states)), table)
    views, begun, actions, log_probs, rewards, task, memory, events = kept
    episodes = (config.kitchens - config.scattered_kitchens) * config.steps / game.horizon
    played = Played(
        views=jnp.concatenate([views, last[None]]),
        begins=jnp.concatenate([begun, begins[None]]),
        actions=actions,
        log_probs=log_probs,
        rewards=rewards,
        task=task,
        actor_memory=memory,
        events=events.sum(axis=0) / episodes,
    )
    return table, played


def _keys(keys: Key[Array, " members"], number: Int[Array, ""]) -> tuple[Key[Array, " members"], ...]:
    split = jax.vmap(lambda key: jax.random.split(jax.random.fold_in(key, number), 3))(keys)
    return split[:, 0], split[:, 1], split[:, 2]


def _draw_seats(key: Key[Array, ""], kitchens: int, tied: bool) -> Int[Array, " kitchens"]:
    """Where role 0 sits; if both roles are the same learner's, it does not matter."""
    if tied:
        return jnp.zeros(kitchens, jnp.int32)
    return (jax.random.bits(key, (kitchens,)) % SEATS).astype(jnp.int32)


def _act(
    actors: Network, views: UInt8[Array, "members 2 kitchens *view"], memory: Float[Array, "members 2 kitchens memory"]
) -> tuple[Float[Array, "members 2 kitchens actions"], Float[Array, "members 2 kitchens memory"]]:
    """What each learner makes of its rows."""
    shape = views.shape[:3]
    learners = actors.head.bias.shape[1]
    rows = lambda leaf: leaf.reshape(shape[0], learners, -1, *leaf.shape[3:])  # noqa: E731
    logits, memory = jax.vmap(jax.vmap(Network.step))(
        actors, rows(views), memory.reshape(shape[0], learners, SEATS // learners * shape[2], memory.shape[-1])
    )
    return logits.reshape(*shape, -1), memory.reshape(*shape, memory.shape[-1])


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
    states: GameState,
    ended: Bool[Array, "members kitchens"],
    keys: Key[Array, " members"],
) -> GameState:
    """States with those of ended episodes replaced by new beginnings."""
    kitchens = config.kitchens
    scattered = jnp.arange(kitchens) < config.scattered_kitchens
    begin = over_kitchens(game.begin)
    nothing = jnp.zeros(kitchens, jnp.int32)
    fresh = jax.vmap(lambda key: begin(jax.random.split(key, kitchens), nothing, scattered))(keys)
    return jax.tree.map(lambda new, old: jax.vmap(jnp.where)(ended, new, old), fresh, states)


def _together(states: GameState) -> GameState:
    """From members first and kitchens last to all kitchens of all members last."""
    join = lambda leaf: jnp.moveaxis(leaf, 0, -2).reshape(*leaf.shape[1:-1], -1)  # noqa: E731
    return jax.tree.map(join, states)


def _apart(states: GameState, members: int) -> GameState:
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
