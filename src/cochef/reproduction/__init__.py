"""The paper's tables and figures as declared experiments: one registry, in the paper's order."""

from collections.abc import Mapping, Sequence

from cochef.reproduction import (
    ablations,
    comparison,
    configuration,
    people,
    people_covered,
    pictures,
    preferences,
    proximity,
    theory,
)
from cochef.reproduction.declared import Experiment
from cochef.validation import known

ALL = "all"

_IN_ORDER = (
    pictures.LAYOUT_PICTURES,
    pictures.FILM_STRIP,
    comparison.HUMAN_MODELS,
    ablations.POOL_CONSTRUCTION,
    ablations.PARALLEL,
    comparison.SCRIPTS,
    people.HUMAN_STUDY,
    ablations.SAMPLING,
    ablations.EVENT_DIFFERENCE,
    configuration.HYPERPARAMETERS,
    configuration.HIDDEN_REWARDS,
    configuration.SHAPING,
    people.HUMAN_LIKENESS,
    ablations.POOL_SIZE,
    comparison.SCRIPTS_BY_SEAT,
    # Beyond the paper.
    comparison.BEHAVIOUR,
    comparison.CROSS,
    ablations.CONSTANT_SHAPING,
    ablations.TRANSFER,
    preferences.PREFERENCES,
    people_covered.COVERAGE,
    proximity.PROXIMITY,
    theory.THEOREM,
    theory.EXPLOITABILITY,
)

EXPERIMENTS: Mapping[str, Experiment] = {experiment.name: experiment for experiment in _IN_ORDER}


def chosen(names: Sequence[str]) -> list[Experiment]:
    """The experiments of these names, in the paper's order; `all` stands for every one."""
    for name in names:
        known(name, "experiment", (ALL, *EXPERIMENTS))
    wanted = EXPERIMENTS if ALL in names else names
    return [experiment for name, experiment in EXPERIMENTS.items() if name in wanted]
