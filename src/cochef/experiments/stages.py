"""The stages of a method; each makes files from files.

population --> pool --> agents --> evaluation --> report (in results.py)
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Any

from cochef.agents import pool
from cochef.agents.names import checksums
from cochef.agents.network_config import NetworkConfig
from cochef.agents.networks import Network
from cochef.agents.pool import PoolFiles
from cochef.errors import InputError
from cochef.evaluation import crossplay, plots, records
from cochef.experiments import pools
from cochef.experiments.jobs import JobContext
from cochef.experiments.presets import SecondStage
from cochef.kitchen.layout import Layout
from cochef.learning import runs
from cochef.learning.config import TrainingConfig
from cochef.learning.partner_sampling import (
    PartnerIdentity,
    PartnerPool,
    Sampling,
    group_agents,
)
from cochef.learning.reward_config import RewardConfig
from cochef.learning.trainer import Trainer
from cochef.learning.writers import read_metrics
from cochef.methods.parts.method import Method, Options, PopulationSpec, Sizes, draw_seed
from cochef.methods.parts.second_stage import adaptive_agents
from cochef.validation import one_of, whole_number

CURVES = "learning.png"
PARTNERS = "partners.png"
_INHERITED = ("observation", "channels", "hidden", "layer_norm")  # what networks must share


@dataclass(frozen=True)
class TrainPopulation:
    """The first stage: train a population; input, perhaps: `parents`, whom it begins as."""

    spec: PopulationSpec
    layout: Layout
    rewards: RewardConfig
    training: TrainingConfig
    members: int
    seed: int
    options: Options = field(default_factory=dict)
    kind: str = "population"
    version: int = 3

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
            "shaping": _by_label(self.rewards.shaping),
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

    def run(self, context: JobContext) -> None:
        """Train, or resume training."""
        parents, source = _parents(context, self.layout, self.training.network, self.members)
        title = f"{self.layout.name}: {self.spec.name}"
        _train(self.trainer_from(parents), {**self.config, **source}, title, context)


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

    Inputs: `pool`, and perhaps `parents`, whose policies the agents begin as.
    """

    layout: Layout
    stage: SecondStage
    rewards: RewardConfig
    seed: int
    kind: str = "agents"
    version: int = 4

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
                "shaping": _by_label(self.rewards.adaptive_shaping),
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
        partner_pool = PartnerPool(
            group_agents(files.agents(), self.stage.training.network.observation),
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

    def training_with(self, partners: int) -> TrainingConfig:
        """The training settings with a pool of this size.

        For stratified sampling, the kitchens are rounded up to a multiple of the partners: then
        all partners have equally many, and act by one batched product.
        """
        training = self.training
        if self.stage.sampling != Sampling.STRATIFIED.value:
            return training
        return replace(training, kitchens=-(-training.kitchens // partners) * partners)

    def run(self, context: JobContext) -> None:
        """Train, or resume training; also plot the returns with every partner."""
        files = pool.read(context.inputs["pool"], self.layout)
        network = self.stage.training.network
        parents, source = _parents(context, self.layout, network, self.stage.agents)
        trainer = self.trainer(files, parents)
        names = [member.name for member in files.members]
        index = (files.directory / pool.INDEX).read_bytes()
        run_config = {
            **self.config,
            "training": as_json(asdict(trainer.config)),
            "pool": names,
            "pool_sha256": hashlib.sha256(index).hexdigest(),
            **source,
        }
        title = f"{self.layout.name}: agents with a pool of {len(names)}"
        _train(trainer, run_config, title, context)
        picture = context.directory / PARTNERS
        if not picture.exists():
            metrics = read_metrics(context.directory)
            plots.save(plots.partner_returns(metrics, names, title), picture)


@dataclass(frozen=True)
class EvaluateAgents:
    """Evaluate agents with partners that nobody was trained with; input: `agents`."""

    method: str
    layout: Layout
    agents: int
    """How many agents of the run are evaluated, from the first."""
    episodes: int
    seed: int
    kind: str = "evaluation"
    version: int = 2

    def __post_init__(self) -> None:
        """Refuse to evaluate nobody."""
        whole_number(self.agents, "agents", 1)

    @property
    def config(self) -> Mapping[str, Any]:
        """All settings."""
        partners = crossplay.unseen_partners(self.layout)
        return {
            "method": self.method,
            "layout": self.layout.fingerprint,
            "agents": self.agents,
            "partners": {name: checksums(name) for name in partners},
            "episodes": self.episodes,
            "seed": self.seed,
        }

    def run(self, context: JobContext) -> None:
        """Play, and record every episode."""
        directory = context.inputs["agents"]
        agents = [
            crossplay.Player(self.method, str(agent_path(directory, number)), number)
            for number in range(self.agents)
        ]
        partners = crossplay.players(crossplay.unseen_partners(self.layout))
        found = crossplay.evaluate(
            self.layout, agents, partners, episodes=self.episodes, seed=self.seed
        )
        # The manifest names agents by method and number, wherever the run's directory was.
        named = [replace(player, name=f"{self.method}/{player.seed:02}") for player in agents]
        manifest = crossplay.manifest(
            self.layout, named, partners, self.episodes, self.seed, greedy=False
        )
        records.write(context.directory, found, manifest)


def _parents(
    context: JobContext, layout: Layout, network: NetworkConfig, number: int
) -> tuple[Network | None, dict[str, str]]:
    """The policies that learners begin as, [number], and the run that they are from."""
    if "parents" not in context.inputs:
        return None, {}
    files = pools.PopulationFiles(context.inputs["parents"], layout)
    built = runs.read_config(files.directory)["training"]["network"]
    wanted = as_json(asdict(network))
    if built["recurrent"] or any(built[name] != wanted[name] for name in _INHERITED):
        raise InputError(
            f"{files.directory}: nobody can begin as its policies; "
            f"they must be feed-forward, with the same {', '.join(_INHERITED)}"
        )
    return files.parents(number), {"parents": files.source}


def _train(
    trainer: Trainer, run_config: Mapping[str, Any], title: str, context: JobContext
) -> None:
    """Train in the job's directory, and plot the learning curves."""
    runs.train(trainer, context.directory, run_config, context.writers, log=context.log)
    picture = context.directory / CURVES
    if not picture.exists():
        plots.save(plots.learning_curves(read_metrics(context.directory), title), picture)


def as_json(table: Mapping[str, Any]) -> dict[str, Any]:
    """A table as it would be read back from JSON."""
    return json.loads(json.dumps(table, default=_value))


def _value(entry: object) -> object:
    if isinstance(entry, Enum):
        return entry.value
    if isinstance(entry, Mapping):
        return dict(entry)
    raise TypeError(f"{type(entry).__name__} is not fit for JSON")


def _by_label(weights: Mapping[Any, float]) -> dict[str, float]:
    return {event.label: weight for event, weight in weights.items()}


def agent_path(directory: Path, number: int = 0) -> Path:
    """The file of an agent in the directory of a run, without its suffix."""
    return directory / runs.AGENTS / f"{number:02}"
