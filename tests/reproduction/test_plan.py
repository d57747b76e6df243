"""The plan: what is run in which order, how long it takes, and what a budget leaves out."""

import json
from dataclasses import replace

import pytest

from cochef import methods, reproduction
from cochef.errors import InputError
from cochef.experiments import estimates
from cochef.experiments.jobs import DONE, JobStore
from cochef.reproduction import plan
from cochef.reproduction.plan import Scope


def scope(*names, preset="smoke", **settings):
    return Scope(tuple(reproduction.chosen(names)), preset=preset, **settings)


def finish(store, job, seconds=1.0):
    store.plan([job])
    (store.directory(job) / DONE).write_text(json.dumps({"seconds": seconds}))


def test_tables_of_the_same_comparison_share_all_jobs():
    one = plan.make(scope("scripts"))
    both = plan.make(scope("scripts", "human-models"))
    assert [job.address for job in one.jobs] == [job.address for job in both.jobs]


def test_a_population_is_complete_before_the_next_begins_and_so_is_a_layout():
    made = plan.make(scope("scripts", layouts=("many_orders", "distant_tomato"), seeds=(4, 2)))
    order = [(block.seed, block.layout) for block in made.blocks]
    assert order == [
        (4, "many_orders"),
        (4, "distant_tomato"),
        (2, "many_orders"),
        (2, "distant_tomato"),
    ]
    for block in made.blocks:
        assert [goal.condition for goal in block.goals] == list(methods.names())


def test_every_job_comes_once_and_after_its_inputs_and_shared_populations_come_first():
    made = plan.make(scope("scripts", layouts=("many_orders",)))
    seen = set()
    for job in made.jobs:
        assert job.address not in seen
        assert all(job_input.address in seen for job_input in job.inputs.values())
        seen.add(job.address)
    assert [job.stage.kind for job in made.jobs[:2]] == ["population", "population"]
    assert len({job.label for job in made.jobs[:2]}) == 2


def test_a_budget_keeps_whole_blocks_and_names_those_left_out(tmp_path):
    store = JobStore(tmp_path)
    wanted = scope("scripts", layouts=("many_orders", "distant_tomato"), seeds=(0, 1))
    first = plan.make(wanted).blocks[0]
    for job in first.jobs:
        finish(store, job, seconds=60.0)
    hours = len(first.jobs) * 1.5 / 60  # enough for one more block like the first
    cut = plan.within(wanted, hours, store)
    assert [block.name for block in cut.blocks] == [
        "scripts: many_orders, population 0",
        "scripts: distant_tomato, population 0",
    ]
    assert len(cut.left_out) == 2
    assert cut.scope.agents_each == wanted.agents_each


def test_with_little_time_populations_get_fewer_agents_and_with_none_the_least_is_named(tmp_path):
    store = JobStore(tmp_path)
    wanted = scope("scripts", preset="laptop", layouts=("many_orders",), agents=50)
    least = plan.make(replace(wanted, agents=1))
    hours = 1.1 * estimates.measured(store).left(least.jobs, store) / 3600
    fewer = plan.within(wanted, hours, store)
    assert 1 <= fewer.scope.agents_each < 50
    assert fewer.blocks[0].goals[0].job.stage.config["agents"] == fewer.scope.agents_each
    with pytest.raises(InputError, match=r"^budget is 1e-05 hours; .* with one agent takes about"):
        plan.within(wanted, 1e-5, store)


def test_in_brief_every_experiment_has_one_layout():
    made = plan.make(scope("all", layouts=("counter_circuit", "distant_tomato"), brief=True))
    places = [(name, block.layout) for block in made.blocks for name in block.experiments]
    assert len(places) == len({name for name, _ in places})
    assert ("scripts", "counter_circuit") in places
    assert ("film-strip", "distant_tomato") in places


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"layouts": ("cramped_room",)}, "unknown layout of the paper 'cramped_room'"),
        ({"seeds": (1, 1)}, "each once"),
        ({"agents": 0}, "agents is 0"),
    ],
)
def test_what_cannot_be_run_is_refused(settings, message):
    with pytest.raises(InputError, match=message):
        scope("scripts", **settings)


def test_an_unknown_experiment_is_refused_with_the_known_ones():
    with pytest.raises(InputError, match=r"^unknown experiment 'table-1'; known: all, layouts, "):
        reproduction.chosen(["table-1"])


def test_plans_are_also_there_as_json(cochef, tmp_path):
    words = ("scripts", "--preset", "laptop", "--out", str(tmp_path), "--json")
    code, text = cochef("reproduce", *words, "--plan")
    assert code == 0
    assert [block["block"] for block in json.loads(text)["blocks"]] == [1, 2, 3, 4, 5]
    code, text = cochef("cluster-plan", *words)
    assert code == 0
    schedules = json.loads(text)["schedules"]
    assert schedules[0]["hours"] > schedules[-1]["hours"] > 0
