"""Rollouts: all members act in all their kitchens for some steps, between two updates.

Two roles play in every kitchen (see `roles`). Role 0 has the seat drawn for the episode, role 1 the
other; only the transitions of trained roles are kept. The order of axes is explained in `axes`.
"""

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, Shaped, UInt8

from cochef.agents.networks import Network
from cochef.kitchen.constants import SEATS
from cochef.kitchen.stepping import EnvState, KitchenLoop, Transition, over_kitchens
from cochef.learning import axes, partner_sampling
from cochef.learning.config import TrainingConfig
from cochef.learning.environments import Environment
from cochef.learning.partner_sampling import Pairing, PartnerPool
from cochef.learning.ppo import chosen_log_probs
from cochef.learning.roles import CopyRole, Roles
from cochef.pytree import pytree


@pytree
class Players:
    """What the players of all kitchens carry from one step to the next."""

    clock: Int[Array, "members kitchens"]  # steps since the episode began
    seat: Int[Array, "members kitchens"]  # of role 0
    actor_carry: Float[Array, "members roles kitchens carry"]  # of trained roles
    partner_carry: Any  # [members, kitchens, ...] of a role that is not trained
    pairing: Pairing | None  # if there is a pool


@dataclass(frozen=True)
class RolloutInputs:
    """Who acts in a rollout, for which rewards, and the keys of its random numbers."""

    actors: Network  # [members, learners]
    copies: Network | None  # [members], of learner 0, if a copy plays the second role
    event_weights: Float[Array, "members roles events"]
    task_weights: Float[Array, "members roles"]
    keys: Key[Array, " members"]


@pytree
class Kitchens:
    """The kitchens of all members between two rollouts."""

    states: EnvState  # members first, kitchens last
    players: Players


@pytree
class Rollout:
    """Some steps of all kitchens, time first.

    Observations, episode starts and partners have one step more: the critic bootstraps from it.
    """

    observations: UInt8[Array, "time_and_last members roles kitchens *observation"]
    episode_start: Bool[Array, "time_and_last members kitchens"]
    actions: Int[Array, "time members roles kitchens"]
    log_probs: Float[Array, "time members roles kitchens"]
    rewards: Float[Array, "time members roles kitchens"]
    task_rewards: Float[Array, "time members kitchens"]
    actor_carry: Float[Array, "time members roles kitchens carry"]  # before each step
    events: Float[Array, "members roles events"]  # mean counts of an episode
    partners: Int[Array, "time_and_last members kitchens"] | None = None  # if there is a pool


@pytree
class _Decision:
    """What the trained roles observed, did and carried in a step, and who sat where."""

    observations: UInt8[Array, "members roles kitchens *observation"]
    episode_start: Bool[Array, "members kitchens"]
    actions: Int[Array, "members roles kitchens"]
    log_probs: Float[Array, "members roles kitchens"]
    actor_carry: Float[Array, "members roles kitchens carry"]
    seat: Int[Array, "members kitchens"]
    partner: Int[Array, "members kitchens"] | None


@pytree
class _StepRecord:
    """What a rollout keeps of a step."""

    decision: _Decision
    rewards: Float[Array, "members roles kitchens"]
    task_reward: Float[Array, "members kitchens"]
    events: Int[Array, "members roles events"]  # counts over all kitchens that are reported


