"""A method is one value: the populations it trains, how its pool is made of them, and its sizes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool

from cochef.agents.networks import Network
from cochef.errors import InputError, shown
from cochef.kitchen.constants import SEATS
from cochef.kitchen.layout import Layout
from cochef.learning.config import TrainingConfig
from cochef.learning.environments import KitchenEnvironment
from cochef.learning.population import Algorithm, Parents, RewardWeights
from cochef.learning.reward_config import RewardConfig, as_vector
from cochef.learning.trainer import Trainer
from cochef.methods.parts.pools import DrawSeed, PoolChoice, TrainedPopulation

Scale = Literal["full", "small", "tiny"]  # the field of `Size` that a preset takes
Sizes = Mapping[str, int | None]  # by the name of a `Size`; None stands for all there are
Options = Mapping[str, str]  # settings that only one population has, by name
Variant = Callable[[Sizes], Sizes]
PoolRule = Callable[[Mapping[str, TrainedPopulation], Sizes, DrawSeed], list[PoolChoice]]
"""Choose a pool, given the populations by name, the sizes and a seed."""


@dataclass(frozen=True)
class Size:
    """How many of something there are: the paper's number, two thirds of it, and for tests."""

    name: str
    full: int
    small: int
    tiny: int


SELF_PLAY_PPO = Algorithm()
POLICIES = Size("policies", full=12, small=8, tiny=2)  # of a population with the task reward


def task_weights(
    rewards: RewardConfig, members: int, seed: DrawSeed, options: Options
) -> RewardWeights:
    """Both roles get the task reward, and the shaped reward of the first stage, annealed."""
    shaping = jnp.asarray(as_vector(rewards.shaping))
    shaping = jnp.broadcast_to(shaping, (members, SEATS, len(shaping)))
    return RewardWeights(jnp.zeros_like(shaping), jnp.ones((members, SEATS)), shaping)


@dataclass(frozen=True)
class PopulationSpec:
    """A population that a first stage trains: all that sets it apart from others."""

    name: str
    algorithm: Algorithm = SELF_PLAY_PPO
    size: Size = POLICIES
    weights: Callable[[RewardConfig, int, DrawSeed, Options], RewardWeights] = task_weights
    """Reward weights by reward configuration, number of members, seed and options."""
    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Settings that only this population has, with their allowed values; the first is default."""
    parents: str | None = None
    """The population whose final policies its learners begin as, unless they begin from scratch."""
    begins_as_parent: Callable[[RewardWeights], Bool[Array, "members learners"]] | None = None
    """Which learners begin so; the others have fresh weights."""
    transfer_steps: float = 1.0
    """The share of the first stage's steps that is enough if they do."""
    hidden_rewards: Callable[[RewardConfig, int, DrawSeed], list[dict[str, float]]] | None = None
    """The weights of each member's hidden reward, by name, as files and reports show them.

    Takes reward configuration, number of members and seed; None without hidden rewards.
    """

    def trainer(
        self,
        layout: Layout,
        rewards: RewardConfig,
        config: TrainingConfig,
        members: int,
        seed: int,
        options: Options | None = None,
        parents: Network | None = None,
    ) -> Trainer:
        """The population, ready to learn; it may begin as some policies, [members]."""
        options = self.with_defaults(options or {})
        weights = self.weights(rewards, members, draw_seed(layout, seed), options)
        trained = self.algorithm.roles.trained
        # `weights` is about both roles; a copy of a learner or a frozen partner is not rewarded.
        weights = RewardWeights(
            weights.events[:, :trained], weights.task[:, :trained], weights.shaping[:, :trained]
        )
        return Trainer(
            environment=KitchenEnvironment(layout, config.network.observation),
            algorithm=self.algorithm,
            config=config,
            weights=weights,
            key=jax.random.key(seed),
            parents=self._parents(weights, parents),
        )

    def _parents(self, weights: RewardWeights, policies: Network | None) -> Parents | None:
        """The policies as parents of those learners that begin as one."""
        if policies is None or self.begins_as_parent is None:
            return None
        learners = self.algorithm.roles.learners
        actors = jax.tree.map(lambda leaf: jnp.stack([leaf] * learners, axis=1), policies)
        return Parents(actors, self.begins_as_parent(weights))

    def with_defaults(self, options: Options) -> dict[str, str]:
        """The options, checked, and the defaults of those that are not given."""
        for name, value in options.items():
            if name not in self.options:
                allowed = ", ".join(self.options) or "none"
                raise InputError(
                    f"{name} is {shown(value)} with the population {self.name}, which has no such "
                    f"option; its options: {allowed}"
                )
            if value not in self.options[name]:
                allowed = ", ".join(self.options[name])
                raise InputError(f"{name} is {shown(value)}; allowed: {allowed}")
        return {name: options.get(name, allowed[0]) for name, allowed in self.options.items()}

    def check(self, rewards: RewardConfig) -> None:
        """Raise an error if it cannot be trained with these rewards."""
        if self.hidden_rewards is not None and not rewards.hidden:
            raise InputError(
                f"hidden is empty or missing in the rewards; the population {self.name} takes "
                "sets of weights to draw from, by event"
            )


@dataclass(frozen=True)
class Method:
    """A way to train an agent that cooperates with partners it has never met."""

    name: str
    title: str
    citation: str
    summary: str
    populations: tuple[PopulationSpec, ...]
    """What its first stage trains; the first one is the method's own, of `cochef train`."""
    pool: PoolRule | None = None
    """Which policies of the populations an adaptive agent is trained with, in a second stage.

    Without a pool there is no second stage: the method's agents are its population's final ones.
    """
    parents: str | None = None
    """The population with the task reward whose policies agents begin as; None for its own."""
    pool_sizes: tuple[Size, ...] = ()
    """The sizes that its pool rule takes, besides those of its populations.

    One with the name of a population says how many of its members join the pool. If that is 0, the
    population is not trained.
    """
    limits: Mapping[str, str] = field(default_factory=dict)
    """By the name of a size, the name of another one that it may not exceed."""
    variants: Mapping[str, Variant] = field(default_factory=dict)
    """Other pools, as in the paper's ablations (section 6.2): how each changes the sizes."""

    @property
    def population(self) -> PopulationSpec:
        """The method's own population."""
        return self.populations[0]

    @property
    def parent_population(self) -> PopulationSpec:
        """The population whose final policies the method's agents begin as."""
        name = self.parents or self.population.name
        return next(spec for spec in self.populations if spec.name == name)

    def least(self, size: str) -> int:
        """The least value of a size: 0 if it says how many of a population join the pool."""
        joins = any(size == spec.name for spec in self.populations)
        return 0 if joins and any(size == one.name for one in self.pool_sizes) else 1

    def sizes(self, scale: Scale) -> dict[str, int | None]:
        """All sizes on a scale, by name."""
        every = (*(population.size for population in self.populations), *self.pool_sizes)
        return {size.name: getattr(size, scale) for size in every}


def draw_seed(layout: Layout, seed: int) -> DrawSeed:
    """The seed of draws for a layout: layouts with the same sets do not share what is drawn."""
    return layout.seed, seed


def first_line(docstring: str | None) -> str:
    """The sentence that says what a module is about."""
    return (docstring or "").partition("\n")[0]


def doubled(sizes: Sizes) -> Sizes:
    """Twice as many of everything: the pools of 72 in the paper's appendix F.2.1."""
    return {name: None if number is None else 2 * number for name, number in sizes.items()}
