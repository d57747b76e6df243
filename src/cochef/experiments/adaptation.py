"""Second stages: agents that learn to get along with a pool, trained into a directory."""

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from cochef.agents.pool import INDEX, PoolFiles
from cochef.errors import InputError, shown
from cochef.evaluation import plots
from cochef.experiments.populations import as_json, train_into
from cochef.experiments.presets import SecondStage
from cochef.learning import runs
from cochef.learning.checkpoints import Tell
from cochef.learning.partner_sampling import Identity, Pool, Sampling
from cochef.learning.reward_config import RewardConfig
from cochef.learning.trainer import Trainer, Training
from cochef.learning.writers import MetricsWriter
from cochef.methods import adaptive

PARTNERS = "partners.png"


@dataclass(frozen=True)
class Adaptation:
    """All that decides how agents turn out, but for the pool."""

    stage: SecondStage
    rewards: RewardConfig
    seed: int

    def __post_init__(self) -> None:
        """Refuse what cannot be done."""
        for kind, value in ((Sampling, self.stage.sampling), (Identity, self.stage.identity)):
            allowed = [entry.value for entry in kind]
            if value not in allowed:
                raise InputError(f"{kind.__name__.lower()} is {shown(value)}; allowed: {', '.join(allowed)}")
        if self.stage.seeds < 1:
            raise InputError(f"seeds is {shown(self.stage.seeds)}; it takes a whole number from 1")

    def trainer(self, files: PoolFiles) -> Trainer:
        """The agents, ready to learn."""
        pool = Pool(files.networks(), Sampling(self.stage.sampling), Identity(self.stage.identity))
        return adaptive.agents(files.layout, self.rewards, self.stage.training, pool, self.stage.seeds, self.seed)

    @property
    def about(self) -> dict[str, Any]:
        """The same as it is written down, fit for JSON."""
        return as_json(
            {
                "method": "adaptive",
                "seed": self.seed,
                "members": self.stage.seeds,
                "training": asdict(self.stage.training),
                "sampling": self.stage.sampling,
                "identity": self.stage.identity,
                "shaping": {event.label: weight for event, weight in self.rewards.adaptive_shaping.items()},
            }
        )


def adaptation(stage: SecondStage, rewards: RewardConfig, partners: int, seed: int) -> Adaptation:
    """How agents learn with a pool of so many partners.

    The helping reward ends as the rewards say. If partners take turns, there are as many kitchens for every one, and at
    least as many in all as the stage has; steps stay the same.
    """
    training = replace(stage.training, shaping=replace(stage.training.shaping, end=rewards.adaptive_end))
    if stage.sampling == Sampling.STRATIFIED.value:
        training = replace(training, kitchens=-(-training.kitchens // partners) * partners)
    return Adaptation(replace(stage, training=training), rewards, seed)


def train(
    adaptation: Adaptation,
    files: PoolFiles,
    directory: Path,
    sinks: Sequence[MetricsWriter] = (),
    checkpoint_seconds: float = runs.CHECKPOINT_SECONDS,
    tell: Tell = print,
) -> Training:
    """The agents at the end of their training, with pictures of how it went, also with every policy of the pool."""
    layout = files.layout
    about = adaptation.about | {
        "layout": layout.name,
        "fingerprint": layout.fingerprint,
        "horizon": layout.horizon,
        "pool": [member.name for member in files.members],
        "pool_sha256": hashlib.sha256((files.directory / INDEX).read_bytes()).hexdigest(),
    }
    title = f"{layout.name}: agents with a pool of {len(files.members)}"
    training = train_into(directory, lambda: adaptation.trainer(files), about, title, sinks, checkpoint_seconds, tell)
    if not (directory / PARTNERS).exists():
        names = [member.name for member in files.members]
        plots.save(plots.partner_returns(runs.metrics(directory), names, title), directory / PARTNERS)
    return training
