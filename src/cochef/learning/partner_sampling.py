"""Partner sampling: which frozen partner of a pool plays in which kitchen, and how partners act.

A kitchen has the same partner for a whole episode. With stratified sampling of K partners, kitchen
e has partner e modulo K if K divides the kitchens: then the kitchens of each partner are a block,
and all stacked networks act by one batched matrix product. Otherwise the weights of each kitchen's
partner are gathered.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from enum import Enum
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, UInt8

from cochef.agents.actor_critic import TrainedAgent
from cochef.agents.agent import Agent, Carry
from cochef.agents.cloned import HumanClone
from cochef.agents.network_config import ObservationKind
from cochef.agents.networks import Network
from cochef.agents.scripted import Scripted
from cochef.errors import InputError
from cochef.kitchen.constants import SEATS, Action
from cochef.kitchen.state import State, seen_from
from cochef.kitchen.stepping import EnvState, over_kitchens
from cochef.learning import axes
from cochef.pytree import pytree

AVERAGE_DECAY = 0.95  # of the moving average of the return with a partner, per episode
PRIORITY_POWER = 3.0  # of the rank in prioritised sampling


class Sampling(Enum):
    """How a kitchen gets the partner and the seat of its next episode."""

    STRATIFIED = "stratified"
    """All partners and seats in turn, equally often."""
    UNIFORM = "uniform"
    """Drawn uniformly."""
    PRIORITISED = "prioritised"
    """Drawn; partners with a low average return come more often (Zhao et al. 2023)."""


class PartnerIdentity(Enum):
    """What the critic is told about who the partner is."""

    NONE = "none"
    NUMBER = "number"
    """(k + 1) / (K + 1) for partner k of K, counted from 1."""
    ONE_HOT = "one-hot"


class NetworkGroup(eqx.Module):
    """Partners with networks of the same shape, stacked."""

    networks: Network  # [partners, ...]

    @property
    def size(self) -> int:
        """How many partners it holds."""
        return self.networks.head.bias.shape[0]


class AgentGroup(eqx.Module):
    """One partner of any kind; it acts in all kitchens, although it is the partner in some."""

    agent: Agent

    @property
    def size(self) -> int:
        """How many partners it holds."""
        return 1


PartnerGroup = NetworkGroup | AgentGroup


class PartnerPool(eqx.Module):
    """Frozen partners, how they are sampled, and what the critic is told about them."""

    groups: tuple[PartnerGroup, ...]
    sampling: Sampling = eqx.field(static=True, default=Sampling.UNIFORM)
    identity: PartnerIdentity = eqx.field(static=True, default=PartnerIdentity.NUMBER)

    @property
    def size(self) -> int:
        """How many partners there are."""
        return sum(group.size for group in self.groups)

    @property
    def identities(self) -> Float[Array, "partners identities"]:
        """What the critic is told about each partner."""
        match self.identity:
            case PartnerIdentity.NONE:
                return jnp.zeros((self.size, 0))
            case PartnerIdentity.NUMBER:
                return (jnp.arange(self.size)[:, None] + 2) / (self.size + 1)
            case PartnerIdentity.ONE_HOT:
                return jnp.eye(self.size)


def group_agents(agents: Sequence[Agent], observation: ObservationKind) -> tuple[PartnerGroup, ...]:
    """Agents as the groups of a pool, in order; neighbours with the same shape are stacked.

    Stacked networks get the learner's observation; an agent that takes another is a group alone.
    """
    groups: list[PartnerGroup] = []
    alike: list[Network] = []
    for agent in agents:
        if _is_evaluation_partner(agent):
            raise InputError(
                f"{type(agent).__name__} in a pool for training; scripts and human models are the "
                "evaluation's partners, and an agent that was trained with them would be measured "
                "on what it has seen"
            )
        network = _network(agent, observation)
        if alike and (network is None or not _same_shapes(network, alike[0])):
            groups.append(_stacked(alike))
            alike = []
        if network is None:
            groups.append(AgentGroup(agent))
        else:
            alike.append(network)
    return (*groups, _stacked(alike)) if alike else tuple(groups)


def _network(agent: Agent, observation: ObservationKind) -> Network | None:
    """The network of an agent, if it can be stacked with others."""
    if not isinstance(agent, TrainedAgent) or agent.greedy:
        return None
    return agent.network if agent.observation is observation else None


def _is_evaluation_partner(agent: Agent) -> bool:
    """Whether an agent is, or holds (as noisy ones do), a script or a clone of people."""
    kinds = (Scripted, HumanClone)
    nodes = jax.tree.leaves(agent, is_leaf=lambda node: isinstance(node, kinds))
    return any(isinstance(node, kinds) for node in nodes)


def _same_shapes(one: Network, other: Network) -> bool:
    return jax.tree.map(jnp.shape, one) == jax.tree.map(jnp.shape, other)


def _stacked(networks: Sequence[Network]) -> NetworkGroup:
    return NetworkGroup(jax.tree.map(lambda *leaves: jnp.stack(leaves), *networks))


@pytree
class Pairing:
    """The partner in each kitchen, and the average return with every partner."""

    partner: Int[Array, "members kitchens"]
    episodes: Int[Array, "members kitchens"]  # that have ended
    from_start: Bool[Array, "members kitchens"]  # False for those that reset staggered
    episode_return: Float[Array, "members kitchens"]  # so far
    # Exponentially weighted sums over episodes, by partner and the learner's seat.
    return_sums: Float[Array, "members partners 2"]
    weights: Float[Array, "members partners 2"]

    @property
    def average(self) -> Float[Array, "members partners"]:
        """The average return of an episode with each partner; 0 before the first."""
        weights = jnp.maximum(self.weights.sum(axis=-1), 1e-8)
        return self.return_sums.sum(axis=-1) / weights


def begin(
    pool: PartnerPool, from_start: Bool[Array, " kitchens"], keys: Key[Array, " members"]
) -> tuple[Pairing, Int[Array, "members kitchens"]]:
    """The first partners and the learner's seats; `from_start` is False in staggered episodes."""
    members = keys.shape[0]
    kitchens = from_start.shape[0]
    no_returns = jnp.zeros((members, pool.size, SEATS))
    no_episodes = jnp.zeros((members, kitchens), jnp.int32)
    partner, seat = _sample(pool, no_returns, no_returns, no_episodes, keys)
    pairing = Pairing(
        partner=partner,
        episodes=no_episodes,
        from_start=jnp.broadcast_to(from_start, (members, kitchens)),
        episode_return=jnp.zeros((members, kitchens)),
        return_sums=no_returns,
        weights=no_returns,
    )
    return pairing, seat


