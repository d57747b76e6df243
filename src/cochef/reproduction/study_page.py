"""The page of the study: preferences, scores and behaviour of people, or of simulated ones."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from cochef.evaluation.tables import ResultTable
from cochef.kitchen.constants import SEATS
from cochef.reproduction import figures, paper
from cochef.reproduction.declared import LAYOUTS, ONION_LAYOUTS, Stored
from cochef.reproduction.page import Page
from cochef.reproduction.scores import number_text
from cochef.reproduction.stored import StoredResult

STUDY = "study.json"
SIMULATED = "simulated participants"
PEOPLE = "participants"
ALL = "all"
AGENTS = "agents"  # of a study's job: who plays, by layout and label

Games = Mapping[str, np.ndarray]


def show_study(stored: Stored) -> Page:
    """Figures 5, 6 and 9, tables 3, 4 and 24."""
    page = Page()
    everywhere = "all layouts"
    people = stored.results.select("study", PEOPLE, everywhere)
    found: list[StoredResult] = people or stored.results.select("study", SIMULATED, everywhere)
    if not found:
        page.say("Not run: neither a study with people nor a rehearsal is stored.")
        return page
    table = found[-1].json(STUDY)
    games = {name: np.array(column) for name, column in table["games"].items()}
    number = len(np.unique(games["participant"]))
    page.is_simulated = table["simulated"]
    if page.is_simulated:
        page.say(
            f"SIMULATED: {number} participants are programs that play by scripts and rank by the "
            "scores of free games. The tables show what the study yields; they say nothing "
            f"about people.{stored.marks(found[-1:])}"
        )
    else:
        page.say(f"{number} people took part.")
    page.say(_stand_ins(found[-1].config.get(AGENTS, {})))
    agents = table["agents"]
    page.finding = _most_preferred(agents, table["preferences"])
    _add_preferences(page, agents, table["preferences"])
    _add_scores(page, agents, games)
    _add_behaviour(page, agents, games)
    return page


def _most_preferred(agents: list[str], found: list[dict[str, Any]]) -> str:
    """Who is preferred to the others over all layouts, and how sure that is."""
    overall = {
        agent: [one for one in found if (one["agent"], one["layout"]) == (agent, ALL)]
        for agent in agents
    }
    means = {
        agent: float(np.mean([one["value"] for one in rows]))
        for agent, rows in overall.items()
        if rows
    }
    if not means:
        return "Nobody has ranked any agents"
    first = max(means, key=means.__getitem__)
    closest = min(overall[first], key=lambda one: one["value"])
    return (
        f"{closest['people']} participants prefer {first}, least clearly to {closest['other']}: "
        f"{closest['value']:+.2f} (95% interval {closest['low']:+.2f} to {closest['high']:+.2f})"
    )


def _stand_ins(players: Mapping[str, list[str]]) -> str:
    """Which agents are not of the method whose name they have."""
    found = []
    for place, (name, *_) in players.items():
        label = place.rpartition(": ")[2]
        if name.partition(":")[0] != label.lower():
            found.append(f"{place} is {name}")
    if not found:
        return "Every agent is one of the method whose name it has."
    return f"STAND-INS, not agents of the method whose name they have: {'; '.join(found)}."


def _add_preferences(page: Page, agents: list[str], found: list[dict[str, Any]]) -> None:
    """Figures 5 and 9."""
    values: dict[str, dict[tuple[str, str], float]] = {}
    for one in found:
        values.setdefault(one["layout"], {})[one["agent"], one["other"]] = one["value"]
    rows = [
        (
            *(one["layout"], one["agent"], one["other"], f"{one['value']:+.2f}"),
            *(f"{one['low']:+.2f} to {one['high']:+.2f}", str(one["people"])),
        )
        for one in found
    ]
    overall = {ALL: values.pop(ALL)} if ALL in values else {}
    caption = "Preference for the row's partner over the column's: N_A/N - N_B/N"
    if overall:
        figure = figures.preference_matrices(agents, overall)
        page.figure("preferences-all", figure, f"{caption}, over all layouts")
    if values:
        figure = figures.preference_matrices(agents, values)
        page.figure("preferences", figure, f"{caption}, by layout")
    header = ("layout", "agent", "over", "preference", "95% interval", "n")
    page.table("preferences", ResultTable("Preferences", header, tuple(rows)))


def _add_scores(page: Page, agents: list[str], games: Games) -> None:
    """Table 24 and the bars of figure 6a; the seat is the agent's."""
    rows = []
    for layout in LAYOUTS:
        for agent in agents:
            for seat in range(SEATS):
                here = (games["layout"] == layout) & (games["agent"] == agent)
                here &= games["seat"] == SEATS - 1 - seat  # stored is the participant's
                published = paper.numbers()["people"][layout].get(agent, {}).get(str(seat))
                theirs = "-" if published is None else number_text((published[0], published[1]))
                scores = games["score"][here]
                apart = _apart(scores, None if published is None else published[0])
                rows.append((layout, agent, str(seat), _spread(scores), theirs, apart))
    header = ("layout", "agent", "agent's seat", "score (games)", "paper", "difference")
    note = "Mean ± standard deviation over games, and how many they are."
    table = ResultTable("Scores in the games that count", header, tuple(rows), note=note)
    page.table("scores", table)
    label = "mean score of a game"
    caption = "Mean score of a game, onion layouts; points are games"
    _add_bars(page, agents, games, "score", ONION_LAYOUTS, label, caption)


