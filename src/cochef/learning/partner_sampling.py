"""Second stages: a learner plays with the frozen policies of a pool, and this says who plays with whom.

Every kitchen has a partner for an episode. Stratified, kitchen e has partner e modulo K, if K divides the kitchens:
then the kitchens of a partner are a block, and all blocks act by one batched matrix product. Otherwise the weights of
each kitchen's partner are looked up.
"""

import math
from enum import Enum

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, UInt8

from cochef.agents.networks import Network
from cochef.kitchen.constants import SEATS
from cochef.pytree import pytree

MEMORY = 0.95  # of the average return with a partner, an episode
SHARPNESS = 3.0  # the power of the rank in prioritised sampling


class Sampling(Enum):
    """How a kitchen gets the partner and the seat of its next episode."""

    STRATIFIED = "stratified"
    """All in turn."""
    UNIFORM = "uniform"
    """Drawn; all alike."""
    PRIORITISED = "prioritised"
    """Drawn; those with whom the average return is low come more often (Zhao et al. 2023)."""


class Identity(Enum):
    """What the critic is told about who the partner is."""

    NONE = "none"
    NUMBER = "number"
    """(k + 1) / (K + 1) for partner k of K, counted from 1."""
    ONE_HOT = "one-hot"


class Pool(eqx.Module):
    """Frozen partners, how they are given to kitchens, and what the critic is told."""

    networks: Network  # [partners, ...]
    sampling: Sampling = eqx.field(static=True, default=Sampling.UNIFORM)
    identity: Identity = eqx.field(static=True, default=Identity.NUMBER)

    @property
    def size(self) -> int:
        """How many partners there are."""
        return self.networks.head.bias.shape[0]

    @property
    def identities(self) -> Float[Array, "partners identities"]:
        """What the critic is told about each."""
        match self.identity:
            case Identity.NONE:
                return jnp.zeros((self.size, 0))
            case Identity.NUMBER:
                return (jnp.arange(self.size)[:, None] + 2) / (self.size + 1)
            case Identity.ONE_HOT:
                return jnp.eye(self.size)


@pytree
class Match:
    """Who plays in each kitchen, and how it has gone with everybody."""

    partner: Int[Array, "members kitchens"]
    memory: Float[Array, "members kitchens memory"]  # of the partners
    episodes: Int[Array, "members kitchens"]  # that have ended
    whole: Bool[Array, "members kitchens"]  # whether the episode began at its beginning
    earned: Float[Array, "members kitchens"]  # in the episode so far
    returns: Float[Array, "members partners"]  # sum over episodes, those long ago weigh less
    weights: Float[Array, "members partners"]  # sum of these weights

    @property
    def average(self) -> Float[Array, "members partners"]:
        """The average return of an episode with each partner; 0 before the first."""
        return self.returns / jnp.maximum(self.weights, 1e-8)


def begin(
    pool: Pool, whole: Bool[Array, " kitchens"], keys: Key[Array, " members"]
) -> tuple[Match, Int[Array, "members kitchens"]]:
    """The first partners and the learner's seats, in episodes that begin at their beginning or later."""
    members, kitchens = keys.shape[0], whole.shape[0]
    nothing, nowhere = jnp.zeros((members, pool.size)), jnp.zeros((members, kitchens))
    ended = nowhere.astype(jnp.int32)
    partner, seat = _next(pool, nothing, ended, keys)
    memory = pool.networks.begin(members, kitchens)
    return Match(partner, memory, ended, jnp.broadcast_to(whole, ended.shape), nowhere, nothing, nothing), seat