@dataclass(frozen=True)
class Collector:
    """Collects rollouts; holds what stays the same throughout training."""

    environment: Environment
    config: TrainingConfig
    roles: Roles
    pool: PartnerPool | None = None

    def reset(self, actors: Network, keys: Key[Array, " members"]) -> Kitchens:
        """All kitchens before the first step.

        Episodes longer than a rollout are staggered, so that each rollout has all parts of them.
        """
        members = keys.shape[0]
        kitchens = self.config.kitchens
        horizon = self.environment.horizon
        staggered = horizon > self.config.rollout_steps
        # Shuffled, because a kitchen's number also decides on random starts and partners.
        order = jax.random.permutation(jax.random.key(0), kitchens)
        elapsed = order * horizon // kitchens * staggered
        states = self._new_states(keys, elapsed)
        keys_seat = _fold_in(keys, 1)
        pairing = None
        seat = self._draw_seats(keys_seat)
        partner_carry: Any = ()
        if self.pool is not None:
            pairing, seat = partner_sampling.begin(self.pool, elapsed == 0, keys_seat)
            partner_carry = partner_sampling.begin_carries(self.pool, _fold_in(keys, 2), kitchens)
        elif isinstance(self.roles.second, CopyRole):
            partner_carry = actors.initial_carry(members, kitchens)
        players = Players(
            clock=jnp.broadcast_to(elapsed, (members, kitchens)),
            seat=seat,
            actor_carry=actors.initial_carry(members, self.roles.trained, kitchens),
            partner_carry=partner_carry,
            pairing=pairing,
        )
        return Kitchens(states, players)

    def collect(self, inputs: RolloutInputs, kitchens: Kitchens) -> tuple[Kitchens, Rollout]:
        """Step all kitchens."""
        begin = (axes.to_stepping(kitchens.states), kitchens.players, ())
        (states, players, _), records = self.loop(inputs).scan(begin, self.config.rollout_steps)
        return self.finish(states, players, records)

    def loop(self, inputs: RolloutInputs) -> KitchenLoop:
        """How the kitchens are stepped; what is kept of a step goes to `finish`."""
        # Kitchens with random starts are trained on, but not reported.
        counted = jnp.arange(self.config.kitchens) >= self.config.random_start_kitchens

        def choose(
            states: EnvState, players: Players, number: Int[Array, ""]
        ) -> tuple[Int[Array, "2 all_kitchens"], Players, _Decision]:
            keys_act = _step_keys(inputs.keys, number).act
            return self._choose(inputs, states, players, keys_act)

        def fold(
            _: tuple[()], transition: Transition, decision: _Decision
        ) -> tuple[tuple[()], Any]:
            events = self._trained(self._by_role(transition.outcome.events, decision.seat))
            task_reward = self._by_role(transition.outcome.reward, decision.seat).sum(axis=1)
            event_reward = (events * inputs.event_weights[:, :, None]).sum(axis=-1)
            rewards = event_reward + inputs.task_weights[..., None] * task_reward[:, None]
            counts = (events * counted[:, None]).sum(axis=2)
            return (), _StepRecord(decision, rewards, task_reward, counts)

        def reset(
            transition: Transition, players: Players, number: Int[Array, ""]
        ) -> tuple[EnvState, Players]:
            return self._reset_ended(transition, players, counted, _step_keys(inputs.keys, number))

        return KitchenLoop(self.environment.step, choose, fold, reset)

    def finish(
        self, states: EnvState, players: Players, records: "_StepRecord"
    ) -> tuple[Kitchens, Rollout]:
        """The kitchens after the last step, and the rollout; `records` are of all steps."""
        rollout = self._rollout(records, states, players)
        return Kitchens(axes.from_stepping(states, players.clock.shape[0]), players), rollout

    def _choose(
        self,
        inputs: RolloutInputs,
        states: EnvState,
        players: Players,
        keys: Key[Array, " members"],
    ) -> tuple[Int[Array, "2 all_kitchens"], Players, _Decision]:
        """Sample the actions of both roles in every kitchen."""
        observations = self._observe(states, players.seat)
        trained_observations = self._trained(observations)
        logits, actor_carry = _act(inputs.actors, trained_observations, players.actor_carry)
        partner_carry = players.partner_carry
        if self.roles.trained < SEATS:
            partner_logits, partner_carry = self._partner_act(
                inputs.copies, observations[:, 1], states, players, keys
            )
            logits = jnp.concatenate([logits, partner_logits[:, None]], axis=1)
        log_policy = jax.nn.log_softmax(logits)
        actions = _sample_actions(log_policy, keys)
        decision = _Decision(
            observations=trained_observations,
            episode_start=players.clock == 0,
            actions=self._trained(actions),
            log_probs=self._trained(chosen_log_probs(log_policy, actions)),
            actor_carry=players.actor_carry,
            seat=players.seat,
            partner=None if players.pairing is None else players.pairing.partner,
        )
        players = replace(players, actor_carry=actor_carry, partner_carry=partner_carry)
        return axes.joint_actions(self._exchange(actions, players.seat)), players, decision

    def _partner_act(
        self,
        copies: Network | None,
        observations: UInt8[Array, "members kitchens *observation"],
        states: EnvState,
        players: Players,
        keys: Key[Array, " members"],
    ) -> tuple[Float[Array, "members kitchens actions"], Any]:
        """The logits of the role that is not trained, and its next carry."""
        role = self.roles.second
        if isinstance(role, CopyRole):
            assert copies is not None
            logits, carry = jax.vmap(Network.step)(copies, observations, players.partner_carry)
            return _with_random_actions(logits, role.random_actions), carry
        assert self.pool is not None
        assert players.pairing is not None
        return partner_sampling.act(
            self.pool,
            players.pairing,
            players.partner_carry,
            observations,
            states,
            1 - players.seat,
            _fold_in(keys, 1),
        )

    def _reset_ended(
        self,
        transition: Transition,
        players: Players,
        counted: Bool[Array, " kitchens"],
        keys: "_StepKeys",
    ) -> tuple[EnvState, Players]:
        """Begin new episodes, with new seats and partners, where old ones have ended."""
        done = players.clock + 1 == self.environment.horizon
        members, kitchens = done.shape
        # Drawn for all kitchens and used in few: a program cannot branch kitchen by kitchen.
        fresh = self._new_states(keys.reset, jnp.zeros(kitchens, jnp.int32))
        old = axes.from_stepping(transition.next_state, members)
        states = jax.tree.map(lambda new, old: jax.vmap(jnp.where)(done, new, old), fresh, old)
        pairing = players.pairing
        partner_carry = players.partner_carry
        if self.pool is not None and pairing is not None:
            task_reward = self._by_role(transition.outcome.reward, players.seat).sum(axis=1)
            pairing, seat = partner_sampling.after_step(
                self.pool, pairing, players.seat, task_reward, done, counted, keys.seat
            )
            partner_carry = partner_sampling.renew_carries(
                self.pool, partner_carry, done, _fold_in(keys.reset, 1)
            )
        else:
            seat = jnp.where(done, self._draw_seats(keys.seat), players.seat)
            partner_carry = jax.tree.map(
                lambda leaf: jnp.where(done[..., None], 0.0, leaf), partner_carry
            )
        players = Players(
            clock=jnp.where(done, 0, players.clock + 1),
            seat=seat,
            actor_carry=jnp.where(done[:, None, :, None], 0.0, players.actor_carry),
            partner_carry=partner_carry,
            pairing=pairing,
        )
        return axes.to_stepping(states), players

    def _rollout(self, records: _StepRecord, states: EnvState, players: Players) -> Rollout:
        """The records of all steps, and what is observed after the last."""
        last = self._trained(self._observe(states, players.seat))
        decision = records.decision
        partners = None
        if players.pairing is not None:
            assert decision.partner is not None
            partners = jnp.concatenate([decision.partner, players.pairing.partner[None]])
        counted = self.config.kitchens - self.config.random_start_kitchens
        episodes = counted * self.config.rollout_steps / self.environment.horizon
        return Rollout(
            observations=jnp.concatenate([decision.observations, last[None]]),
            episode_start=jnp.concatenate([decision.episode_start, players.clock[None] == 0]),
            actions=decision.actions,
            log_probs=decision.log_probs,
            rewards=records.rewards,
            task_rewards=records.task_reward,
            actor_carry=decision.actor_carry,
            events=records.events.sum(axis=0) / episodes,
            partners=partners,
        )

    def _new_states(
        self, keys: Key[Array, " members"], elapsed: Int[Array, " kitchens"]
    ) -> EnvState:
        """Fresh states of all kitchens, some of them random: members first, kitchens last."""
        kitchens = self.config.kitchens
        random_start = jnp.arange(kitchens) < self.config.random_start_kitchens
        reset = over_kitchens(self.environment.reset)

        def of_member(key: Key[Array, ""]) -> EnvState:
            return reset(jax.random.split(key, kitchens), elapsed, random_start)

        return jax.vmap(of_member)(keys)

    def _draw_seats(self, keys: Key[Array, " members"]) -> Int[Array, "members kitchens"]:
        """The seat of role 0; if one learner plays both roles, it does not matter which."""
        kitchens = self.config.kitchens
        if self.roles.are_one_learner:
            return jnp.zeros((keys.shape[0], kitchens), jnp.int32)
        bits = jax.vmap(lambda key: jax.random.bits(key, (kitchens,)))(keys)
        return (bits % SEATS).astype(jnp.int32)

    def _observe(
        self, states: EnvState, seat: Int[Array, "members kitchens"]
    ) -> UInt8[Array, "members 2 kitchens *observation"]:
        return self._by_role(self.environment.observe(states), seat)

    def _by_role(
        self, leaf: Shaped[Array, "2 *rest all_kitchens"], seat: Int[Array, "members kitchens"]
    ) -> Shaped[Array, "members 2 kitchens *rest"]:
        """From seats, in the order of stepping, to roles."""
        return self._exchange(axes.seats_by_member(leaf, seat.shape[0]), seat)

    def _exchange(
        self, leaf: Shaped[Array, "members 2 kitchens *rest"], seat: Int[Array, "members kitchens"]
    ) -> Shaped[Array, "members 2 kitchens *rest"]:
        """From seats to roles, or back; nothing to do if one learner plays both."""
        if self.roles.are_one_learner:
            return leaf
        return axes.exchange_seats_and_roles(leaf, seat)

    def _trained(
        self, leaf: Shaped[Array, "members 2 kitchens *rest"]
    ) -> Shaped[Array, "members roles kitchens *rest"]:
        """The trained roles only; they come first."""
        return leaf[:, : self.roles.trained]


