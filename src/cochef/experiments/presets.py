"""Settings that belong together: for a test, for two cores, and the paper's. Loads nothing that computes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from cochef.agents.sizes import Eyes, NetworkConfig
from cochef.learning.config import Schedule, TrainingConfig

Method = Literal["selfplay", "fcp", "mep", "trajdiv", "hsp"]
METHODS: tuple[str, ...] = get_args(Method)

PresetName = Literal["smoke", "laptop", "paper"]


@dataclass(frozen=True)
class Preset:
    """How a population learns, and how many members it has with each method."""

    training: TrainingConfig
    members: Mapping[str, int]


_PAPER_MEMBERS = {"selfplay": 1, "fcp": 12, "mep": 12, "trajdiv": 12, "hsp": 36}

_SMOKE = TrainingConfig(
    kitchens=8,
    steps=40,
    total=8 * 40 * 12,
    epochs=2,
    minibatches=2,
    shaping=Schedule(1.0, 0.0, 8 * 40 * 12),
    snapshots=4,
    network=NetworkConfig(hidden=(16, 16)),
)

_PAPER = TrainingConfig(
    kitchens=100,
    steps=400,
    scattered=0.0,
    total=10_000_000,
    epochs=15,
    minibatches=1,
    chunk=10,
    learning_rate=Schedule(5e-4, 5e-4, 1),
    adam_epsilon=1e-5,
    weight_decay=0.0,
    gradient_norm=10.0,
    clip=0.2,
    entropy=Schedule(0.01, 0.01, 1),
    discount=0.99,
    trace=0.95,
    value_clip=0.2,
    value_weight=1.0,
    huber=10.0,
    value_decay=0.99999,
    shaping=Schedule(1.0, 0.0, 100_000_000),
    network=NetworkConfig(Eyes.GRID, channels=(32, 64, 32), hidden=(64, 64, 64), normalise=True),
)

PRESETS: Mapping[str, Preset] = {
    "smoke": Preset(_SMOKE, dict.fromkeys(METHODS, 2)),
    "laptop": Preset(TrainingConfig(), _PAPER_MEMBERS),
    "paper": Preset(_PAPER, _PAPER_MEMBERS),
}
