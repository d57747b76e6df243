"""The layouts as pictures, and the paper's motivating example as a film strip."""

from collections.abc import Iterator

from cochef.experiments.jobs import Job
from cochef.kitchen import layouts
from cochef.reproduction import figures
from cochef.reproduction.declared import (
    LAYOUTS,
    OWN,
    Condition,
    Experiment,
    Goal,
    Setting,
    Stored,
    no_goals,
)
from cochef.reproduction.page import Page
from cochef.reproduction.stages import MakeFilm

LIKES_TOMATOES = "script:tomato_placement"
FILMED = (Condition("fcp"), OWN)
"""The paper shows the first; the second is its answer."""


def films(setting: Setting) -> Iterator[Goal]:
    """Films of agents with themselves, and with somebody who likes tomatoes."""
    for condition in FILMED:
        agents = setting.jobs(condition)["agents"]
        film = MakeFilm(condition.method, setting.layout, LIKES_TOMATOES, setting.seed)
        label = f"{condition.method}-{setting.layout.name}"
        yield condition.goal(Job(film, label, {"agents": agents}))


def show_layouts(stored: Stored) -> Page:
    """Figures 1 and 7."""
    page = Page()
    page.figure("layouts", figures.layout_pictures(LAYOUTS), "The paper's five layouts")
    page.finding = "All five layouts of the paper are there, drawn as they are played"
    for name in LAYOUTS:
        layout = layouts.get(name)
        orders = [
            f"{order.contents[0]} onions and {order.contents[1]} tomatoes pay {order.value}"
            for order in layout.orders
        ]
        page.say(f"{name}: {'; '.join(orders)}.")
    return page


def show_films(stored: Stored) -> Page:
    """Figure 2: six moments of the first 200 steps, and the films."""
    page = Page()
    page.say(
        "The paper's motivating example in distant_tomato: an agent with a copy of itself, and "
        f"with a partner who likes tomatoes ({LIKES_TOMATOES}, a script; the paper shows a person)."
    )
    scores = [
        f"{condition.method}'s agents score {score.mean:.0f} with {LIKES_TOMATOES} on average"
        for condition in FILMED
        if (score := stored.scores.score(condition.name, "distant_tomato", LIKES_TOMATOES))
    ]
    page.finding = ", ".join(scores)
    for condition in FILMED:
        results = stored.results.select("film", condition.name, "distant_tomato")
        if not results:
            page.say_not_run(condition.name)
        for result in results:
            for name, partner in (("itself", "a copy of itself"), ("partner", LIKES_TOMATOES)):
                for ending, what in ((".png", "strip"), (".gif", "film")):
                    content = result.read(f"{name}{ending}")
                    caption = f"{condition.method} (chef 1) with {partner} (chef 2): {what}"
                    caption += stored.marks([result])
                    file = f"{condition.method}-{name}{ending}"
                    page.picture(file, content, caption, wide=what == "strip")
    return page


LAYOUT_PICTURES = Experiment(
    name="layouts",
    title="The five layouts",
    paper=("Figure 1", "Figure 7"),
    goals=no_goals,
    show=show_layouts,
    populations=False,
)

FILM_STRIP = Experiment(
    name="film-strip",
    title="A partner who likes tomatoes",
    paper=("Figure 2",),
    goals=films,
    show=show_films,
    layouts=("distant_tomato",),
    populations=False,
)