@pytree
class _StepKeys:
    """The keys of a step, by use."""

    act: Key[Array, " members"]
    reset: Key[Array, " members"]
    seat: Key[Array, " members"]


def _step_keys(keys: Key[Array, " members"], number: Int[Array, ""]) -> _StepKeys:
    split = jax.vmap(lambda key: jax.random.split(jax.random.fold_in(key, number), 3))(keys)
    return _StepKeys(act=split[:, 0], reset=split[:, 1], seat=split[:, 2])


def _fold_in(keys: Key[Array, " members"], number: int) -> Key[Array, " members"]:
    return jax.vmap(lambda key: jax.random.fold_in(key, number))(keys)


def _act(
    actors: Network,
    observations: UInt8[Array, "members roles kitchens *observation"],
    carry: Float[Array, "members roles kitchens carry"],
) -> tuple[Float[Array, "members roles kitchens actions"], Array]:
    """The learners' logits in all their roles, and their next carries."""
    learners = actors.head.bias.shape[1]
    roles = carry.shape[1]
    logits, carry = jax.vmap(jax.vmap(Network.step))(
        actors, axes.roles_to_rows(observations, learners), axes.roles_to_rows(carry, learners)
    )
    return axes.rows_to_roles(logits, roles), axes.rows_to_roles(carry, roles)


def _with_random_actions(
    logits: Float[Array, "*batch actions"], epsilon: float
) -> Float[Array, "*batch actions"]:
    """The logits of a policy that takes a uniformly drawn action with probability epsilon."""
    if epsilon == 0.0:
        return logits
    return jnp.log((1 - epsilon) * jax.nn.softmax(logits) + epsilon / logits.shape[-1])


def _sample_actions(
    log_policy: Float[Array, "members 2 kitchens actions"], keys: Key[Array, " members"]
) -> Int[Array, "members 2 kitchens"]:
    """Sample actions by inverting the cumulative distribution.

    That takes one random number; `jax.random.categorical` would take one for each action.
    """
    _, roles, kitchens, actions = log_policy.shape
    uniform = jax.vmap(lambda key: jax.random.uniform(key, (roles, kitchens)))(keys)
    below = uniform[..., None] >= jnp.cumsum(jnp.exp(log_policy), axis=-1)
    # The probabilities may sum up to slightly less than 1.
    return jnp.minimum(below.sum(axis=-1), actions - 1).astype(jnp.int32)
