"""Effects of letters and order, and what the rules of a study leave out."""

from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

from cochef.web import analysis, effects, exclusions, report
from cochef.web.progress import GamePlayed
from cochef.web.records import Interruption, InterruptionReason, Steps
from cochef.web.store import StudyStore
from cochef.web.study import Exclusions
from tests.web.small_study import at_the_games, begun, finish_study, played_games, small_study
from tests.web.test_analysis import AGENTS, made_up_games


def with_positions(games, seed=0):
    """Give the games of each person positions in a random order."""
    generator = np.random.default_rng(seed)
    numbers = np.zeros(len(games["score"]), int)
    for person in np.unique(games["participant"]):
        own = games["participant"] == person
        numbers[own] = generator.permutation(own.sum())
    return {**games, "number": numbers}


def test_a_trend_over_the_games_is_found_for_each_agent():
    games = with_positions(made_up_games(people=20))
    none = effects.score_trend(AGENTS, games)
    assert none.p_any > 0.01 and none.p_different > 0.01
    games["score"] = games["score"] + 2.0 * games["number"]
    same = effects.score_trend(AGENTS, games)
    assert same.p_any < 1e-6 and same.p_different == pytest.approx(none.p_different)
    assert all(abs(slope - 2.0) < 0.3 for slope in same.slopes.values())
    games["score"] = games["score"] + np.where(games["agent"] == "MEP", games["number"], 0)
    different = effects.score_trend(AGENTS, games)
    assert different.p_different < 1e-6
    assert different.slopes["MEP"] == pytest.approx(3.0, abs=0.3)