def act(
    pool: Pool, match: Match, views: UInt8[Array, "members kitchens *view"]
) -> tuple[Float[Array, "members kitchens actions"], Float[Array, "members kitchens memory"]]:
    """What the partners make of what they see, and what they remember then."""
    members, kitchens = match.partner.shape
    if pool.sampling is Sampling.STRATIFIED and kitchens % pool.size == 0:
        rounds = kitchens // pool.size
        blocks = lambda leaf: jnp.moveaxis(leaf.reshape(members * rounds, pool.size, *leaf.shape[2:]), 1, 0)  # noqa: E731
        logits, memory = jax.vmap(Network.step)(pool.networks, blocks(views), blocks(match.memory))
        back = lambda leaf: jnp.moveaxis(leaf, 0, 1).reshape(members, kitchens, *leaf.shape[2:])  # noqa: E731
        return back(logits), back(memory)
    flat = lambda leaf: leaf.reshape(members * kitchens, *leaf.shape[2:])  # noqa: E731
    networks = jax.tree.map(lambda leaf: leaf[flat(match.partner)], pool.networks)
    logits, memory = jax.vmap(Network.step)(networks, flat(views), flat(match.memory))
    return logits.reshape(members, kitchens, -1), memory.reshape(match.memory.shape)


def after(
    pool: Pool,
    match: Match,
    seat: Int[Array, "members kitchens"],
    task: Float[Array, "members kitchens"],
    ended: Bool[Array, "members kitchens"],
    counted: Bool[Array, " kitchens"],
    keys: Key[Array, " members"],
) -> tuple[Match, Int[Array, "members kitchens"]]:
    """Partners and seats after a step that earned `task`: new ones where the episode has ended.

    The averages are over whole episodes in the kitchens that are counted.
    """
    earned = match.earned + task
    who = (match.partner[..., None] == jnp.arange(pool.size)) & (ended & match.whole & counted)[..., None]
    number = who.sum(axis=1)
    fading = MEMORY**number
    weights = match.weights * fading + (1 - fading)
    mean = (who * earned[..., None]).sum(axis=1) / jnp.maximum(number, 1)
    returns = match.returns * fading + (1 - fading) * mean
    episodes = match.episodes + ended
    partner, other = _next(pool, returns / jnp.maximum(weights, 1e-8), episodes, keys)
    fresh = Match(
        partner=jnp.where(ended, partner, match.partner),
        memory=jnp.where(ended[..., None], 0.0, match.memory),
        episodes=episodes,
        whole=match.whole | ended,
        earned=jnp.where(ended, 0.0, earned),
        returns=returns,
        weights=weights,
    )
    return fresh, jnp.where(ended, other, seat)


def chances(average: Float[Array, " partners"]) -> Float[Array, " partners"]:
    """Prioritised sampling: in proportion to the cubed dense rank of 1 / average return."""
    first = ~jnp.triu(average[:, None] == average[None], 1).any(axis=0)
    better = (average[None] > average[:, None]) & first[None]
    ranks = (1.0 + better.sum(axis=1)) ** SHARPNESS
    return ranks / ranks.sum()


def _next(
    pool: Pool,
    average: Float[Array, "members partners"],
    episodes: Int[Array, "members kitchens"],
    keys: Key[Array, " members"],
) -> tuple[Int[Array, "members kitchens"], Int[Array, "members kitchens"]]:
    """Partners and seats of the episodes that would begin now, in turn or by chance.

    In turn, a kitchen comes back to a partner after `period` episodes, and has the other seat then.
    """
    kitchens = episodes.shape[1]
    if pool.sampling is Sampling.STRATIFIED:
        number, period = jnp.arange(kitchens), pool.size // math.gcd(pool.size, kitchens)
        partner = (number + kitchens * episodes) % pool.size
        return partner, (number // pool.size + number % pool.size + episodes // period) % SEATS

    def one(average: Float[Array, " partners"], key: Key[Array, ""]) -> tuple[Array, Array]:
        bits = jax.random.bits(key, (2, kitchens))
        seat = (bits[0] % SEATS).astype(jnp.int32)
        if pool.sampling is Sampling.UNIFORM:
            return (bits[1] % pool.size).astype(jnp.int32), seat
        share = bits[1].astype(jnp.float32) / 2.0**32
        below = share[:, None] >= jnp.cumsum(chances(average))
        return jnp.minimum(below.sum(axis=-1), pool.size - 1).astype(jnp.int32), seat

    return jax.vmap(one)(average, keys)
