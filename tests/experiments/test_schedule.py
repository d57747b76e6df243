"""Schedules of small graphs of jobs, whose times one can add up by hand."""

import pytest

from cochef.errors import InputError
from cochef.experiments.jobs import in_order
from cochef.experiments.schedule import critical_path, simulate
from tests.cluster.driver import many
from tests.cluster.writing import diamond

JOBS = in_order([diamond()])
TIMES = dict(zip((job.address for job in JOBS), (1.0, 5.0, 2.0, 3.0), strict=True))


@pytest.mark.parametrize(("workers", "seconds"), [(1, 11.0), (2, 9.0), (256, 9.0)])
def test_jobs_run_side_by_side_once_their_inputs_are_done(workers, seconds):
    found = simulate(JOBS, TIMES, workers)
    assert found.seconds == seconds
    assert found.speedup == pytest.approx(11 / seconds)
    assert found.busy == pytest.approx(11 / seconds / workers)


def test_the_critical_path_is_the_longest_chain():
    path = critical_path(JOBS, TIMES)
    assert [job.stage.word for job in path.jobs] == ["a", "b", "d"]
    assert path.seconds == 9.0


def test_more_workers_than_jobs_are_of_no_use_and_none_is_refused():
    jobs = in_order([many(100, 1.0, None)])
    times = {job.address: 1.0 for job in jobs}
    assert simulate(jobs, times, 8).seconds == 13 + 1
    assert simulate(jobs, times, 128).seconds == simulate(jobs, times, 100).seconds == 2.0
    with pytest.raises(InputError, match="workers is 0"):
        simulate(jobs, times, 0)


def test_the_plan_names_jobs_hours_and_the_critical_path(tmp_path, cochef):
    picture = tmp_path / "scaling.png"
    words = ("--preset", "quick", "--shard-members", "6", "--out", tmp_path, "--picture", picture)
    code, printed = cochef("cluster-plan", "scripts", *words)
    assert code == 0, printed
    assert "256" in printed
    assert "critical path" in printed
    assert "evaluation-" in printed
    assert picture.stat().st_size > 0