def after_step(
    pool: PartnerPool,
    pairing: Pairing,
    seat: Int[Array, "members kitchens"],
    task_reward: Float[Array, "members kitchens"],
    done: Bool[Array, "members kitchens"],
    counted: Bool[Array, " kitchens"],
    keys: Key[Array, " members"],
) -> tuple[Pairing, Int[Array, "members kitchens"]]:
    """Partners and the learner's seats after a step: new ones where the episode has ended.

    The averages are over whole episodes in the kitchens that are `counted`.
    """
    episode_return = pairing.episode_return + task_reward
    complete = done & pairing.from_start & counted
    with_whom = pairing.partner[..., None] == jnp.arange(pool.size)
    in_seat = seat[..., None] == jnp.arange(SEATS)
    # [members, kitchens, partners, seats]: the pair of partner and seat whose episode has ended
    ended = with_whom[..., None] & in_seat[:, :, None] & complete[..., None, None]
    # With n episodes ending at once, the average decays n times and takes in their mean.
    number = ended.sum(axis=1)
    decay = AVERAGE_DECAY**number
    mean = (ended * episode_return[..., None, None]).sum(axis=1) / jnp.maximum(number, 1)
    pairing = Pairing(
        partner=pairing.partner,
        episodes=pairing.episodes + done,
        from_start=pairing.from_start | done,
        episode_return=jnp.where(done, 0.0, episode_return),
        return_sums=pairing.return_sums * decay + (1 - decay) * mean,
        weights=pairing.weights * decay + (1 - decay),
    )
    partner, next_seat = _sample(pool, pairing.return_sums, pairing.weights, pairing.episodes, keys)
    pairing = replace(pairing, partner=jnp.where(done, partner, pairing.partner))
    return pairing, jnp.where(done, next_seat, seat)


