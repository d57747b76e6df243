"""Two presets side by side: every setting in which they differ, and why. Loads no JAX."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum

from cochef.experiments.presets import PRESETS, Preset
from cochef.learning.config import Schedule
from cochef.validation import known

# By the end of a setting's name, why `laptop` has another value than `paper`.
REASONS: Mapping[str, str] = {
    "begin": "task policies already cook, so the second stage need not learn that again",
    "second_stage.sampling": (
        "all partners at all times: less variance, and they act by one matrix product"
    ),
    "second_stage.agents": "an even number keeps both cores busy",
    "kitchens": "smaller batches learn more from a step",
    "rollout_steps": "a quarter of an episode: updates come four times as often",
    "random_starts": "chefs that start with a soup in hand find out that deliveries pay",
    "total_steps": "what two cores do in minutes",
    "epochs": "more would cost time and gain little on small batches",
    "chunk": "a minGRU's gradient costs the same through any number of steps",
    "minibatches": "many small gradient steps move a policy further than a few large ones",
    "learning_rate": "bold at first and careful at the end, as training is short",
    "entropy": "explores at first and plays well at the end, as training is short",
    "value_weight": "actor and critic share a trunk, whose gradient the critic must not dominate",
    "shaping": "ends with the training, which is shorter",
    "restart_at": "in short training a member may never find the task reward",
    "network.observation": "the compact vector is lossless, and on a CPU 30 times cheaper",
    "network.hidden": "enough for a vector of one layout",
    "network.layer_norm": "not needed by a network of two layers",
    "network.recurrent_kind": "no matrix product in its loop over time, and it fits task policies",
    "network.shared_trunk": "half of the matrix products",
}


@dataclass(frozen=True)
class PresetDifference:
    """A setting in which two presets differ."""

    name: str
    values: tuple[str, str]
    reason: str


def differences(one: str = "laptop", other: str = "paper") -> list[PresetDifference]:
    """All settings in which two presets differ, in the order of their definition.

    Reasons are those for `laptop` against `paper`; other pairs have none.
    """
    tables = [_settings(PRESETS[known(name, "preset", PRESETS)]) for name in (one, other)]
    explained = (one, other) == ("laptop", "paper")
    return [
        PresetDifference(name, (value, tables[1][name]), reason(name) if explained else "")
        for name, value in tables[0].items()
        if value != tables[1][name]
    ]


def reason(name: str) -> str:
    """Why a setting differs between `laptop` and `paper`; empty if nobody has said."""
    fitting = [ending for ending in REASONS if name == ending or name.endswith(f".{ending}")]
    return REASONS[max(fitting, key=len)] if fitting else ""


def _settings(preset: Preset) -> dict[str, str]:
    return dict(_flat("", preset))


def _flat(name: str, value: object) -> Iterator[tuple[str, str]]:
    """All settings below a value by their dotted names, as a reader wants to see them."""
    if isinstance(value, Schedule):
        yield name, _schedule(value)
    elif is_dataclass(value):
        for entry in fields(value):
            inner = f"{name}.{entry.name}" if name else entry.name
            yield from _flat(inner, getattr(value, entry.name))
    else:
        yield name, _plain(value)


def _schedule(schedule: Schedule) -> str:
    if schedule.start == schedule.end:
        return f"{schedule.start:g}"
    return f"{schedule.start:g} to {schedule.end:g} over {schedule.steps:,} steps"


def _plain(value: object) -> str:
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, tuple):
        return " x ".join(str(part) for part in value)
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return f"{value:g}" if isinstance(value, float) else str(value)
