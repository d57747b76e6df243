"""Beyond the paper: its theorem as a checked example, and biased pairs against equilibria."""

from collections.abc import Iterator

from cochef import methods
from cochef.experiments import exploitability, theory
from cochef.experiments.exploitability import MeasureExploitability, SideGain
from cochef.experiments.jobs import Job
from cochef.experiments.presets import PRESETS
from cochef.experiments.stages import TrainPopulation
from cochef.reproduction.declared import (
    TRIAL_LAYOUTS,
    Condition,
    Experiment,
    Goal,
    RunPhase,
    Setting,
    Stored,
    no_goals,
)
from cochef.reproduction.page import Page

PAIRS = 3
SEEDS = 2
BIASED = tuple(
    Condition(method.name) for method in methods.every() if method.population.hidden_rewards
)
"""Methods whose population has hidden rewards."""


def best_responses(setting: Setting) -> Iterator[Goal]:
    """Best responses to both sides of the first biased pairs."""
    for condition in BIASED:
        population = setting.jobs(condition)[methods.get(condition.method).population.name]
        assert isinstance(population.stage, TrainPopulation)
        measure = MeasureExploitability(
            layout=setting.layout,
            training=population.stage.training,
            pairs=min(PAIRS, population.stage.members),
            seeds=SEEDS,
            episodes=PRESETS[setting.preset].episodes,
            seed=setting.seed,
        )
        label = f"{condition.method}-{setting.layout.name}"
        yield condition.goal(Job(measure, label, {"population": population}))


def show_theorem(stored: Stored) -> Page:
    """Theorem 5.1 on random games."""
    page = Page()
    page.say(
        "The construction of the proof, carried out: people's policies are rounded to "
        "probabilities i / K, each rounded policy gets a hidden reward by lemma 5.1, the game of "
        "each reward is solved anew, and the policy that is best for these partners is compared "
        "with the best for people. The worst of all games, beside the least that the proof allows. "
        "The check covers deterministic adaptive policies only, all that a game has; the policies "
        "of people are stochastic."
    )
    checks = theory.theorem_checks()
    held = sum(check.holds for check in checks)
    page.finding = f"The bounds of the proof hold in {held} of {len(checks)} checked cases"
    page.table("theorem", theory.theorem_table(checks))
    return page


def show_exploitability(stored: Stored) -> Page:
    """What best responses gain over biased pairs."""
    page = Page()
    page.say(
        "In place of pi_w a best response is rewarded by the hidden reward, in place of pi_a by "
        "the task reward; it begins as the policy that it may replace. A gain of 0 on both sides "
        "is an equilibrium; training may miss the best response, so gains are lower bounds."
    )
    every: list[SideGain] = []
    for layout in stored.among(TRIAL_LAYOUTS):
        for condition in BIASED:
            results = stored.results.select("exploitability", condition.name, layout)
            if not results:
                page.say_not_run(f"{condition.name} in {layout}")
            for result in results:
                gains = exploitability.parse(result.json(exploitability.RESULT))
                name = f"{condition.method}-{layout}-{result.seed}"
                title = f"{layout}: best responses to pairs of population {result.seed}"
                title += stored.marks([result])
                page.table(name, exploitability.table(gains, title))
                every += gains
    if every:
        gained = sum(one.low > 0 for one in every)
        page.finding = (
            f"Best responses gain on {gained} of {len(every)} sides of biased pairs (95% intervals)"
        )
    return page


THEOREM = Experiment(
    name="theorem",
    title="Theorem 5.1, checked",
    paper=(),
    goals=no_goals,
    show=show_theorem,
    layouts=(),
    populations=False,
)

EXPLOITABILITY = Experiment(
    name="exploitability",
    title="Biased pairs and equilibria",
    paper=(),
    goals=best_responses,
    show=show_exploitability,
    layouts=TRIAL_LAYOUTS,
    populations=False,
    phase=RunPhase.TRAINING,
)