def _add_bars(
    page: Page,
    agents: list[str],
    games: Games,
    column: str,
    layouts: tuple[str, ...],
    label: str,
    caption: str,
) -> None:
    """Bars of a column by agent, with the games as points."""
    figure, panels = figures.panels(layouts)
    for layout, panel in panels.items():
        for number, agent in enumerate(agents):
            here = (games["layout"] == layout) & (games["agent"] == agent)
            values = games[column][here]
            if len(values):
                panel.bar(number, values.mean(), color=figures.colour(number))
                panel.plot([number] * len(values), values, "o", color="black", ms=3, alpha=0.4)
        panel.set_xticks(range(len(agents)), agents)
    panels[layouts[0]].set_ylabel(label)
    page.figure(f"bars-{column}", figure, caption)


def _add_behaviour(page: Page, agents: list[str], games: Games) -> None:
    """Onion passing (figure 6b), table 3 and table 4."""
    _add_bars(
        page,
        agents,
        {**games, "onions_passed": _sum_of(games, "onions_passed_over_counter")},
        "onions_passed",
        ("counter_circuit",),
        "onions passed in a game",
        "Onions that passed over the middle counter in a game; points are games",
    )
    prefers_onions = games["human_potting_onion"] > games["human_potting_tomato"]
    everyone = np.ones(len(prefers_onions), bool)
    measures: dict[str, tuple[str, np.ndarray]] = {
        "onion_preferred_score": ("score", prefers_onions),
        "wrong_placements": ("agent_wrong_placements", everyone),
        "correct_placements": ("agent_correct_placements", everyone),
        "score": ("score", everyone),
        "soups_from_middle_pot": ("agent_soups_from_middle_pot", everyone),
    }
    for layout, published in paper.numbers()["study"].items():
        rows = []
        for measure, theirs in published.items():
            column, chosen = measures[measure]
            for agent in agents:
                here = (games["layout"] == layout) & (games["agent"] == agent) & chosen
                values = games[column][here]
                published_mean = theirs.get(agent)
                papers = "-" if published_mean is None else f"{published_mean:g}"
                apart = _apart(values, published_mean)
                rows.append((measure.replace("_", " "), agent, _mean(values), papers, apart))
        title = f"{layout}: behaviour, means of a game (games)"
        header = ("measure", "agent", "ours", "paper", "difference")
        page.table(f"behaviour-{layout}", ResultTable(title, header, tuple(rows)))


def _sum_of(games: Games, name: str) -> np.ndarray:
    return games[f"agent_{name}"] + games[f"human_{name}"]


def _mean(values: np.ndarray) -> str:
    return f"{float(values.mean()):.2f} ({len(values)})" if len(values) else "- (0)"


def _spread(values: np.ndarray) -> str:
    """The mean, its standard deviation over games if there are several, and how many there are."""
    if not len(values):
        return "- (0)"
    deviation = float(values.std(ddof=1)) if len(values) > 1 else None
    return f"{number_text((float(values.mean()), deviation))} ({len(values)})"


def _apart(values: np.ndarray, published: float | None) -> str:
    """Our mean minus the paper's."""
    if published is None or not len(values):
        return "-"
    return f"{float(values.mean()) - published:+.2f}"
