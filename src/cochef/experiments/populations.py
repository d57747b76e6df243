"""First stages: a population by method, kitchen and preset, trained into a directory."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from cochef.runtime import use_all_cores
from cochef.errors import InputError, shown
from cochef.evaluation import plots
from cochef.experiments.presets import METHODS, PRESETS
from cochef.kitchen.constants import Event
from cochef.kitchen.layout import Layout
from cochef.learning import reward_config, runs
from cochef.learning.checkpoints import Tell
from cochef.learning.config import TrainingConfig
from cochef.learning.reward_config import ORDER, RewardConfig
from cochef.learning.trainer import Trainer, Training
from cochef.learning.writers import MetricsWriter
from cochef.methods import fcp, hsp, mep, selfplay, trajdiv
from cochef.methods.hsp import BiasedShaping

CURVES = "learning.png"

_TIED = {
    "selfplay": selfplay.population,
    "fcp": fcp.population,
    "mep": mep.population,
    "trajdiv": trajdiv.population,
}


@dataclass(frozen=True)
class Population:
    """All that decides how a population turns out."""

    method: str
    layout: Layout
    rewards: RewardConfig
    preset: str
    config: TrainingConfig
    members: int
    seed: int
    biased_shaping: BiasedShaping = BiasedShaping.NONE

    @property
    def trainer(self) -> Trainer:
        """The population, ready to learn."""
        if self.method == "hsp":
            return hsp.population(self.layout, self.rewards, self.config, self.members, self.seed, self.biased_shaping)
        return _TIED[self.method](self.layout, self.rewards, self.config, self.members, self.seed)

    @property
    def about(self) -> dict[str, Any]:
        """The same as it is written down, fit for JSON."""
        shaping = {event.label: weight for event, weight in self.rewards.shaping.items()}
        table = {
            "method": self.method,
            "layout": self.layout.name,
            "fingerprint": self.layout.fingerprint,
            "horizon": self.layout.horizon,
            "preset": self.preset,
            "seed": self.seed,
            "members": self.members,
            "training": asdict(self.config),
            "shaping": shaping,
        }
        if self.method == "hsp":
            drawn = hsp.draw(self.rewards, self.members, self.seed)
            names = [*(event.label for event in Event), ORDER]
            table |= {
                "biased_shaping": self.biased_shaping,
                "sets": self.rewards.hidden,
                "hidden": [
                    {name: float(weight) for name, weight in zip(names, row, strict=True) if weight or name == ORDER}
                    for row in drawn
                ],
            }
        return as_json(table)


def population(
    method: str,
    layout: Layout,
    preset: str = "laptop",
    seed: int = 0,
    members: int | None = None,
    steps: int | None = None,
    rewards: RewardConfig | None = None,
    biased_shaping: BiasedShaping = BiasedShaping.NONE,
) -> Population:
    """A population with a preset's settings, and perhaps another size, length or other rewards."""
    if method not in METHODS:
        raise InputError(f"unknown method {shown(method)}; known: {', '.join(METHODS)}")
    if preset not in PRESETS:
        raise InputError(f"unknown preset {shown(preset)}; known: {', '.join(PRESETS)}")
    if method != "hsp" and biased_shaping is not BiasedShaping.NONE:
        raise InputError(f"biased shaping is {biased_shaping.value!r} with {method}; only hsp has biased policies")
    settings = PRESETS[preset]
    members = settings.members[method] if members is None else members
    if members < 1:
        raise InputError(f"members is {members}; it takes a whole number from 1")
    config = settings.training if steps is None else settings.training.lasting(steps)
    rewards = rewards or reward_config.shipped(layout)
    if method == "hsp" and not rewards.hidden:
        raise InputError("hidden is empty or missing in the rewards; hsp takes sets of weights to draw from, by event")
    return Population(method, layout, rewards, preset, config, members, seed, biased_shaping)


def train(
    population: Population,
    directory: Path,
    sinks: Sequence[MetricsWriter] = (),
    checkpoint_seconds: float = runs.CHECKPOINT_SECONDS,
    tell: Tell = print,
) -> Training:
    """The population at the end of its training; its run, with a picture of the learning, is in the directory."""
    title = f"{population.layout.name}: {population.method}"
    return train_into(directory, lambda: population.trainer, population.about, title, sinks, checkpoint_seconds, tell)


def train_into(
    directory: Path,
    trainer: Callable[[], Trainer],
    about: Mapping[str, Any],
    title: str,
    sinks: Sequence[MetricsWriter] = (),
    checkpoint_seconds: float = runs.CHECKPOINT_SECONDS,
    tell: Tell = print,
) -> Training:
    """What learns at the end of its training; its run, with a picture of the learning, is in the directory.

    All cores are used if JAX has not computed anything yet.
    """
    use_all_cores()
    training = runs.train(trainer(), directory, about, sinks, checkpoint_seconds, tell)
    if not (directory / CURVES).exists():
        plots.save(plots.learning_curves(runs.metrics(directory), title), directory / CURVES)
    return training


def as_json(table: Mapping[str, Any]) -> dict[str, Any]:
    """A table as it would be read back from JSON."""
    return json.loads(json.dumps(table, default=_value))


def _value(entry: object) -> object:
    if isinstance(entry, Enum):
        return entry.value
    if isinstance(entry, Mapping):
        return dict(entry)
    raise TypeError(f"{type(entry).__name__} is not fit for JSON")
