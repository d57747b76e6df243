"""The configuration as tables, beside the paper's: training settings, hidden and shaped rewards."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, is_dataclass
from typing import Any

from cochef import methods
from cochef.evaluation.tables import ResultTable
from cochef.experiments.presets import PRESETS
from cochef.kitchen import layouts
from cochef.learning import reward_config
from cochef.learning.config import Schedule, TrainingConfig
from cochef.methods.parts.pools import LEVELS
from cochef.reproduction import paper
from cochef.reproduction.declared import (
    LAYOUTS,
    ONION_LAYOUTS,
    TOMATO_LAYOUTS,
    Experiment,
    Stored,
    no_goals,
)
from cochef.reproduction.page import Page

# What every network and training has, whatever the settings.
_CONVOLUTION = {"kernel_size": 3, "stride": 1, "padding": 1}
_FIXED = {
    "value_loss": "Huber",
    "optimiser": "Adam",
    "initialisation": "orthogonal",
    "reward_normalisation": "of values, by their running mean and variance",
    "feature_normalisation": "none, as it has no effect with these networks",
}

# Settings that the paper says in other words, which cannot be compared as text.
_IN_OTHER_WORDS = ("mini_batch_size", "reward_normalisation", "feature_normalisation")

_SET_OF = {
    **dict.fromkeys(ONION_LAYOUTS, "onions"),
    **{layout: layout for layout in TOMATO_LAYOUTS},
}


def show_hyperparameters(stored: Stored) -> Page:
    """Tables 7 to 11: the preset's settings and those of the preset `paper`, beside the paper's."""
    page = Page()
    page.say(
        f"Settings of the preset {stored.preset} and of the preset paper, beside the published "
        "ones. A schedule is written as its first and last value."
    )
    _add_network(page)
    published = paper.numbers()["training"]
    found = []
    for stage, title in (("first_stage", "First stage"), ("second_stage", "Second stage")):
        wanted = {**published["both"], **published[stage]}
        columns = [_settings(name, stage) for name in (stored.preset, "paper")]
        rows = []
        for name in dict.fromkeys([*columns[0], *wanted]):
            values = [column.get(name) for column in (*columns, wanted)]
            rows.append((name, *map(_text, values)))
        header = ("setting", stored.preset, "preset paper", "published")
        page.table(stage, ResultTable(title, header, tuple(rows)))
        told = [row for row in rows if row[3] != "-" and row[0] not in _IN_OTHER_WORDS]
        own, papers = (sum(row[place] == row[3] for row in told) for place in (1, 2))
        found.append(
            f"{title}: the preset {stored.preset} has {own} of {len(told)} published settings, "
            f"the preset paper {papers}"
        )
    page.finding = "; ".join(found)
    rows = []
    for method in methods.every():
        algorithm = method.population.algorithm
        for part in (algorithm.intrinsic_reward, algorithm.auxiliary_loss):
            if is_dataclass(part) and not isinstance(part, type):
                for field, value in asdict(part).items():
                    name = f"{method.name} {field}"
                    rows.append((name, _text(value), _text(published["methods"].get(name))))
    header = ("setting", "ours", "published")
    page.table("methods", ResultTable("Settings of single methods", header, tuple(rows)))
    return page


def _add_network(page: Page) -> None:
    """Table 7: the convolutions of the preset `paper`, beside the paper's."""
    network = PRESETS["paper"].second_stage.training.network
    published = paper.numbers()["network"]
    shape = ("kernel_size", "stride", "padding")
    rows = []
    for layer, channels in enumerate(published["channels"]):
        ours = (network.channels[layer], *(_CONVOLUTION[name] for name in shape))
        theirs = (channels, *(published[name] for name in shape))
        rows.append((str(layer + 1), *map(str, ours), *map(str, theirs)))
    names = ("channels", "kernel", "stride", "padding")
    header = ("layer", *names, *(f"{name}, published" for name in names))
    note = (
        "Other presets may observe a vector and have no convolutions: see the settings of the "
        "network below. The paper also has max pooling after each layer, which would leave nothing "
        "of a kitchen of 5 x 5; neither the authors' code nor ours has it."
    )
    title = "Convolutions of the preset paper"
    page.table("network", ResultTable(title, header, tuple(rows), note=note))


