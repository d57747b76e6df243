"""From nothing to a report, in the smallest kitchen with the smallest settings."""

import json
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

from cochef.agents import pool
from cochef.errors import InputError
from cochef.experiments import pipeline
from cochef.experiments.jobs import BEGUN, DONE, Store, in_order
from cochef.experiments.pools import Filter, read_filter
from cochef.experiments.presets import Changes
from cochef.experiments.shipping import ship
from cochef.kitchen import layouts
from cochef.learning import runs
from tests.learning.small_runs import KITCHEN, bits

COMMAND = ["--method", "hsp", "fcp", "--preset", "smoke"]


PROGRAM = [sys.executable, "-c", "from cochef.cli.main import main; main()"]


def apart(*words):
    """Run the command in a process of its own, with all cores."""
    return subprocess.run([*PROGRAM, *map(str, words)], capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def kitchen(tmp_path_factory):
    path = tmp_path_factory.mktemp("kitchen") / "narrow.toml"
    path.write_text(KITCHEN)
    return path


@pytest.fixture(scope="module")
def finished(kitchen, tmp_path_factory):
    root = tmp_path_factory.mktemp("runs")
    done = apart("run", "--layout", kitchen, *COMMAND, "--out", root)
    assert done.returncode == 0, done.stderr
    return root, done.stdout


def goal(kitchen):
    return pipeline.jobs(layouts.get(str(kitchen)), ("hsp", "fcp"), "smoke")


def directories(root, kitchen):
    store = Store(root)
    return {name: store.directory(job) for name, job in goal(kitchen).needs.items()} | {
        "report": store.directory(goal(kitchen))
    }


def test_the_run_ends_with_the_table_the_report_and_how_to_watch(finished):
    _, told = finished
    assert "hsp" in told and "fcp" in told and "script:delivery" in told
    assert "report.html" in told and "watch --layout" in told and "play " in told


def test_the_report_has_tables_curves_and_films_that_exist(finished, kitchen):
    report = directories(finished[0], kitchen)["report"]
    page, document = (report / "report.html").read_text(), (report / "report.md").read_text()
    pictures = [part.split('"')[0] for part in page.split('<img src="')[1:]]
    assert sum(name.endswith(".gif") for name in pictures) == 4
    for name in pictures:
        assert (report / name).stat().st_size > 0 and name in document
    rows = json.loads((report / "tables.json").read_text())
    assert {(row["agent"], row["seat"]) for row in rows} == {(a, s) for a in ("hsp", "fcp") for s in (None, 0, 1)}
    assert f"--layout {report / 'kitchen.toml'}" in document  # a kitchen of one's own, as it was
    assert layouts.get(str(report / "kitchen.toml")).fingerprint == layouts.get(str(kitchen)).fingerprint


def test_the_pool_of_hsp_has_biased_policies_and_three_levels_of_mep(finished, kitchen):
    files = pool.read(directories(finished[0], kitchen)["hsp-pool"], layouts.get(str(kitchen)))
    assert [member.level for member in files.members] == ["final"] * 3 + ["init", "mid", "final"]
    assert [member.hidden is not None for member in files.members] == [True] * 3 + [False] * 3
    assert {member.method for member in files.members} == {"hsp", "mep"}


def test_the_return_with_every_partner_is_logged(finished, kitchen):
    lines = runs.metrics(directories(finished[0], kitchen)["hsp-agents"])
    assert np.array([line["partners"] for line in lines]).shape == (8, 2, 6)


def test_a_second_run_does_nothing_again_and_another_method_shares_what_there_is(finished, kitchen):
    root, _ = finished
    before = {path: path.stat().st_mtime_ns for path in root.glob("jobs/*/done.json")}
    done = apart("run", "--layout", kitchen, "--method", "hsp", "fcp", "mep", "--preset", "smoke", "--out", root)
    assert done.returncode == 0, done.stderr
    after = {path: path.stat().st_mtime_ns for path in root.glob("jobs/*/done.json")}
    assert {path: after[path] for path in before} == before
    new = {path.parent.name.rsplit("-", 1)[0] for path in after.keys() - before.keys()}
    assert new == {"pool-mep-narrow", "agents-mep-narrow", "measured-mep-narrow", "report-hsp-fcp-mep-narrow"}


def test_status_shows_every_job(finished, cochef):
    code, told = cochef("status", "--out", finished[0])
    assert code == 0
    assert told.count("done") == len(list(finished[0].glob("jobs/*")))


def test_pools_are_listed_and_shown(finished, kitchen, tmp_path, cochef):
    code, told = cochef("pool", "list", finished[0])
    assert code == 0 and told.count("narrow") >= 2
    made = directories(finished[0], kitchen)["hsp-pool"]
    code, told = cochef("pool", "show", made, "--layout", kitchen, "--picture", tmp_path / "pool.png")
    assert code == 0 and "biased-0" in told and "mep-00-init" in told
    assert (tmp_path / "pool.png").stat().st_size > 0
    code, told = cochef("pool", "show", made, "--layout", kitchen, "--picture", tmp_path / "pool.xyz")
    assert code == 2 and "unknown ending" in told


def test_what_biased_policies_like_is_looked_up_in_a_kitchen_of_ones_own(finished, kitchen, cochef):
    population = directories(finished[0], kitchen)["hsp-population"]
    code, told = cochef("preferences", population, "--layout", kitchen, "--episodes", 2)
    assert code == 0 and "narrow: 4 biased policies" in told


def test_a_kitchen_with_longer_episodes_than_the_one_that_ships_does_not_ship(tmp_path):
    longer = replace(layouts.get("cramped_room"), horizon=500)
    with pytest.raises(InputError, match="cramped_room does not ship"):
        ship(longer, "hsp", "smoke", 0, Changes(), tmp_path)


def test_a_damaged_result_of_the_filter_is_named(tmp_path):
    for content in ("{", "[]", '{"events": []}'):
        (tmp_path / "filter.json").write_text(content)
        with pytest.raises(InputError, match=r"filter\.json: damaged"):
            read_filter(tmp_path)


def test_pools_are_merged(finished, kitchen, tmp_path, cochef):
    both = [directories(finished[0], kitchen)[f"{method}-pool"] for method in ("hsp", "fcp")]
    code, told = cochef("pool", "merge", tmp_path / "both", *both, "--layout", kitchen)
    assert code == 0, told
    assert len(pool.read_index(tmp_path / "both").members) == 12
    code, told = cochef("pool", "merge", tmp_path / "both", *both, "--layout", kitchen)
    assert code == 2 and "a pool already" in told


def test_agents_are_trained_with_any_pool(finished, kitchen, tmp_path):
    """With the pool of FCP, as in the run: the agents are the same."""
    made = directories(finished[0], kitchen)
    told = apart(
        "pool", "train", made["fcp-pool"], "--layout", kitchen, "--preset", "smoke", "--out", tmp_path / "mine"
    )
    assert told.returncode == 0, told.stderr
    assert bits(tmp_path / "mine" / runs.AGENTS / "00.safetensors") == bits(
        made["fcp-agents"] / runs.AGENTS / "00.safetensors"
    )


def test_only_measured_agents_of_kitchens_that_ship_are_shipped(kitchen, tmp_path):
    with pytest.raises(InputError, match="narrow does not ship"):
        ship(layouts.get(str(kitchen)), "hsp", "smoke", 0, Changes(), tmp_path)
    with pytest.raises(InputError, match="not finished"):
        ship(layouts.get("cramped_room"), "hsp", "smoke", 0, Changes(), tmp_path)


def test_near_duplicates_are_counted():
    counts = np.array([[0.0, 9.0], [10.0, 0.0], [10.0, 0.001], [0.0, 9.001], [5.0, 5.0]])
    found = Filter("narrow", ("a", "b"), ({},) * 5, counts, np.zeros(5), (0, 1, 2, 4, 3))
    assert found.near_duplicates == 2


@pytest.mark.parametrize(
    ("methods", "preset", "changes", "complaint"),
    [
        ((), "smoke", {}, "each once"),
        (("hsp", "hsp"), "smoke", {}, "each once"),
        (("xyz",), "smoke", {}, "xyz"),
        (("hsp",), "huge", {}, "unknown preset 'huge'"),
        (("hsp",), "smoke", {"seeds": 0}, "seeds is 0"),
        (("sp",), "smoke", {"seeds": 0}, "seeds is 0"),
        (("hsp",), "smoke", {"sampling": "rare"}, "sampling is 'rare'"),
        (("hsp",), "smoke", {"kept": 5}, "kept is 5; it takes a whole number from 1 to 4"),
        (("hsp",), "smoke", {"mep": -1}, "mep is -1"),
        (("hsp",), "smoke", {"mep": 3}, "3 policies of MEP for HSP's pool, of a population of 2"),
        (("hsp",), "smoke", {"pool": "no-filter", "kept": 1}, "kept is 1 with the pool no-filter"),
        (("hsp",), "smoke", {"pool": "no-mep", "mep": 1}, "mep is 1 with the pool no-mep"),
        (("fcp",), "smoke", {"pool": "double", "policies": 5}, "policies is 5 with the pool double"),
        (("fcp",), "smoke", {"policies": 0}, "policies is 0"),
        (("fcp",), "smoke", {"kitchens": 0}, "kitchens is 0"),
    ],
)
def test_bad_wishes_are_refused(methods, preset, changes, complaint):
    with pytest.raises(InputError, match=complaint):
        pipeline.jobs(layouts.get("cramped_room"), methods, preset, changes=Changes(**changes))


def worker(kitchen, root):
    words = ["run", "--layout", str(kitchen), *COMMAND, "--out", str(root)]
    return subprocess.Popen([*PROGRAM, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


@pytest.mark.long
def test_killed_in_every_stage_it_goes_on_and_ends_with_the_same_agents(finished, kitchen, tmp_path):
    """Each attempt is killed while another job of the graph is under way, a moment after it has begun."""
    moments = np.random.default_rng(0)
    store, killed = Store(tmp_path), set()
    jobs = in_order([goal(kitchen)])
    for _ in jobs:
        process = worker(kitchen, tmp_path)
        while process.poll() is None and not under_way(store, jobs) - killed:
            time.sleep(0.01)
        time.sleep(moments.uniform(0.0, 0.5))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        killed |= under_way(store, jobs)
    kinds = {job.task.kind for job in jobs}
    assert {job.task.kind for job in jobs if job.address in killed} == kinds
    print(f"\nkilled in {len(killed)} of {len(jobs)} jobs, of all kinds: {', '.join(sorted(kinds))}")
    process = worker(kitchen, tmp_path)
    complaint = process.communicate()[1]
    assert process.returncode == 0, complaint
    for name in ("hsp-agents", "fcp-agents"):
        whole, broken = (directories(root, kitchen)[name] for root in (finished[0], tmp_path))
        for path in sorted((whole / runs.AGENTS).iterdir()):
            assert bits(path) == bits(broken / runs.AGENTS / path.name)
    one, other = (directories(root, kitchen)["hsp-measured"] / "episodes.csv" for root in (finished[0], tmp_path))
    assert one.read_bytes() == other.read_bytes()


def under_way(store, jobs):
    """The addresses of jobs that have begun and are not done."""
    places = {job.address: store.directory(job) for job in jobs}
    return {one for one, place in places.items() if (place / BEGUN).exists() and not (place / DONE).exists()}


def test_a_second_process_on_the_same_directory_leaves_the_first_alone(kitchen, tmp_path):
    first = worker(kitchen, tmp_path)
    while first.poll() is None and not (tmp_path / "jobs").exists():
        time.sleep(0.05)
    second = apart("run", "--layout", kitchen, *COMMAND, "--out", tmp_path)
    first.kill()
    first.communicate()
    assert second.returncode == 2
    assert "another process runs jobs here" in second.stderr


@pytest.mark.parametrize(
    ("changes", "method", "members", "kept", "mep"),
    [
        ({}, "hsp", 36, 18, 6),
        ({"pool": "no-mep"}, "hsp", 36, None, 0),
        ({"pool": "no-filter"}, "hsp", 36, None, 6),
        ({"pool": "double"}, "fcp", 24, None, 0),
        ({"pool": "double"}, "hsp", 36, 36, 12),
        ({"kept": 12, "mep": 4}, "hsp", 36, 12, 4),
        ({"policies": 5}, "mep", 5, None, 0),
    ],
)
def test_pools_of_other_kinds_and_sizes(changes, method, members, kept, mep):
    goal = pipeline.jobs(layouts.get("cramped_room"), (method,), changes=Changes(**changes))
    build = goal.needs[f"{method}-pool"].task
    assert goal.needs[f"{method}-population"].task.population.members == members
    assert (build.keep, build.mep) == (kept, mep)
    assert ("mep" in goal.needs[f"{method}-pool"].needs) == bool(mep)


@pytest.mark.parametrize(("pool", "partners"), [("paper", 36), ("no-filter", 54), ("double", 72)])
def test_kitchens_are_as_many_for_every_partner_of_any_pool(pool, partners):
    goal = pipeline.jobs(layouts.get("cramped_room"), ("hsp",), changes=Changes(pool=pool))
    training = goal.needs["hsp-agents"].task.adaptation.stage.training
    assert training.kitchens % partners == 0 and 144 <= training.kitchens < 144 + partners
    assert training.total == 8_000_000


def test_the_helping_reward_ends_as_the_kitchen_has_it():
    ends = {}
    for name in ("distant_tomato", "cramped_room"):
        stage = pipeline.jobs(layouts.get(name), ("fcp",)).needs["fcp-agents"].task.adaptation.stage
        ends[name] = stage.training.shaping.end
    assert ends == {"distant_tomato": 0.5, "cramped_room": 0.0}


def test_self_play_agents_are_those_of_fcps_population():
    needs = pipeline.jobs(layouts.get("cramped_room"), ("sp", "fcp")).needs
    assert needs["sp-agents"].address == needs["fcp-population"].address


def test_a_kitchen_with_longer_episodes_and_other_helping_rewards_make_other_jobs():
    layout = layouts.get("cramped_room")
    plain = pipeline.jobs(layout, ("hsp",), "smoke")
    longer = pipeline.jobs(replace(layout, horizon=500), ("hsp",), "smoke")
    helped = pipeline.jobs(layout, ("hsp",), "smoke", changes=Changes(biased_shaping="constant"))
    for other in (longer, helped):
        for name in ("hsp-population", "hsp-pool", "hsp-agents", "hsp-measured"):
            assert other.needs[name].address != plain.needs[name].address
    assert helped.needs["hsp-mep"].address == plain.needs["hsp-mep"].address
    assert helped.needs["hsp-population"].task.population.biased_shaping.value == "constant"
