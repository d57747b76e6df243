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


def test_populations_whose_members_are_independent_are_split_where_asked_for():
    """HSP's pairs and agents are; the members of MEP's population meet."""
    layout = ("counter_circuit",)
    whole = plan.make(scope("event-difference", layouts=layout))
    parts = plan.make(scope("event-difference", layouts=layout, shard_members=1))
    kinds = [job.stage.kind for job in parts.jobs]
    assert kinds.count("shard") > kinds.count("population") == 2
    assert [job.stage.kind for job in whole.jobs] == [kind for kind in kinds if kind != "shard"]
    done = set()
    for job in parts.jobs:
        assert done.issuperset(job_input.address for job_input in job.inputs.values())
        done.add(job.address)
    (goal,) = [goal for _, goal in parts.goals]
    assert goal.job.address in done


def test_the_main_comparison_of_all_populations_comes_first_and_ablations_come_last():
    names = ("pool-construction", "scripts", "event-difference", "cross-play", "pool-size")
    made = plan.make(scope(*names, layouts=("counter_circuit",), seeds=(0, 1)))
    order = [(*block.experiments, block.seed) for block in made.blocks]
    assert order == [
        ("scripts", 0),
        ("scripts", 1),
        ("event-difference", 0),
        ("cross-play", 0),
        ("event-difference", 1),
        ("cross-play", 1),
        ("pool-construction", 0),
        ("pool-size", 0),
        ("pool-construction", 1),
        ("pool-size", 1),
    ]
    trains = [any(job.trains for job in block.jobs) for block in made.blocks]
    assert trains == [True] * 2 + [False] * 4 + [True] * 4


def test_chosen_methods_are_run_alone_and_the_rest_is_named():
    chosen = scope(
        *("scripts", "cross-play", "human-likeness"),
        layouts=("counter_circuit",),
        methods=("hsp", "sp"),
    )
    made = plan.make(chosen)
    assert [goal.condition for _, goal in made.goals] == ["hsp", "sp"]
    assert [goal.job.stage.config["method"] for _, goal in made.goals] == ["hsp", "sp"]
    assert made.other_methods == {
        "scripts": ["fcp", "mep", "trajdiv"],
        "cross-play": ["all methods"],
        "human-likeness": ["human-proxy", "human-2019"],
    }
    every = plan.make(replace(chosen, methods=methods.names()))
    assert {goal.condition for _, goal in every.goals} == {*methods.names(), "all methods"}


def test_a_stored_result_needs_no_job_unless_something_left_takes_its_inputs():
    wanted = scope("scripts", layouts=("many_orders",))
    stored = {goal.job.address for _, goal in plan.make(wanted).goals}
    done = plan.make(wanted, stored)
    assert done.jobs == []
    assert [block.stored for block in done.blocks] == [len(methods.names())]
    assert len(done.goals) == len(methods.names())
    both = plan.make(scope("scripts", "cross-play", layouts=("many_orders",)), stored)
    assert {job.stage.kind for job in both.jobs} == {"population", "pool", "agents", "crossplay"}
    assert not stored & {job.address for job in both.jobs}


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


def test_a_finished_block_is_never_left_out_for_a_budget(tmp_path):
    store = JobStore(tmp_path)
    wanted = scope("scripts", layouts=("many_orders", "distant_tomato"), seeds=(0, 1))
    first, second, third, last = plan.make(wanted).blocks
    for job in (*first.jobs, *last.jobs):
        finish(store, job, seconds=60.0)
    in_results = {goal.job.address for goal in third.goals}
    cut = plan.within(wanted, 0.0, store, in_results)
    assert [block.name for block in cut.blocks] == [first.name, third.name, last.name]
    assert [block.name for block in cut.left_out] == [second.name]
    assert all(store.is_done(job) for job in cut.jobs)
    assert cut.fewer_agents_than is None


def test_with_little_time_populations_get_fewer_agents_and_with_none_the_least_is_named(tmp_path):
    store = JobStore(tmp_path)
    wanted = scope("scripts", preset="laptop", layouts=("many_orders",), agents=50)
    least = plan.make(replace(wanted, agents=1))
    hours = 1.1 * estimates.measured(store).left(least.jobs, store) / 3600
    fewer = plan.within(wanted, hours, store)
    assert 1 <= fewer.scope.agents_each < 50 == fewer.fewer_agents_than
    assert fewer.blocks[0].goals[0].job.stage.config["agents"] == fewer.scope.agents_each
    with pytest.raises(InputError, match=r"^budget is 1e-05 hours; .* with one agent takes about"):
        plan.within(wanted, 1e-5, store)


def test_a_budget_for_nothing_to_run_is_no_error(tmp_path):
    assert plan.within(scope("theorem"), 1.0, JobStore(tmp_path)).blocks == ()


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
        ({"methods": ("ppo",)}, "unknown method 'ppo'"),
    ],
)
def test_what_cannot_be_run_is_refused(settings, message):
    with pytest.raises(InputError, match=message):
        scope("scripts", **settings)


def test_an_unknown_experiment_is_refused_with_the_known_ones():
    with pytest.raises(InputError, match=r"^unknown experiment 'table-1'; known: all, layouts, "):
        reproduction.chosen(["table-1"])


def test_fewer_agents_for_a_budget_are_named_in_text_and_json(cochef, tmp_path):
    wanted = scope("scripts", preset="laptop", layouts=("many_orders",), agents=4)
    least = plan.make(replace(wanted, agents=1))
    store = JobStore(tmp_path)
    hours = 1.1 * estimates.measured(store).left(least.jobs, store) / 3600
    words = ("reproduce", "scripts", "--layouts", "many_orders", "--agents", "4", "--plan")
    words += ("--out", str(tmp_path), "--budget", str(hours))
    code, text = cochef(*words)
    assert code == 0
    assert "fewer agents for the budget: " in text
    assert " a population, where 4 were asked for" in text
    code, text = cochef(*words, "--json")
    found = json.loads(text)
    assert code == 0
    assert 1 <= found["agents"] < 4 == found["agents asked for"]


def test_plans_are_also_there_as_json(cochef, tmp_path):
    words = ("scripts", "--preset", "laptop", "--out", str(tmp_path), "--json")
    code, text = cochef("reproduce", *words, "--plan")
    assert code == 0
    assert [block["block"] for block in json.loads(text)["blocks"]] == [1, 2, 3, 4, 5]
    code, text = cochef("cluster-plan", *words)
    assert code == 0
    schedules = json.loads(text)["schedules"]
    assert schedules[0]["hours"] > schedules[-1]["hours"] > 0
