"""Presets: settings that belong together, for tests, for two cores, and the paper's.

Loads no JAX, so that the command line is quick.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import tyro

from cochef.agents.network_config import NetworkConfig, ObservationKind, RecurrentKind
from cochef.learning.config import Schedule, TrainingConfig

Begin = Literal["transfer", "scratch"]
PresetName = Literal["smoke", "quick", "laptop", "paper"]


@dataclass(frozen=True)
class SecondStage:
    """How adaptive agents are trained with a pool."""

    training: TrainingConfig
    sampling: str = "stratified"
    """How kitchens get their partners: stratified, uniform or prioritised."""
    identity: str = "number"
    """What the critic is told about the partner: none, number or one-hot."""
    agents: int = 4
    """How many agents, which differ in their random numbers alone."""


@dataclass(frozen=True)
class Preset:
    """How populations and agents are trained, and how large everything is."""

    scale: Literal["full", "small", "tiny"]
    """Which of its declared sizes every method takes."""
    first_stage: TrainingConfig
    second_stage: SecondStage
    begin: Begin = "transfer"
    """Whether agents and pairs begin as task policies, or with fresh weights."""
    episodes: int = 100
    """Episodes of a pair in a seat, when events are counted and agents are evaluated."""


@dataclass(frozen=True)
class Overrides:
    """Changes to a preset; None leaves its own."""

    pool: str | None = None
    """Another pool of a method: no-mep, no-filter (HSP's), or double (of all methods)."""
    policies: int | None = None
    """Members of the populations with the task reward."""
    kept: int | None = None
    """Biased policies that HSP's filter keeps."""
    mep: int | None = None
    """Members of MEP's population that join them, each at three levels of skill."""
    agents: int | None = None
    """Agents of a method."""
    sampling: str | None = None
    """How kitchens get their partners: stratified, uniform or prioritised."""
    kitchens: int | None = None
    """Kitchens in which an agent plays at once."""
    steps: int | None = None
    """Environment steps of every policy and agent, in both stages."""
    episodes: int | None = None
    """Episodes of a pair in a seat, when events are counted and agents are evaluated."""
    begin: Annotated[Begin | None, tyro.conf.arg(name="from")] = None
    """Begin agents and pairs as task policies (transfer), or with fresh weights (scratch)."""
    biased_shaping: str | None = None
    """What shapes HSP's biased policies: none, annealed, or constant (then for pi_a, too)."""

    @property
    def sizes(self) -> dict[str, int]:
        """The sizes that are asked for, by name."""
        sizes = {"policies": self.policies, "kept": self.kept, "mep": self.mep}
        return {name: size for name, size in sizes.items() if size is not None}

    @property
    def options(self) -> dict[str, str]:
        """The options of populations that are asked for, by name."""
        return {} if self.biased_shaping is None else {"biased_shaping": self.biased_shaping}

    def preset(self, preset: Preset) -> Preset:
        """A preset whose first stage and evaluation have these changes."""
        if self.steps is not None:
            preset = replace(preset, first_stage=preset.first_stage.lasting(self.steps))
        return preset if self.episodes is None else replace(preset, episodes=self.episodes)

    def second_stage(self, stage: SecondStage) -> SecondStage:
        """A second stage with these changes."""
        training = stage.training if self.steps is None else stage.training.lasting(self.steps)
        if self.kitchens is not None:
            training = replace(training, kitchens=self.kitchens)
        return replace(
            stage,
            training=training,
            sampling=stage.sampling if self.sampling is None else self.sampling,
            agents=stage.agents if self.agents is None else self.agents,
        )


NO_OVERRIDES = Overrides()

_SMOKE_STEPS = 8 * 40 * 12

_SMOKE = TrainingConfig(
    kitchens=8,
    rollout_steps=40,
    total_steps=_SMOKE_STEPS,
    epochs=2,
    minibatches=2,
    shaping=Schedule(1.0, 0.0, _SMOKE_STEPS),
    snapshots=4,
    network=NetworkConfig(hidden=(16, 16), shared_trunk=True),
)

_SMOKE_RECURRENT = replace(_SMOKE.network, recurrent=16, recurrent_kind=RecurrentKind.MINGRU)

# Written out, although some are the defaults: those may change, the paper's settings do not.
_PAPER = TrainingConfig(
    kitchens=100,
    rollout_steps=400,
    random_starts=0.0,
    total_steps=10_000_000,
    epochs=15,
    minibatches=1,
    chunk=10,
    learning_rate=Schedule(5e-4, 5e-4, 1),
    adam_epsilon=1e-5,
    weight_decay=0.0,
    max_grad_norm=10.0,
    clip=0.2,
    entropy=Schedule(0.01, 0.01, 1),
    discount=0.99,
    gae_lambda=0.95,
    value_clip=0.2,
    value_weight=1.0,
    huber_delta=10.0,
    value_norm_decay=0.99999,
    shaping=Schedule(1.0, 0.0, 100_000_000),
    network=NetworkConfig(
        ObservationKind.GRID, channels=(32, 64, 32), hidden=(64, 64, 64), layer_norm=True
    ),
)

# One trunk for actor and critic, and many small minibatches: with four large ones and Adam at 1e-3
# an update hardly moved a policy (a KL divergence of 0.001 to 0.004).
_ONE_TRUNK = NetworkConfig(shared_trunk=True)

_LAPTOP = TrainingConfig(
    minibatches=20,
    learning_rate=Schedule(5e-3, 3e-4, 1_000_000),
    entropy=Schedule(0.01, 0.01, 1),
    value_weight=0.5,
    # Nearly all that ever find the task reward have found it by then (docs/appendix/tuning.md).
    restart_at=0.4,
    network=_ONE_TRUNK,
)

_LAPTOP_ADAPTIVE = TrainingConfig(
    kitchens=72,  # 2 for each of the 36 partners of a full pool
    rollout_steps=100,
    random_starts=0.0,
    total_steps=12_000_000,
    # Fewer epochs on more games: partners nobody has met gain from games, not from epochs.
    epochs=2,
    minibatches=8,
    # Longer than the paper's 10: a minGRU's gradient costs the same over any number of steps.
    chunk=25,
    # All schedules end after three quarters, so that the last quarter shows whether learning has.
    learning_rate=Schedule(2e-3, 2e-4, 9_000_000),
    entropy=Schedule(0.02, 0.002, 9_000_000),
    shaping=Schedule(1.0, 0.0, 9_000_000),
    value_weight=0.5,
    network=replace(_ONE_TRUNK, recurrent=64, recurrent_kind=RecurrentKind.MINGRU),
)

_PAPER_ADAPTIVE = replace(
    _PAPER,
    kitchens=300,
    total_steps=100_000_000,
    network=replace(_PAPER.network, recurrent=64),
)

PRESETS: Mapping[str, Preset] = {
    "smoke": Preset(
        scale="tiny",
        first_stage=_SMOKE,
        second_stage=SecondStage(replace(_SMOKE, network=_SMOKE_RECURRENT), agents=2),
        episodes=2,
    ),
    "quick": Preset(
        scale="small",
        first_stage=_LAPTOP,
        second_stage=SecondStage(_LAPTOP_ADAPTIVE, agents=2),
        episodes=50,
    ),
    "laptop": Preset("full", _LAPTOP, SecondStage(_LAPTOP_ADAPTIVE)),
    "paper": Preset(
        "full",
        _PAPER,
        SecondStage(_PAPER_ADAPTIVE, sampling="uniform", agents=5),
        begin="scratch",
    ),
}