def _settings(preset: str, stage: str) -> dict[str, Any]:
    settings = PRESETS[preset]
    training = settings.first_stage if stage == "first_stage" else settings.second_stage.training
    found = _flat(training)
    if stage == "second_stage":
        sizes = {method.name: method.sizes(settings.scale) for method in methods.every()}
        # A population with the task reward joins at all levels of skill.
        found["pool"] = len(LEVELS) * next(size["policies"] or 0 for size in sizes.values())
        found["sampling"] = settings.second_stage.sampling
        found["agents"] = settings.second_stage.agents
    return found


def _flat(training: TrainingConfig) -> dict[str, Any]:
    """All settings by name, those of the network and of schedules in a line each."""
    found: dict[str, Any] = {}
    for name, value in vars(training).items():
        if is_dataclass(value) and not isinstance(value, Schedule):
            found |= {f"network: {part}": setting for part, setting in vars(value).items()}
        else:
            found[name] = value
    found["shaping_steps"] = training.shaping.steps
    found["mini_batch_size"] = f"batch size / {training.minibatches}"
    return found | _FIXED


def _text(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, Schedule):
        same = value.start == value.end
        return f"{value.start:g}" if same else f"{value.start:g} to {value.end:g}"
    if isinstance(value, list | tuple):
        return ", ".join(_text(entry) for entry in value)
    if isinstance(value, bool | str):
        return str(value)
    if isinstance(value, int | float):
        return f"{value:,}" if isinstance(value, int) else f"{value:g}"
    return str(getattr(value, "value", value))


def show_hidden_rewards(stored: Stored) -> Page:
    """Tables 12 to 14: the sets C_j that hidden weights are drawn from."""
    page = Page()
    page.say("The sets that the weights of hidden rewards are drawn from, beside the paper's.")
    published = paper.numbers()["hidden"]
    others: list[str] = []
    for layout in LAYOUTS:
        ours = reward_config.shipped(layouts.get(layout)).hidden
        others += _add(page, f"hidden-{layout}", layout, ours, published[_SET_OF[layout]])
    page.finding = _agreement(others, "sets of weights")
    return page


def show_shaping(stored: Stored) -> Page:
    """Tables 15 to 19: the shaped rewards of both stages."""
    page = Page()
    page.say(
        "Shaped rewards by event, beside the paper's. The paper pays every dish that is taken from "
        "the dispenser; here only useful ones are paid, as in the authors' code."
    )
    published = paper.numbers()["shaping"]
    others: list[str] = []
    for layout in LAYOUTS:
        rewards = reward_config.shipped(layouts.get(layout))
        first = "onions" if layout in ONION_LAYOUTS else "tomatoes"
        for stage, weights, name in (
            ("first_stage", rewards.shaping, first),
            ("second_stage", rewards.adaptive_shaping, _SET_OF[layout]),
        ):
            title = f"{layout}, {stage.replace('_', ' ')}"
            ours = reward_config.by_label(weights)
            wanted = published[stage][name]
            others += _add(page, f"shaping-{layout}-{stage}", title, ours, wanted)
    page.finding = _agreement(others, "shaped rewards")
    return page


def _add(
    page: Page, name: str, title: str, ours: Mapping[str, Any], published: Mapping[str, Any]
) -> list[str]:
    """Add a table of two columns; the events in which they differ."""
    rows = []
    for event in dict.fromkeys([*ours, *published]):
        own = _text(_plain(ours.get(event)))
        theirs = _text(_plain(published.get(event)))
        rows.append((event, own, theirs, "" if own == theirs else "differs"))
    page.table(name, ResultTable(title, ("event", "ours", "paper", ""), tuple(rows)))
    return [event for event, own, theirs, _ in rows if own != theirs]


def _agreement(others: Sequence[str], what: str) -> str:
    """Whether all are the paper's, or which events are not."""
    but = f", but for {', '.join(dict.fromkeys(others))}" if others else ""
    return f"All {what} are the paper's{but}"


def _plain(value: object) -> object:
    """Numbers without a needless decimal point."""
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


HYPERPARAMETERS = Experiment(
    name="hyperparameters",
    title="Networks and training settings",
    paper=tuple(f"Table {number}" for number in range(7, 12)),
    goals=no_goals,
    show=show_hyperparameters,
    populations=False,
)

HIDDEN_REWARDS = Experiment(
    name="hidden-rewards",
    title="Sets of hidden weights",
    paper=tuple(f"Table {number}" for number in range(12, 15)),
    goals=no_goals,
    show=show_hidden_rewards,
    populations=False,
)

SHAPING = Experiment(
    name="shaping",
    title="Shaped rewards",
    paper=tuple(f"Table {number}" for number in range(15, 20)),
    goals=no_goals,
    show=show_shaping,
    populations=False,
)
