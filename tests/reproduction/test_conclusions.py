"""The last section says of every claim what the cases say, and nothing more."""

from dataclasses import replace

from cochef.experiments.jobs import Job
from cochef.reproduction import claims, conclusions
from cochef.reproduction.origin import ResultOrigin
from cochef.reproduction.scores import Entry, Score
from tests.reproduction import made_up

HELD = claims.Claim(claims.SCRIPTED, "ahead of fcp", "+10.00", claims.AGREES, 0.01, 0.02)
BARELY = claims.Claim(claims.SCRIPTED, "ahead of mep", "+4.00", claims.AGREES, 0.04, 0.08)
REFUTED = claims.Claim(claims.SCRIPTED, "ahead of trajdiv", "-9.00", claims.DISAGREES, 0.01, 0.02)
UNTESTED = claims.Claim(claims.UNLIKE, "in a layout", "one population: +1, no test")
MIXED = replace(UNTESTED, origin=ResultOrigin(is_current=False))


def test_cases_are_counted_by_claim_and_claims_without_a_case_have_none():
    table = conclusions.topic_table([HELD, BARELY, REFUTED, UNTESTED])
    rows = {row[0]: row[1:] for row in table.rows}
    assert list(rows) == list(claims.TOPICS)
    assert rows[claims.SCRIPTED] == ("1", "1", "1")
    assert rows[claims.UNLIKE] == ("0", "0", "1")
    assert rows[claims.SAMPLING] == ("0", "0", "0")


def test_every_case_stands_in_the_section_of_its_verdict_with_its_statistic(tmp_path):
    text = conclusions.sections([HELD, REFUTED, UNTESTED, MIXED], made_up.results(tmp_path))
    agree, rest = text.split("### Where we do not")
    disagree, rest = rest.split("### What the runs so far do not decide")
    undecided, reasons = rest.split("### Why numbers differ")
    assert f"{claims.SCRIPTED}: ahead of fcp: +10.00, p = 0.010 (0.020)" in agree
    assert "ahead of trajdiv: -9.00" in disagree
    assert "one population: +1, no test" in undecided
    counted = (
        "2 cases, 0 of them not run by the same populations, 1 † not of one current configuration"
    )
    assert f"<summary>{claims.UNLIKE}: {counted}</summary>" in undecided
    assert "- Scripts:" in reasons


def test_without_any_case_nothing_is_agreed_on(tmp_path):
    text = conclusions.sections([], made_up.results(tmp_path))
    assert text.count("Nothing.") == 3


def trained(kind, steps, inputs=None, **settings):
    """A job that trained something for some steps."""
    network = {"observation": "compact", "recurrent": 64, "recurrent_kind": "mingru"}
    training = {"total_steps": steps, "kitchens": 72, "rollout_steps": 100, "epochs": 2}
    content = {"training": {**training, "network": network}, **settings}
    return Job(made_up.Made(kind, 0, {}, settings=content), kind, inputs or {})


def test_why_numbers_differ_is_said_by_the_settings_of_stored_results(tmp_path):
    parents = trained("population", 900_000)
    pool = Job(made_up.Made("pool", 0, {}), "pool", {"biased": trained("population", 700_000)})
    inputs = {"parents": parents, "pool": pool}
    agents = trained("agents", 4_321_000, inputs, sampling="prioritised")
    scores = {"script:tomato_placement": 200.0}
    for seed in (0, 1):
        stage = made_up.evaluation(seed, scores)
        job = made_up.keep(tmp_path, "hsp", stage, inputs={"agents": agents})
    text = conclusions.sections([], made_up.results(tmp_path, ("hsp", job)))
    _, reasons = text.split("### Why numbers differ")
    for said in (
        "learned for 700,000 to 900,000 steps and adaptive agents for 4,321,000 (the paper: 10,000",
        "an adaptive agent after 7,200 steps (72 kitchens x 100, 2 epochs) (the paper: 40,000",
        "and 120,000 steps (300 kitchens x 400, 15 epochs))",
        "Sampling of partners: prioritised (the paper: uniform)",
        "a mingru of 64",
        "begin as final policies of a population with the task reward",
        "baselines have the same settings and were not tuned by themselves",
        "over five seeds; cells of the main comparison have 2 here",
    ):
        assert said in reasons


def test_distances_are_over_cells_that_both_have():
    def entry(ours, papers):
        score = None if ours is None else Score({0: ours}, 1, 1)
        return Entry("many_orders", "script:delivery", None, "hsp", score, papers)

    entries = [entry(10.0, (20.0, 1.0)), entry(50.0, (20.0, None)), entry(None, (1.0, 1.0))]
    table = conclusions.distance_table({"scripts": [*entries, entry(3.0, None)]})
    assert table.rows == (("scripts", "hsp", "2", "+10.0", "20.0"),)
