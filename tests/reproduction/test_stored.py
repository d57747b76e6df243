"""Results are kept small and whole, and those of different configurations are never mixed."""

import json
from dataclasses import dataclass, field

import pytest

from cochef.errors import InputError
from cochef.experiments.engines import LocalEngine
from cochef.experiments.jobs import Job, JobStore, in_order
from cochef.reproduction import pages, stored
from cochef.reproduction.stored import Results


@dataclass(frozen=True)
class Measure:
    """A quick job with a curve as its result."""

    seed: int
    steps: int = 3
    version: int = 1
    kind: str = "curve"
    ran: list = field(default_factory=list, compare=False)

    @property
    def config(self):
        return {"seed": self.seed, "training": {"total_steps": self.steps}}

    def run(self, context):
        self.ran.append(self.seed)
        curve = {"steps": [self.steps], "task_return": [[float(self.seed)]]}
        (context.directory / "curve.json").write_text(json.dumps(curve))


TABLE = b"agent,score\r\nhsp,20.0\r\nfcp,0.0\r\n"


@dataclass(frozen=True)
class Record(Measure):
    """A quick job with records of episodes as its result."""

    kind: str = "evaluation"

    def run(self, context):
        (context.directory / "episodes.csv").write_bytes(TABLE)
        (context.directory / "manifest.json").write_text("{}")


def kept(root, *measures):
    """Run jobs, collect their results, and open them; the first says what is current."""
    store = JobStore(root / "runs")
    jobs = [Job(measure, "measure") for measure in measures]
    LocalEngine().run(in_order(jobs), store, lambda job: [], lambda text: None)
    for job in jobs:
        key = {"condition": "hsp", "layout": "many_orders", "seed": job.stage.seed}
        stored.collect(root / "results", store, job, {**key, "preset": "smoke", "agents": 2})
    current = stored.current_configurations([("hsp", "many_orders", jobs[0])])
    return Results(root / "results", "smoke", current)


def selected(results):
    return results.select("curve", "hsp", "many_orders")


def test_populations_of_one_configuration_are_one_cell(tmp_path):
    results = kept(tmp_path, Measure(0), Measure(1))
    assert [one.seed for one in selected(results)] == [0, 1]
    assert [one.json("curve.json")["task_return"] for one in selected(results)] == [[[0]], [[1]]]
    assert all(map(results.is_current, selected(results)))
    assert results.others() == []


@pytest.mark.parametrize("other", [Measure(1, steps=4), Measure(1, version=2)])
def test_another_configuration_or_version_is_left_out_and_listed(tmp_path, other):
    results = kept(tmp_path, Measure(0), other)
    assert [one.seed for one in selected(results)] == [0]
    assert [one.seed for one in results.others()] == [1]


def test_without_a_current_result_the_one_of_most_populations_is_shown_as_not_current(tmp_path):
    results = kept(tmp_path, Measure(0, version=2), Measure(1), Measure(2))
    results = Results(results.root, "smoke", {})
    assert [one.seed for one in selected(results)] == [1, 2]
    assert not any(map(results.is_current, selected(results)))


def test_deleting_a_job_recomputes_exactly_that(tmp_path):
    ran = []
    first = Measure(0, ran=ran)
    second = Measure(1, ran=ran)
    kept(tmp_path, first, second)
    directory = JobStore(tmp_path / "runs").directory(Job(second, "measure"))
    for path in directory.iterdir():
        path.unlink()
    results = kept(tmp_path, first, second)
    assert ran == [0, 1, 1]
    assert [one.seed for one in selected(results)] == [0, 1]


def test_a_table_of_episodes_is_read_back_to_the_byte(tmp_path):
    store = JobStore(tmp_path / "runs")
    job = Job(Record(0), "record")
    LocalEngine().run([job], store, lambda job: [], lambda text: None)
    key = {"condition": "hsp", "layout": "many_orders", "seed": 0, "preset": "smoke", "agents": 1}
    directory = stored.collect(tmp_path / "results", store, job, key)
    result = stored.read(directory / "result.json")
    assert result.read("episodes.csv") == TABLE
    assert (directory / "episodes.csv.transposed.xz").exists()


def test_a_damaged_result_is_refused(tmp_path):
    result = selected(kept(tmp_path, Measure(0)))[0]
    path = result.directory / "curve.json.xz"
    whole = path.read_bytes()
    path.write_bytes(whole[:-9])
    with pytest.raises(InputError, match=r"curve\.json\.xz: damaged"):
        result.read("curve.json")
    (result.directory / "result.json").write_text("{}")
    with pytest.raises(InputError, match=r"result\.json: damaged \(kind"):
        stored.read(result.directory / "result.json")


def test_the_table_of_a_readme_is_written_between_its_markers(tmp_path):
    readme = tmp_path / "README.md"
    readme.write_text(f"before\n{pages.BEGIN}\nold\n{pages.END}\nafter\n")
    results = kept(tmp_path, Measure(0))
    found = pages.Stored(results, ("distant_tomato",))
    pages.write_readme(found, readme)
    text = readme.read_text()
    assert text.startswith("before\n") and text.endswith("after\n")
    assert "\nold\n" not in text
    assert "Not run yet with this preset: distant_tomato." in text
    readme.write_text("no markers")
    with pytest.raises(InputError, match=r"no place for the results"):
        pages.write_readme(found, readme)
