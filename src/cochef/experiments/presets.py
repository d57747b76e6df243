"""Settings that belong together: for a test, for two cores, and the paper's. Loads nothing that computes."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, get_args

from cochef.agents.network_config import NetworkConfig, ObservationKind
from cochef.errors import InputError, shown
from cochef.learning.config import Schedule, TrainingConfig

Method = Literal["selfplay", "fcp", "mep", "trajdiv", "hsp"]
METHODS: tuple[str, ...] = get_args(Method)

RunMethod = Literal["hsp", "fcp", "mep", "trajdiv", "sp"]
RUN_METHODS: tuple[str, ...] = get_args(RunMethod)

PoolName = Literal["paper", "no-mep", "no-filter", "double"]

Shaping = Literal["none", "annealed", "constant"]

PresetName = Literal["smoke", "quick", "laptop", "paper"]


@dataclass(frozen=True)
class SecondStage:
    """How agents learn to get along with a pool."""

    training: TrainingConfig
    sampling: str = "stratified"
    """How kitchens get their partners: stratified, uniform or prioritised."""
    identity: str = "number"
    """What the critic is told about the partner: none, number or one-hot."""
    seeds: int = 4
    """Agents, which differ in nothing but chance."""


@dataclass(frozen=True)
class Preset:
    """How populations learn, how many members they have, what becomes of them in pools, and how agents learn."""

    training: TrainingConfig
    members: Mapping[str, int]
    adaptive: SecondStage
    kept: int | None = 18
    """Biased policies that the filter of HSP keeps; all if None."""
    mep: int = 6
    """MEP policies, three levels of each, in the pool of HSP."""
    episodes: int = 100
    """Episodes of a pair in a seat, when policies are counted and agents are measured."""
    biased_shaping: Shaping = "none"
    """What helps biased policies to learn."""


@dataclass(frozen=True)
class Changes:
    """What may be asked for instead of a preset's own; None leaves it."""

    pool: PoolName = "paper"
    """HSP's pool without MEP policies and filter, without filter, or all pools doubled."""
    policies: int | None = None
    """Members of the populations of FCP, MEP and TrajDiv; three levels of each are in their pools."""
    kept: int | None = None
    """Biased policies that are kept."""
    mep: int | None = None
    """Members of MEP's population that join them."""
    seeds: int | None = None
    """Agents a method."""
    sampling: str | None = None
    """How agents meet the policies of a pool."""
    kitchens: int | None = None
    """Kitchens in which an agent plays at once."""
    biased_shaping: Shaping | None = None
    """What helps biased policies to learn: nothing, a helping reward that fades, or one that stays for both."""

    def of(self, preset: "Preset") -> "Preset":
        """The preset with these changes."""
        self._check(preset)
        most = preset.members["hsp"]
        kept, mep, factor = preset.kept, preset.mep, 2 if self.pool == "double" else 1
        if self.pool in ("no-mep", "no-filter"):
            kept = None
        if self.pool == "no-mep":
            mep = 0
        kept, mep = kept and min(factor * kept, most), factor * mep
        members = {
            method: number if method in ("hsp", "selfplay") else self.policies or factor * number
            for method, number in preset.members.items()
        }
        stage = preset.adaptive
        training = stage.training if self.kitchens is None else replace(stage.training, kitchens=self.kitchens)
        seeds = stage.seeds if self.seeds is None else self.seeds
        stage = replace(stage, training=training, seeds=seeds, sampling=self.sampling or stage.sampling)
        kept, mep = kept if self.kept is None else self.kept, mep if self.mep is None else self.mep
        shaping = self.biased_shaping or preset.biased_shaping
        return replace(preset, members=members, kept=kept, mep=mep, adaptive=stage, biased_shaping=shaping)

    def _check(self, preset: "Preset") -> None:
        """Everything is known, within its limits, and says the same as the rest."""
        for what, value, known in (
            ("pool", self.pool, get_args(PoolName)),
            ("biased shaping", self.biased_shaping or "none", get_args(Shaping)),
        ):
            if value not in known:
                raise InputError(f"unknown {what} {shown(value)}; known: {', '.join(known)}")
        limits = {"policies": (1, 1000), "kept": (1, preset.members["hsp"]), "mep": (0, 1000), "seeds": (1, 1000)}
        for name, (least, top) in limits.items():
            value = getattr(self, name)
            if value is not None and not least <= value <= top:
                raise InputError(f"{name} is {shown(value)}; it takes a whole number from {least} to {top}")
        settled = {"no-filter": ("kept",), "no-mep": ("kept", "mep"), "double": ("kept", "mep", "policies")}
        for name in settled.get(self.pool, ()):
            if getattr(self, name) is not None:
                raise InputError(
                    f"{name} is {getattr(self, name)} with the pool {self.pool}, which settles it; drop one"
                )


AS_IT_IS = Changes()

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
    network=NetworkConfig(ObservationKind.GRID, channels=(32, 64, 32), hidden=(64, 64, 64), normalise=True),
)

_MEMORY = replace(TrainingConfig().network, memory=64)

_LAPTOP_ADAPTIVE = TrainingConfig(
    kitchens=144,
    steps=50,
    scattered=0.0,
    total=8_000_000,
    minibatches=5,
    learning_rate=Schedule(2e-3, 3e-4, 8_000_000),
    entropy=Schedule(0.05, 0.005, 8_000_000),
    shaping=Schedule(1.0, 0.0, 8_000_000),
    network=_MEMORY,
)

PRESETS: Mapping[str, Preset] = {
    "smoke": Preset(
        _SMOKE,
        dict.fromkeys(METHODS, 2) | {"hsp": 4},
        SecondStage(replace(_SMOKE, chunk=10, network=replace(_SMOKE.network, memory=8)), seeds=2),
        kept=3,
        mep=1,
        episodes=2,
    ),
    "quick": Preset(
        TrainingConfig().lasting(500_000),
        {"selfplay": 1, "fcp": 6, "mep": 6, "trajdiv": 6, "hsp": 18},
        SecondStage(_LAPTOP_ADAPTIVE.lasting(2_500_000), seeds=2),
        kept=9,
        mep=3,
        episodes=50,
    ),
    "laptop": Preset(TrainingConfig(), _PAPER_MEMBERS, SecondStage(_LAPTOP_ADAPTIVE)),
    "paper": Preset(
        _PAPER,
        _PAPER_MEMBERS,
        SecondStage(
            replace(_PAPER, kitchens=300, total=100_000_000, network=replace(_PAPER.network, memory=64)),
            sampling="uniform",
            seeds=5,
        ),
    ),
}
