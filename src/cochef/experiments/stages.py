"""The stages of a method; each makes files from files.

population --> pool --> agents --> evaluation (in evaluations.py) --> report (in results.py)
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Any

from cochef.agents import pool, storage
from cochef.agents.agent import Agent
from cochef.agents.network_config import NetworkConfig
from cochef.agents.networks import Network
from cochef.agents.pool import PoolFiles
from cochef.errors import InputError
from cochef.evaluation import plots
from cochef.experiments import pools
from cochef.experiments.jobs import JobContext
from cochef.experiments.presets import SecondStage
from cochef.kitchen.layout import Layout
from cochef.learning import runs
from cochef.learning.config import TrainingConfig
from cochef.learning.further import OriginFiles, read_origin
from cochef.learning.partner_sampling import (
    PartnerIdentity,
    PartnerPool,
    Sampling,
    group_agents,
)
from cochef.learning.reward_config import RewardConfig, by_label
from cochef.learning.trainer import Trainer
from cochef.learning.writers import read_metrics
from cochef.methods.parts.method import Method, Options, PopulationSpec, Sizes, draw_seed
from cochef.methods.parts.second_stage import adaptive_agents
from cochef.validation import one_of, whole_number

CURVES = "learning.png"
PARTNERS = "partners.png"
_INHERITED = ("observation", "channels", "hidden", "layer_norm")  # what networks must share


@dataclass(frozen=True)
class PreparedTraining:
    """A trainer with all its inputs, and the resolved configuration of its run."""

    trainer: Trainer
    run_config: Mapping[str, Any]

    def train(self, context: JobContext) -> None:
        """Train in the job's directory, or resume training there."""
        runs.train(
            self.trainer,
            context.directory,
            self.run_config,
            context.writers,
            checkpoint_seconds=context.checkpoint_seconds or runs.CHECKPOINT_SECONDS,
            log=context.log,
        )


@dataclass(frozen=True)
class TrainPopulation:
    """The first stage: train a population.

    Inputs, perhaps: `parents`, whom it begins as, or `from`, a file or run that is trained further.
    """

    spec: PopulationSpec
    layout: Layout
    rewards: RewardConfig
    training: TrainingConfig
    members: int
    seed: int
    options: Options = field(default_factory=dict)
    kind: str = "population"
    version: int = 5

    def __post_init__(self) -> None:
        """Refuse what cannot be trained."""
        whole_number(self.members, "members", 1)
        self.spec.with_defaults(self.options)
        self.spec.check(self.rewards)

    @property
    def trainer(self) -> Trainer:
        """The population, ready to learn from scratch."""
        return self.trainer_from(None)

    def trainer_from(self, parents: Network | None) -> Trainer:
        """The population, ready to learn; it may begin as some policies, [members]."""
        return self.spec.trainer(
            self.layout, self.rewards, self.training, self.members, self.seed, self.options, parents
        )

    @property
    def config(self) -> Mapping[str, Any]:
        """All settings."""
        config = {
            "population": self.spec.name,
            "layout": self.layout.name,
            "fingerprint": self.layout.fingerprint,
            "horizon": self.layout.horizon,
            "seed": self.seed,
            "members": self.members,
            "training": asdict(self.training),
            "shaping": by_label(self.rewards.shaping),
            "options": self.spec.with_defaults(self.options),
        }
        if self.spec.hidden_rewards is not None:
            config |= {
                "hidden_sets": self.rewards.hidden,
                "hidden_rewards": self.spec.hidden_rewards(
                    self.rewards, self.members, draw_seed(self.layout, self.seed)
                ),
            }
        return as_json(config)

    @property
    def members_meet(self) -> bool:
        """Whether members learn from each other, so that the population cannot be split."""
        return self.spec.algorithm.members_meet

    def prepare(self, context: JobContext) -> PreparedTraining:
        """The trainer, with the policies that it begins as."""
        parents, source = _parents(context, self.layout, self.training.network, self.members)
        trainer, origin = _further(self.trainer_from(parents), context, self.layout)
        if origin is not None:
            self._check_hidden_rewards(origin)
            source |= {"from": origin.source}
        return PreparedTraining(trainer, {**self.config, **source})

    def run(self, context: JobContext) -> None:
        """Train, or resume training."""
        self.prepare(context).train(context)
        self.draw(context)

    def draw(self, context: JobContext) -> None:
        """Plot the learning curves."""
        _draw_curves(context.directory, f"{self.layout.name}: {self.spec.name}")

    def further(self, origin: OriginFiles, *, keep_members: bool = False) -> "TrainPopulation":
        """The training of a population that goes on: with its networks, and all of its members."""
        training = replace(self.training.settled(), network=origin.network)
        keep = keep_members or not origin.is_run
        members = self.members if keep else origin.members
        return replace(self, training=training, members=members)

    def _check_hidden_rewards(self, origin: OriginFiles) -> None:
        if origin.hidden_rewards != self.config.get("hidden_rewards"):
            raise InputError(
                f"{origin.path}: its members have other hidden rewards; "
                "give its method, seed and number of members"
            )


