"""Estimates of jobs: by similar finished jobs, else by saved rates."""

import json
from dataclasses import replace

import pytest

from cochef.errors import InputError
from cochef.experiments import estimates, pipeline
from cochef.experiments.jobs import DONE, JOB, Job, JobStore, in_order
from cochef.experiments.shards import split
from cochef.kitchen import layouts
from tests.cluster.writing import Write

TOMATO = layouts.get("distant_tomato")
ORDERS = layouts.get("many_orders")


def population(name="hsp", layout=TOMATO, preset="laptop", **settings):
    return Job(pipeline.population(name, layout, preset, **settings), name)


def finish(store, job, seconds):
    store.plan([job])
    (store.directory(job) / DONE).write_text(json.dumps({"seconds": seconds}))


def seconds(store, job):
    return estimates.measured(store, cores=2).seconds(job)


@pytest.fixture
def store(tmp_path):
    return JobStore(tmp_path)


def test_a_job_takes_as_long_as_its_like_for_as_much_work(store):
    finish(store, population(members=8), 100.0)
    assert seconds(store, population(layout=ORDERS, members=8)) == pytest.approx(100.0)
    assert seconds(store, population(members=4)) == pytest.approx(50.0)
    longer = population(members=8)
    stage = replace(longer.stage, training=longer.stage.training.lasting(3_000_000))
    steps = longer.stage.training.total_steps
    assert seconds(store, Job(stage, "longer")) == pytest.approx(100.0 * 3_000_000 / steps)


def test_the_same_population_says_more_than_another_and_one_slow_job_does_not_count(store):
    finish(store, population("sp", members=8), 900.0)
    for seed, time in enumerate((100.0, 110.0, 5000.0)):
        finish(store, population(members=8, seed=seed), time)
    assert seconds(store, population(layout=ORDERS, members=8)) == pytest.approx(110.0)


def test_jobs_of_very_different_times_are_estimated_by_what_they_took(store):
    for number, time in enumerate((0.1, 5.9)):
        finish(store, Job(Write("pool", config={"of": number}), "pool"), time)
    assert seconds(store, Job(Write("pool", config={"of": 2}), "pool")) == pytest.approx(3.0)


def test_what_is_unlike_all_finished_jobs_is_estimated_by_saved_rates(store):
    before = seconds(store, population())
    finish(store, Job(Write("word"), "word"), 1.0)
    assert seconds(store, population()) == before > 60.0
    assert estimates.measured(store, cores=4).seconds(population()) == pytest.approx(before / 2)


def test_trainings_on_the_26_planes_are_known_once_one_was_measured(store):
    paper = population(preset="paper", members=2)
    assumed = seconds(store, paper)
    assert assumed > 100 * seconds(store, population(members=2))
    assert not estimates.measured(store).is_known(paper)
    finish(store, paper, 70.0)
    assert estimates.measured(store).is_known(paper)
    assert seconds(store, population(preset="paper", members=4)) == pytest.approx(140.0)


def test_a_shard_takes_its_share_and_joining_shards_is_no_training(store):
    finish(store, population(members=8), 800.0)
    finish(store, population(layout=ORDERS, members=8), 800.0)
    joined = split(population(seed=1, members=8), 2)
    shards = [job for job in in_order([joined]) if job.stage.kind == "shard"]
    assert [seconds(store, shard) for shard in shards] == pytest.approx([200.0] * 4)
    assert seconds(store, joined) < 100.0


def test_the_steps_of_a_split_population_are_counted_once():
    whole = population(members=8)
    split_jobs = in_order([split(whole, 2)])
    steps = estimates.environment_steps(whole.description)
    assert steps == 8 * whole.stage.training.total_steps
    assert sum(estimates.environment_steps(job.description) for job in split_jobs) == steps


def test_saved_rates_are_read_as_they_were_and_say_where_they_are_from(store, tmp_path):
    for job in (population(members=8), population("sp"), population(preset="paper")):
        finish(store, job, 70.0)
    table = estimates.rates_of(store, cores=2)
    path = tmp_path / "rates.toml"
    estimates.save(table, path)
    found = estimates.read(path)
    assert (found.machine, found.cores, found.date) == (table.machine, 2, table.date)
    assert [rate.pace for rate in found.rates] == [rate.pace for rate in table.rates]
    for saved, rate in zip(found.rates, table.rates, strict=True):
        assert saved.rate == pytest.approx(rate.rate, rel=1e-3)
    path.write_text("rates = 3")
    with pytest.raises(InputError, match=r"rates\.toml: no rates of jobs"):
        estimates.read(path)


def test_a_store_without_finished_jobs_has_no_rates_to_save_and_damage_does_not_matter(
    store, tmp_path
):
    job = population()
    before = seconds(store, job)
    finish(store, job, 5.0)
    (store.directory(job) / JOB).write_text('{"kind": "popul')
    assert seconds(store, job) == before
    with pytest.raises(InputError, match="no finished job"):
        estimates.save(estimates.rates_of(store, cores=2), tmp_path / "rates.toml")