def test_a_single_game_a_person_shows_no_trend():
    games = with_positions(made_up_games(people=2))
    first = {name: column[:1] for name, column in games.items()}
    assert effects.score_trend(AGENTS, first) is None


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Six people who always rank the letters A, B, C, D in this order; one pauses for long."""
    rules = Exclusions(paused_seconds_most=60.0, games_least=2)
    place = tmp_path_factory.mktemp("study") / "study.db"
    with closing(
        StudyStore.open(f"sqlite:///{place}", replace(small_study(), exclusions=rules))
    ) as opened:
        games = played_games(opened.study.layouts)
        for number in range(6):
            finish_study(opened, f"person-{number}", games, ranking=(0, 1, 2, 3))
        participant = at_the_games(opened, "interrupted")
        pause = Interruption(3, InterruptionReason.GONE, True, 0, 1.0, 61.0, is_over=True)
        actions, score = next(games[participant.layout])
        game = begun(opened, participant)
        opened.append([Steps(game, 0, tuple(map(tuple, actions)), (), (pause,))])
        opened.finish_game(game, score, 1_010.0, event=GamePlayed(0))
        yield opened


def test_ranking_by_letter_is_found(store):
    ranked = analysis.rankings(store)
    letter, met = effects.rank_effects(store, ranked.people.tolist(), ranked.ranks)
    # The seventh, who was interrupted, ranked C, A, B, D.
    assert letter.people == 7 and letter.p_value < 0.05
    assert letter.means == pytest.approx({"A": 8 / 7, "B": 15 / 7, "C": 19 / 7, "D": 4.0})
    assert met.people == 0 and np.isnan(met.p_value)  # nobody played in the warm-up


def test_games_and_people_are_left_out_by_the_rules_of_the_study(store):
    games = analysis.game_columns(store)
    assert exclusions.counts(games["excluded"]) == {"paused_seconds_most": 1}
    kept = analysis.kept(games)
    assert len(kept["score"]) == len(games["score"]) - 1 == 6 * 8
    ranked = analysis.rankings(store)
    out = analysis.people_left_out(store, games, ranked.people.tolist())
    assert out == {max(ranked.people)}
    assert len(ranked.without(out).people) == 6


def test_the_report_says_what_was_left_out_and_what_order_and_letters_did(store, tmp_path):
    names = report.write(store, tmp_path)
    text = (tmp_path / "report.md").read_text()
    assert {"plackett_luce.csv", "effect_letter.csv", "effect_of_position.csv"} <= set(names)
    assert "They leave out 1 of 49 games" in text
    assert "games paused for more than 60 seconds" in text
    assert "Rank by letter" in text and "Plackett-Luce" in text
    assert not text.startswith("# Simulated")


@pytest.mark.parametrize(("most", "code"), [(20.0, 0), (10.0, 2)])
def test_the_power_of_a_study_is_simulated_from_games_that_its_rules_keep(
    cochef, tmp_path, most, code
):
    database = f"sqlite:///{tmp_path / 'study.db'}"
    study = small_study(("counter_circuit",))
    study = replace(study, exclusions=Exclusions(median_lag_most=most))
    with closing(StudyStore.open(database, study)) as opened:
        games = played_games(study.layouts)
        for number in range(3):
            finish_study(opened, f"person-{number}", games)  # every tick is drawn 17 ms late
    options = ("--database", database, "--people", 4, "--simulations", 10)
    ended, text = cochef("study", "power", *options)
    assert ended == code
    assert ("without one that the study's rules leave out" in text) == (code == 2)


def interruption(reason, seconds, paused=True, undrawn=0):
    began = None if seconds is None else 1.0
    return Interruption(3, reason, paused, undrawn, began, seconds, is_over=True)


WAIT = interruption(InterruptionReason.STORE, 50.0)
KILLED = interruption(InterruptionReason.GONE, None)
HIDDEN = interruption(InterruptionReason.HIDDEN, 2.0)
PLAYED_ON = interruption(InterruptionReason.STALL, 9.0, paused=False, undrawn=4)


@pytest.mark.parametrize(
    ("interruptions", "pauses", "seconds", "unknown"),
    [
        ((), 0, 0.0, 0),
        ((HIDDEN, HIDDEN), 2, 4.0, 0),
        ((WAIT,), 0, 50.0, 0),  # nobody's pause, but as long as any other
        ((KILLED,), 1, 0.0, 1),  # a pause; nobody knows how long
        ((PLAYED_ON,), 0, 0.0, 0),  # not paused at all
        ((WAIT, KILLED, HIDDEN, PLAYED_ON), 2, 52.0, 1),
    ],
)
def test_what_counts_as_a_pause_and_for_how_long(tmp_path, interruptions, pauses, seconds, unknown):
    with closing(StudyStore.open(f"sqlite:///{tmp_path / 'study.db'}", small_study())) as opened:
        game = begun(opened, at_the_games(opened))
        opened.append([Steps(game, 0, ((1, 1),) * 40, (), interruptions)])
        seen = exclusions.quality(opened.game(game))
    assert (seen.pauses, seen.paused_seconds, seen.unknown_pauses) == (pauses, seconds, unknown)
    assert seen.undrawn_ticks == sum(one.undrawn for one in interruptions)


def test_the_rules_count_waits_for_the_database_by_their_length_alone(tmp_path):
    rules = Exclusions(pauses_most=0, paused_seconds_most=60.0)
    with closing(StudyStore.open(f"sqlite:///{tmp_path / 'study.db'}", small_study())) as opened:
        participant = at_the_games(opened)
        broken = []
        for waits in ((WAIT,), (WAIT, WAIT), (KILLED,)):
            game = begun(opened, participant)
            opened.append([Steps(game, 0, ((1, 1),) * 40, (), waits)])
            broken.append(exclusions.broken_rule(rules, exclusions.quality(opened.game(game))))
    assert broken == ["", "paused_seconds_most", "pauses_most"]


@pytest.mark.parametrize(
    ("rules", "broken"),
    [
        (Exclusions(), ""),
        (Exclusions(pauses_most=1), ""),
        (Exclusions(pauses_most=0), "pauses_most"),
        (Exclusions(paused_seconds_most=4.0), "paused_seconds_most"),
        (Exclusions(undrawn_ticks_most=6), "undrawn_ticks_most"),
        (Exclusions(undrawn_ticks_most=7), ""),
        (Exclusions(idle_share_most=0.4), "idle_share_most"),
        (Exclusions(median_lag_most=1.0), ""),  # nobody knows it
        (Exclusions(pauses_most=0, idle_share_most=0.0), "pauses_most"),
    ],
)
def test_a_game_is_left_out_by_the_first_rule_that_it_breaks(rules, broken):
    seen = exclusions.GameQuality(1, 5.0, 0, 7, float("nan"), 0.5)
    assert exclusions.broken_rule(rules, seen) == broken