@dataclass(frozen=True)
class BuildPool:
    """Build the pool that a method's agents are trained with; inputs: the method's populations."""

    method: Method
    layout: Layout
    sizes: Sizes
    episodes: int
    seed: int
    kind: str = "pool"
    version: int = 3

    @property
    def config(self) -> Mapping[str, Any]:
        """All settings."""
        config = {"method": self.method.name, "layout": self.layout.fingerprint}
        # A pool of skill levels alone depends on neither event counts nor the seed.
        if self.method.pool_sizes:
            sizes = {size.name: self.sizes[size.name] for size in self.method.pool_sizes}
            config |= {"sizes": sizes, "episodes": self.episodes, "seed": self.seed}
        return config

    def run(self, context: JobContext) -> None:
        """Choose policies by the method's rule, and copy them."""
        populations = {
            name: pools.PopulationFiles(directory, self.layout, self.episodes, self.seed)
            for name, directory in context.inputs.items()
        }
        assert self.method.pool is not None
        trained = {name: files.trained for name, files in populations.items()}
        seed = draw_seed(self.layout, self.seed)
        choices = self.method.pool(trained, self.sizes, seed)
        pools.write(context.directory, self.layout, populations, choices)


@dataclass(frozen=True)
class TrainAgents:
    """The second stage: train agents that adapt to a pool.

    Inputs: `pool`, and perhaps `parents`, whose policies the agents begin as, or `from`, a file or
    run whose agents are trained further.
    """

    layout: Layout
    stage: SecondStage
    rewards: RewardConfig
    seed: int
    method: str = ""  # whose agents they are, for their cards; follows from the pool
    own: Mapping[str, Agent] = field(default_factory=dict)
    """Own agents that join the pool, by name; they are in no file."""
    kind: str = "agents"
    version: int = 5

    def __post_init__(self) -> None:
        """Refuse what cannot be trained."""
        one_of(self.stage.sampling, "sampling", [entry.value for entry in Sampling])
        one_of(self.stage.identity, "identity", [entry.value for entry in PartnerIdentity])
        whole_number(self.stage.agents, "agents", 1, 1000)

    @property
    def config(self) -> Mapping[str, Any]:
        """All settings but the pool."""
        return as_json(
            {
                "layout": self.layout.name,
                "fingerprint": self.layout.fingerprint,
                "horizon": self.layout.horizon,
                "seed": self.seed,
                "members": self.stage.agents,
                "training": asdict(self.training),
                "sampling": self.stage.sampling,
                "identity": self.stage.identity,
                "shaping": by_label(self.rewards.adaptive_shaping),
            }
        )

    @property
    def training(self) -> TrainingConfig:
        """The training settings; the rewards say how far shaping is annealed."""
        training = self.stage.training
        shaping = replace(training.shaping, end=self.rewards.adaptive_shaping_end)
        return replace(training, shaping=shaping)

    def trainer(self, files: PoolFiles, parents: Network | None = None) -> Trainer:
        """The agents, ready to learn with a pool; they may begin as some policies, [agents]."""
        agents = [*files.agents(), *self.own.values()]
        partner_pool = PartnerPool(
            group_agents(agents, self.stage.training.network.observation),
            Sampling(self.stage.sampling),
            PartnerIdentity(self.stage.identity),
        )
        return adaptive_agents(
            self.layout,
            self.rewards,
            self.training_with(partner_pool.size),
            partner_pool,
            self.stage.agents,
            self.seed,
            parents,
        )

    def lasting(self, total_steps: int) -> "TrainAgents":
        """The same over another number of steps."""
        training = self.stage.training.lasting(total_steps)
        return replace(self, stage=replace(self.stage, training=training))

    def further(self, origin: OriginFiles) -> "TrainAgents":
        """The training of agents that go on: with their networks, and all of them."""
        training = replace(self.stage.training.settled(), network=origin.network)
        agents = origin.members if origin.is_run else self.stage.agents
        return replace(self, stage=replace(self.stage, training=training, agents=agents))

    def training_with(self, partners: int) -> TrainingConfig:
        """The training settings with a pool of this size.

        With stratified sampling all partners have equally many kitchens where that is possible.
        """
        if self.stage.sampling != Sampling.STRATIFIED.value:
            return self.training
        return self.training.with_partners(partners)

    @property
    def members(self) -> int:
        """How many agents there are."""
        return self.stage.agents

    @property
    def members_meet(self) -> bool:
        """No agent learns from another one."""
        return False

    def prepare(self, context: JobContext) -> PreparedTraining:
        """The trainer, with its pool and the policies that the agents begin as."""
        files = pool.read(context.inputs["pool"], self.layout)
        network = self.stage.training.network
        parents, source = _parents(context, self.layout, network, self.stage.agents)
        trainer, origin = _further(self.trainer(files, parents), context, self.layout)
        if origin is not None:
            source |= {"from": origin.source}
        names = [*(member.name for member in files.members), *self.own]
        index = (files.directory / pool.INDEX).read_bytes()
        run_config = {
            **self.config,
            "training": as_json(asdict(trainer.config)),
            "pool": names,
            "pool_sha256": hashlib.sha256(index).hexdigest(),
            **source,
        }
        return PreparedTraining(trainer, run_config)

    def run(self, context: JobContext) -> None:
        """Train, or resume training."""
        self.prepare(context).train(context)
        self.draw(context)

    def draw(self, context: JobContext) -> None:
        """Sign the agents, and plot the learning curves and the returns with every partner."""
        names = runs.read_config(context.directory)["pool"]
        title = f"{self.layout.name}: agents with a pool of {len(names)}"
        if self.method:
            _sign(context.directory, self.method)
        _draw_curves(context.directory, title)
        picture = context.directory / PARTNERS
        if not picture.exists():
            metrics = read_metrics(context.directory)
            plots.save(plots.partner_returns(metrics, names, title), picture)


