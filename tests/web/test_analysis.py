"""Analyses of made-up data with known answers, and the report of a small study."""

import csv
from base64 import b64encode

import numpy as np
import pytest

from cochef.kitchen.events import Event
from cochef.web import analysis, report
from cochef.web.findings import main_finding
from cochef.web.progress import Judged
from cochef.web.records import ParticipantIdentity
from cochef.web.store import StudyStore
from tests.web.small_study import events_before_the_games, finish_study, played_games, small_study

AGENTS = ("HSP", "MEP", "FCP")
RANKED = analysis.Rankings(
    people=np.arange(6),
    layouts=np.array(["ring"] * 4 + ["circuit"] * 2),
    ranks=np.array([[1, 2, 3], [1, 3, 2], [2, 1, 3], [1, 2, 3], [3, 2, 1], [3, 2, 1]]),
)


def test_a_preference_is_the_share_who_ranked_one_above_minus_the_share_who_ranked_it_below():
    found = {
        (one.layout, one.agent, one.other): one for one in analysis.preferences(AGENTS, RANKED)
    }
    assert len(found) == 3 * 6
    assert found["ring", "HSP", "MEP"].value == 3 / 4 - 1 / 4
    assert found["circuit", "HSP", "MEP"].value == -1
    assert found["all", "HSP", "MEP"].value == pytest.approx(3 / 6 - 3 / 6)
    assert found["all", "MEP", "FCP"].value == pytest.approx(3 / 6 - 3 / 6)
    assert [found[layout, "MEP", "FCP"].people for layout in ("ring", "circuit", "all")] == [
        4,
        2,
        6,
    ]
    for (layout, one, two), preference in found.items():
        assert preference.value == -found[layout, two, one].value
        assert preference.low <= preference.value <= preference.high


def test_where_all_agree_the_interval_is_a_point_and_otherwise_it_is_not():
    found = {
        (one.layout, one.agent, one.other): one for one in analysis.preferences(AGENTS, RANKED)
    }
    agreed = found["circuit", "FCP", "HSP"]
    open_one = found["ring", "HSP", "MEP"]
    assert (agreed.low, agreed.value, agreed.high) == (1, 1, 1)
    assert open_one.low < open_one.value < open_one.high


def made_up_games(people=40, repeats=3, seed=0):
    """Scores with known means by agent and seat; people deviate by 15, games by 5."""
    generator = np.random.default_rng(seed)
    rows = []
    for person in range(people):
        level = generator.normal(0, 15)
        for agent, mean in zip(AGENTS, (100, 80, 79), strict=True):
            for seat in (0, 1):
                for _ in range(repeats):
                    layout = "ring" if person % 2 else "circuit"
                    score = (
                        mean
                        + 10 * seat
                        + level
                        + (30 if layout == "ring" else 0)
                        + generator.normal(0, 5)
                    )
                    rows.append((person, layout, agent, seat, score))
    columns = zip(*rows, strict=True)
    return {
        name: np.array(column)
        for name, column in zip(
            ("participant", "layout", "agent", "seat", "score"), columns, strict=True
        )
    }


def test_the_mixed_model_finds_the_means_differences_and_deviations_that_are_there():
    fits = {fit.layout: fit for fit in analysis.fits(AGENTS, made_up_games())}
    assert set(fits) == {"ring", "circuit", "all"}
    fit = fits["all"]
    assert (fit.games, fit.people, fit.notes) == (720, 40, ())
    assert fit.deviation_of_people == pytest.approx(15, abs=4)
    assert fit.deviation_of_games == pytest.approx(5, abs=0.5)
    means = {(one.agent, one.seat): one for one in fit.estimates}
    for agent, mean in zip(AGENTS, (100, 80, 79), strict=True):
        for seat, extra in ((0, 0), (1, 10), (None, 5)):
            one = means[agent, seat]
            assert abs(one.mean - (mean + extra + 15)) < 1.5 * (
                one.high - one.mean
            )  # three standard errors
    contrasts = {(one.agent, one.other): one for one in fit.contrasts}
    assert contrasts["HSP", "MEP"].low < 20 < contrasts["HSP", "MEP"].high
    assert (
        contrasts["HSP", "MEP"].high - contrasts["HSP", "MEP"].low < 3
    )  # people are compared with themselves
    assert contrasts["HSP", "MEP"].corrected < 1e-6
    assert contrasts["MEP", "FCP"].low < 1 < contrasts["MEP", "FCP"].high
    assert contrasts["MEP", "FCP"].corrected >= contrasts["MEP", "FCP"].p_value


def test_an_interval_of_the_mixed_model_misses_the_truth_about_as_often_as_it_says():
    missed = 0
    for seed in range(20):
        fit = analysis.fits(AGENTS, made_up_games(people=12, seed=seed))[-1]
        contrast = next(one for one in fit.contrasts if (one.agent, one.other) == ("HSP", "MEP"))
        missed += not contrast.low < 20 < contrast.high
    assert missed <= 4


def test_scores_that_never_differ_are_reported_with_a_note_instead_of_failing():
    games = made_up_games(people=4)
    games["score"] = np.zeros(len(games["score"]))
    fit = analysis.fits(AGENTS, games)[-1]
    assert fit.notes
    assert {one.mean for one in fit.estimates} == {0.0}
    assert {one.corrected for one in fit.contrasts} == {1.0}


