"""One trainer for all methods: a whole population learns in one compiled program.

An iteration (`iteration.py`) is one program for all members, sharded over the available devices: on
a CPU a device per core, which computes one member after the other. A member's random numbers follow
from the seed, its number and the iteration alone.
"""

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Int, Key

from cochef.agents import hosting
from cochef.errors import InputError
from cochef.kitchen.stepping import EnvState
from cochef.learning import axes
from cochef.learning.collect import Collector, Players
from cochef.learning.config import TrainingConfig
from cochef.learning.environments import Environment, KitchenEnvironment
from cochef.learning.host_partners import HostPartners
from cochef.learning.iteration import (
    AXIS,
    begin_members,
    first_copies,
    iterate_members,
    iterate_one_by_one,
    rollout_inputs,
)
from cochef.learning.partner_sampling import PartnerPool
from cochef.learning.population import (
    Algorithm,
    IterationMetrics,
    Origin,
    Parents,
    RewardWeights,
    TrainState,
)
from cochef.randomness import fast


@dataclass(frozen=True)
class Trainer:
    """Trains a population."""

    environment: Environment
    algorithm: Algorithm
    config: TrainingConfig
    weights: RewardWeights
    key: Key[Array, ""]
    pool: PartnerPool | None = None
    """The frozen partners, if a pool plays the second role."""
    parents: Parents | None = None
    """The policies that learners begin as; None for fresh weights."""
    first: int = 0
    """The number of its first member, which is not 0 in a shard of a population."""
    origin: Origin | None = None
    """The learners of an earlier run that are trained further, if there are any."""

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
        copies = first_copies(self.algorithm.roles, origin.actors)
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
        loop = collector.loop(rollout_inputs(collector, state, weights, key, iteration))
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
        return iterate_members(collector, algorithm, state, weights, key, iteration, collected)

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
        state = begin_members(environment, algorithm, config, members, pool, parents, key)

        # Weakly typed arrays would make the first iteration compile twice.
        def strong(leaf: Array) -> Array:
            return jax.lax.convert_element_type(leaf, leaf.dtype)

        return jax.tree.map(strong, state)

    return jax.jit(begin, out_shardings=NamedSharding(mesh, PartitionSpec(AXIS)))


@lru_cache(maxsize=8)
def _iterate_program(
    environment: Environment, algorithm: Algorithm, config: TrainingConfig, mesh: Mesh
) -> Any:  # noqa: ANN401
    # An accelerator is fastest with all members at once.
    one_by_one = mesh.devices.flat[0].platform == "cpu"
    run = iterate_one_by_one if one_by_one else iterate_members

    def iterate(
        state: TrainState,
        weights: RewardWeights,
        pool: PartnerPool | None,
        key: Key[Array, ""],
        iteration: Int[Array, ""],
    ) -> tuple[TrainState, IterationMetrics]:
        collector = Collector(environment, config, algorithm.roles, pool)
        return run(collector, algorithm, state, weights, key, iteration)

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