def _parents(
    context: JobContext, layout: Layout, network: NetworkConfig, number: int
) -> tuple[Network | None, dict[str, Any]]:
    """The policies that learners begin as, [number], and the run that they are from."""
    if "parents" not in context.inputs:
        return None, {}
    files = pools.PopulationFiles(context.inputs["parents"], layout)
    check_parents(files.directory, network)
    return files.parents(number), {"parents": files.source}


def check_parents(directory: Path, network: NetworkConfig) -> None:
    """Refuse a population whose policies a network of this config cannot begin as."""
    built = runs.read_config(directory)["training"]["network"]
    wanted = as_json(asdict(network))
    if built["recurrent"] or any(built[name] != wanted[name] for name in _INHERITED):
        raise InputError(
            f"{directory}: nobody can begin as its policies; "
            f"they must be feed-forward, with the same {', '.join(_INHERITED)}"
        )


def _further(
    trainer: Trainer, context: JobContext, layout: Layout
) -> tuple[Trainer, OriginFiles | None]:
    """The trainer with learners of the input `from`, if there is one."""
    if "from" not in context.inputs:
        return trainer, None
    origin = read_origin(context.inputs["from"], layout)
    return replace(trainer, origin=origin.origin(trainer, context.log)), origin


def _draw_curves(directory: Path, title: str) -> None:
    """Plot the learning curves of the run in a directory."""
    picture = directory / CURVES
    if not picture.exists():
        plots.save(plots.learning_curves(read_metrics(directory), title), picture)


def _sign(directory: Path, method: str) -> None:
    """Write into the cards of a run's agents which method made them."""
    for path in sorted((directory / runs.AGENTS).glob(f"*{storage.SUFFIX}")):
        card, tensors = storage.read(path)
        if card.metadata.get("method") != method:
            signed = replace(card, metadata={**card.metadata, "method": method})
            storage.save(path, signed, tensors)


def as_json(table: Mapping[str, Any]) -> dict[str, Any]:
    """A table as it would be read back from JSON."""
    return json.loads(json.dumps(table, default=_value))


def _value(entry: object) -> object:
    if isinstance(entry, Enum):
        return entry.value
    if isinstance(entry, Mapping):
        return dict(entry)
    raise TypeError(f"{type(entry).__name__} is not fit for JSON")


def agent_path(directory: Path, number: int = 0) -> Path:
    """The file of an agent in the directory of a run, without its suffix."""
    return directory / runs.AGENTS / f"{number:02}"