def test_agents_that_nobody_met_in_both_seats_are_left_out():
    games = made_up_games(people=4)
    kept = (games["agent"] != "FCP") | (games["seat"] == 0)
    fit = analysis.fits(AGENTS, {name: column[kept] for name, column in games.items()})[-1]
    assert {one.agent for one in fit.estimates} == {"HSP", "MEP"}


def test_the_share_of_the_human_is_not_a_number_where_nobody_did_it():
    games = {"human_delivery": np.array([3, 0, 0]), "agent_delivery": np.array([1, 2, 0])}
    assert analysis.shares(games, Event.DELIVERY).tolist()[:2] == [0.75, 0.0]
    assert np.isnan(analysis.shares(games, Event.DELIVERY)[2])


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    store = StudyStore.open(
        f"sqlite:///{tmp_path_factory.mktemp('study') / 'study.db'}", small_study()
    )
    games = played_games(store.study.layouts, ticks=120)
    for number in range(4):
        finish_study(
            store, f"person-{number}", games, ranking=((2, 0, 1, 3), (3, 2, 1, 0))[number % 2]
        )
    participant = store.join(ParticipantIdentity("prolific", "rude"), 1.0)
    comments = (("<script>alert(1)</script> | [x](http://y) *so*\nso", "=1+1"),) * 4
    for event in events_before_the_games(store.study)[:-1]:
        store.act(participant.number, event, 2.0)
    store.act(participant.number, Judged((0, 1, 2, 3), comments), 2.0)
    yield store
    store.close()


def test_ranks_are_those_that_people_gave(store):
    ranked = analysis.rankings(store)
    people = [one for one in store.participants() if one.progress.stage != "consent"]
    assert ranked.people.tolist() == [one.number for one in people]
    assert ranked.layouts.tolist() == [one.layout for one in people]
    order = {partner.agent: n for n, partner in enumerate(people[0].plan.partners)}
    assert ranked.ranks[0].tolist() == [
        (2, 0, 1, 3).index(order[agent]) + 1 for agent in store.study.agents
    ]


def test_every_complete_game_is_counted_with_what_both_did(store):
    games = analysis.game_columns(store)
    assert len(games["score"]) == 4 * 8
    assert (games["score"] == games["replayed_score"]).all()
    deliveries = games["human_delivery"] + games["agent_delivery"]
    assert (deliveries * 20 == games["score"])[games["layout"] == "counter_circuit"].all()
    first = {name: column[games["seat"] == 0] for name, column in games.items()}
    assert first["human_placement_in_pot"].sum() > 0
    assert first["agent_placement_in_pot"].sum() == 0  # seat 1 was a script that only delivers


def test_the_report_has_all_tables_and_figures_and_shows_comments_as_text(store, tmp_path):
    names = report.write(store, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == set(names)
    assert {
        "report.html",
        "report.md",
        "games.csv",
        "preferences.csv",
        "scores.csv",
        "contrasts.csv",
    } <= set(names)
    assert {"preferences.png", "scores.png", "comments.csv", "behaviour.csv"} <= set(names)
    page = (tmp_path / "report.html").read_text()
    text = (tmp_path / "report.md").read_text()
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert r"\<script\>" in text
    assert r"\[x\](http://y) \*so\* so" in text
    for name in ("preferences.png", "scores.png"):
        assert b64encode((tmp_path / name).read_bytes()).decode() in page
        assert f"({name})" in text
    with (tmp_path / "comments.csv").open(newline="") as file:
        assert "'=1+1" in {row["comment"] for row in csv.DictReader(file)}
    assert '<p class="lead">People rank ' in page
    for heading in ("Participants", "Preferences", "Scores", "Behaviour", "Comments"):
        assert f"<h2>{heading}</h2>" in page
        assert f"## {heading}" in text


def test_a_report_opens_with_whom_people_prefer_and_how_sure_that_is():
    ranks = np.array([[1, 2, 3]] * 20 + [[2, 1, 3]] * 4)
    agreed = analysis.Rankings(np.arange(24), np.array(["ring"] * 24), ranks)
    sentence = main_finding(analysis.worths(AGENTS, agreed), [])
    assert sentence.startswith("People rank HSP first and prefer it to MEP, the next, with")
    assert "24 people)." in sentence
    # The same rankings, with the agents in another order.
    turned = analysis.Rankings(agreed.people, agreed.layouts, ranks[:, ::-1])
    assert main_finding(analysis.worths(AGENTS[::-1], turned), []) == sentence
    split = main_finding(analysis.worths(AGENTS, RANKED), [])
    assert split.endswith("6 people), which chance alone may explain.")


def test_without_rankings_a_report_opens_with_who_scores_most():
    sentence = main_finding([], analysis.fits(AGENTS, made_up_games()))
    assert sentence.startswith("With people HSP scores most, ")
    assert "more than MEP, the next" in sentence
    assert "p < 0.001 by Holm's method, 40 people)." in sentence
    assert "nothing is compared" in main_finding([], [])


def test_a_study_without_anybody_has_a_report(tmp_path):
    store = StudyStore.open(f"sqlite:///{tmp_path / 'study.db'}", small_study())
    assert "report.html" in report.write(store, tmp_path / "out")
    store.close()