def priorities(
    return_sums: Float[Array, " pairs"], weights: Float[Array, " pairs"]
) -> Float[Array, " pairs"]:
    """Probabilities of prioritised sampling: the cubed dense rank of 1 / average return.

    As in MEP's released code, pairs of partner and seat are ranked, and those not met yet count as
    the mean of the others.
    """
    met = weights > 0
    average = jnp.where(met, return_sums / jnp.maximum(weights, 1e-8), 0.0)
    average = jnp.where(met, average, average.sum() / jnp.maximum(met.sum(), 1))
    # Equal averages share a rank: only the first of them counts as better than others.
    first = ~jnp.triu(average[:, None] == average[None], 1).any(axis=0)
    better = (average[None] > average[:, None]) & first[None]
    ranks = (1.0 + better.sum(axis=1)) ** PRIORITY_POWER
    return ranks / ranks.sum()


def _sample(
    pool: PartnerPool,
    return_sums: Float[Array, "members partners 2"],
    weights: Float[Array, "members partners 2"],
    episodes: Int[Array, "members kitchens"],
    keys: Key[Array, " members"],
) -> tuple[Int[Array, "members kitchens"], Int[Array, "members kitchens"]]:
    """Partners and the learner's seats for all kitchens, as if all began an episode now."""
    kitchens = episodes.shape[1]
    if pool.sampling is Sampling.STRATIFIED:
        number = jnp.arange(kitchens)
        # A kitchen comes back to a partner after `period` episodes, and has the other seat then.
        period = pool.size // math.gcd(pool.size, kitchens)
        partner = (number + kitchens * episodes) % pool.size
        seat = (number // pool.size + number % pool.size + episodes // period) % SEATS
        return partner, seat

    def draw(
        return_sums: Float[Array, "partners 2"],
        weights: Float[Array, "partners 2"],
        key: Key[Array, ""],
    ) -> tuple[Array, Array]:
        bits = jax.random.bits(key, (2, kitchens))
        if pool.sampling is Sampling.UNIFORM:
            seat = (bits[0] % SEATS).astype(jnp.int32)
            return (bits[1] % pool.size).astype(jnp.int32), seat
        uniform = bits[1].astype(jnp.float32) / 2.0**32
        below = uniform[:, None] >= jnp.cumsum(priorities(return_sums.ravel(), weights.ravel()))
        pair = jnp.minimum(below.sum(axis=-1), SEATS * pool.size - 1).astype(jnp.int32)
        return pair // SEATS, pair % SEATS

    return jax.vmap(draw)(return_sums, weights, keys)


def begin_carries(
    pool: PartnerPool, keys: Key[Array, " members"], kitchens: int
) -> tuple[Carry, ...]:
    """The carries of each group at the beginning of an episode, [members, kitchens, ...]."""

    def group_carry(group: PartnerGroup) -> Carry:
        if isinstance(group, NetworkGroup):
            return group.networks.initial_carry(keys.shape[0], kitchens)
        return jax.vmap(jax.vmap(group.agent.begin))(_kitchen_keys(keys, kitchens))

    return tuple(group_carry(group) for group in pool.groups)


def act(
    pool: PartnerPool,
    pairing: Pairing,
    carries: tuple[Carry, ...],
    observations: UInt8[Array, "members kitchens *observation"],
    states: EnvState,
    seat: Int[Array, "members kitchens"],
    keys: Key[Array, " members"],
) -> tuple[Float[Array, "members kitchens actions"], tuple[Carry, ...]]:
    """The partners' logits, and their next carries.

    `states` are in the order of stepping, `seat` is the partners'. Agents that are no networks
    choose actions themselves, by `keys`; their logits are -inf for all others.
    """
    kitchens = pairing.partner.shape[1]
    in_blocks = pool.sampling is Sampling.STRATIFIED and kitchens % pool.size == 0
    if len(pool.groups) == 1 and isinstance(pool.groups[0], NetworkGroup):
        group = pool.groups[0]
        if in_blocks:
            logits, carry = _act_in_blocks(group, carries[0], observations)
        else:
            logits, carry = _act_by_lookup(group, pairing.partner, carries[0], observations)
        return logits, (carry,)
    logits: Any = 0.0
    next_carries = []
    first = 0
    for group, carry in zip(pool.groups, carries, strict=True):
        here = (first <= pairing.partner) & (pairing.partner < first + group.size)
        if isinstance(group, NetworkGroup):
            number = jnp.clip(pairing.partner - first, 0, group.size - 1)
            own_logits, next_carry = _act_by_lookup(group, number, carry, observations)
        else:
            own_logits, next_carry = _act_as_agent(group.agent, carry, states, seat, keys)
        logits = jnp.where(here[..., None], own_logits, logits)
        next_carries.append(_where_kitchens(here, next_carry, carry))
        first += group.size
    return logits, tuple(next_carries)


def renew_carries(
    pool: PartnerPool,
    carries: tuple[Carry, ...],
    done: Bool[Array, "members kitchens"],
    keys: Key[Array, " members"],
) -> tuple[Carry, ...]:
    """The carries with those of ended episodes replaced by new ones."""
    fresh = begin_carries(pool, keys, done.shape[1])
    return tuple(_where_kitchens(done, new, old) for new, old in zip(fresh, carries, strict=True))


def _where_kitchens(chosen: Bool[Array, "members kitchens"], new: Carry, old: Carry) -> Carry:
    """The new carry in the chosen kitchens, the old one in the others."""
    where = jax.vmap(jax.vmap(jnp.where))
    return jax.tree.map(lambda new, old: where(chosen, new, old), new, old)


def _act_in_blocks(group: NetworkGroup, carry: Array, observations: Array) -> tuple[Array, Array]:
    """All partners act at once, each in its block of kitchens."""
    members = observations.shape[0]
    logits, carry = jax.vmap(Network.step)(
        group.networks,
        axes.by_partner(observations, group.size),
        axes.by_partner(carry, group.size),
    )
    return axes.from_partner(logits, members), axes.from_partner(carry, members)


def _act_by_lookup(
    group: NetworkGroup, number: Int[Array, "members kitchens"], carry: Array, observations: Array
) -> tuple[Array, Array]:
    """Every kitchen gathers the weights of its own partner."""
    members = observations.shape[0]
    flat_number = axes.flatten_kitchens(number)
    networks = jax.tree.map(lambda leaf: leaf[flat_number], group.networks)
    logits, carry = jax.vmap(Network.step)(
        networks, axes.flatten_kitchens(observations), axes.flatten_kitchens(carry)
    )
    return axes.split_kitchens(logits, members), axes.split_kitchens(carry, members)


def _act_as_agent(
    agent: Agent,
    carry: Carry,
    states: EnvState,
    seat: Int[Array, "members kitchens"],
    keys: Key[Array, " members"],
) -> tuple[Float[Array, "members kitchens actions"], Carry]:
    """An agent that is no network acts in every kitchen."""
    members, kitchens = seat.shape

    @over_kitchens
    def one(
        state: State, seat: Int[Array, ""], carry: Carry, key: Key[Array, ""]
    ) -> tuple[Int[Array, ""], Carry]:
        # The state is turned so that the agent is chef 0: one program does for both seats.
        return agent.act(seen_from(state, seat), 0, carry, key)

    actions, carry = one(
        states,
        axes.kitchens_to_stepping(seat),
        axes.kitchens_to_stepping(carry),
        axes.kitchens_to_stepping(_kitchen_keys(keys, kitchens)),
    )
    chosen = axes.stepping_to_kitchens(actions, members)
    logits = jnp.where(chosen[..., None] == jnp.arange(len(Action)), 0.0, -jnp.inf)
    return logits, axes.stepping_to_kitchens(carry, members)


def _kitchen_keys(keys: Key[Array, " members"], kitchens: int) -> Key[Array, "members kitchens"]:
    return jax.vmap(lambda key: jax.random.split(key, kitchens))(keys)
