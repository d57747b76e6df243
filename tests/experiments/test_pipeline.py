"""From nothing to a report, in the smallest layout with the smallest settings."""

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
from cochef.experiments.jobs import BEGUN, DONE, JobStore, in_order
from cochef.experiments.pools import Filter, read_filter
from cochef.experiments.presets import PRESETS, Overrides
from cochef.experiments.shipping import Shipment
from cochef.kitchen import layouts
from cochef.learning import runs
from cochef.learning.writers import read_metrics
from cochef.methods.parts.pools import LEVELS
from tests.learning.small_runs import bits
from tests.narrow_layout import NARROW

COMMAND = ["--method", "hsp", "fcp", "--preset", "smoke"]
PROGRAM = [sys.executable, "-c", "from cochef.cli.main import main; main()"]


def apart(*words):
    """Run the command in a process of its own, with all cores."""
    return subprocess.run([*PROGRAM, *map(str, words)], capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def narrow(tmp_path_factory):
    path = tmp_path_factory.mktemp("layout") / "narrow.toml"
    path.write_text(NARROW)
    return path


@pytest.fixture(scope="module")
def finished(narrow, tmp_path_factory):
    root = tmp_path_factory.mktemp("runs")
    done = apart("run", "--layout", narrow, *COMMAND, "--out", root)
    assert done.returncode == 0, done.stderr
    return root, done.stdout


def goal(narrow):
    return pipeline.report_job(layouts.get(str(narrow)), ("hsp", "fcp"), "smoke")


def directories(root, narrow):
    """Where the report and its inputs are."""
    store = JobStore(root)
    job = goal(narrow)
    return store.inputs(job) | {"report": store.directory(job)}


def test_the_run_ends_with_the_table_the_report_and_how_to_watch(finished):
    _, printed = finished
    for part in ("hsp", "fcp", "script:delivery", "report.html", "watch --layout", "play "):
        assert part in printed


def test_the_report_has_tables_curves_and_films_that_exist(finished, narrow):
    report = directories(finished[0], narrow)["report"]
    page = (report / "report.html").read_text()
    document = (report / "report.md").read_text()
    pictures = [part.split('"')[0] for part in page.split('<img src="')[1:]]
    assert sum(name.endswith(".gif") for name in pictures) == 4
    for name in pictures:
        assert (report / name).stat().st_size > 0
        assert name in document
    rows = json.loads((report / "tables.json").read_text())
    every = {(agent, seat) for agent in ("hsp", "fcp") for seat in (None, 0, 1)}
    assert {(row["agent"], row["seat"]) for row in rows} == every
    own = report / "layout.toml"  # a layout of one's own, as it was
    assert f"--layout {own}" in document
    assert layouts.get(str(own)).fingerprint == layouts.get(str(narrow)).fingerprint


def test_the_pool_of_hsp_has_biased_policies_and_three_levels_of_mep(finished, narrow):
    made = directories(finished[0], narrow)["hsp-pool"]
    members = pool.read(made, layouts.get(str(narrow))).members
    assert [member.level for member in members] == ["final"] * 3 + ["init", "mid", "final"]
    assert [member.hidden_reward is not None for member in members] == [True] * 3 + [False] * 3
    assert [member.population for member in members] == ["biased"] * 3 + ["mep"] * 3


def test_the_return_with_every_partner_is_logged(finished, narrow):
    metrics = read_metrics(directories(finished[0], narrow)["hsp-agents"])
    assert np.array([line["partner_returns"] for line in metrics]).shape == (12, 2, 6)


@pytest.mark.parametrize(
    ("method", "anew"),
    [
        ("sp", ("evaluation",)),  # its agents are FCP's population
        pytest.param("mep", ("pool", "agents", "evaluation"), marks=pytest.mark.long),
    ],
)
def test_a_second_run_does_nothing_again_and_another_method_shares_what_there_is(
    finished, narrow, method, anew
):
    root, _ = finished
    before = {path: path.stat().st_mtime_ns for path in root.glob("jobs/*/done.json")}
    words = ("--method", "hsp", "fcp", method, "--preset", "smoke", "--out", root)
    done = apart("run", "--layout", narrow, *words)
    assert done.returncode == 0, done.stderr
    after = {path: path.stat().st_mtime_ns for path in root.glob("jobs/*/done.json")}
    assert {path: after[path] for path in before} == before
    new = {path.parent.name.rsplit("-", 1)[0] for path in after.keys() - before.keys()}
    expected = {f"{stage}-{method}-narrow" for stage in anew}
    assert new == expected | {f"report-hsp-fcp-{method}-narrow"}


def test_status_shows_every_job(finished, cochef):
    code, printed = cochef("status", "--out", finished[0])
    assert code == 0
    assert printed.count("done") == len(list(finished[0].glob("jobs/*")))


def test_pools_are_listed_and_shown(finished, narrow, tmp_path, cochef):
    code, printed = cochef("pool", "list", finished[0])
    assert code == 0
    assert printed.count("narrow") >= 2
    made = directories(finished[0], narrow)["hsp-pool"]
    show = ("pool", "show", made, "--layout", narrow, "--picture")
    code, printed = cochef(*show, tmp_path / "pool.png")
    assert code == 0
    assert "biased-0" in printed
    assert "mep-00-init" in printed
    assert (tmp_path / "pool.png").stat().st_size > 0
    code, printed = cochef(*show, tmp_path / "pool.xyz")
    assert code == 2
    assert "unknown ending" in printed


def test_the_preferences_of_biased_policies_are_found_in_a_layout_of_ones_own(
    finished, narrow, cochef
):
    population = directories(finished[0], narrow)["hsp-biased"]
    code, printed = cochef("preferences", population, "--layout", narrow, "--episodes", 2)
    assert code == 0
    assert "narrow: 4 biased policies" in printed


def test_a_layout_with_longer_episodes_than_the_one_that_ships_does_not_ship(tmp_path):
    longer = replace(layouts.get("cramped_room"), horizon=500)
    with pytest.raises(InputError, match="cramped_room does not ship"):
        Shipment("smoke", 0, Overrides(), tmp_path).ship_agent(longer, "hsp")


def test_a_damaged_result_of_the_filter_is_named(tmp_path):
    for content in ("{", "[]", '{"events": []}'):
        (tmp_path / "filter.json").write_text(content)
        with pytest.raises(InputError, match=r"filter\.json: damaged"):
            read_filter(tmp_path)


def test_pools_are_merged(finished, narrow, tmp_path, cochef):
    made = directories(finished[0], narrow)
    merge = ("pool", "make", tmp_path / "both", made["hsp-pool"], made["fcp-pool"])
    code, printed = cochef(*merge, "--layout", narrow)
    assert code == 0, printed
    assert len(pool.read_index(tmp_path / "both").members) == 12
    code, printed = cochef(*merge, "--layout", narrow)
    assert code == 2
    assert "a pool already" in printed


def test_agents_are_trained_with_any_pool(finished, narrow, tmp_path):
    """With the pool of FCP, and from its policies, as in the run: the agents are the same."""
    made = directories(finished[0], narrow)
    words = ("--layout", narrow, "--preset", "smoke", "--out", tmp_path / "mine")
    done = apart("pool", "train", made["fcp-pool"], "--parents", made["fcp-sp"], *words)
    assert done.returncode == 0, done.stderr
    name = f"{runs.AGENTS}/00.safetensors"
    mine, arrays = bits(tmp_path / "mine" / name)
    card, same = bits(made["fcp-agents"] / name)
    assert arrays == same
    # A pool on disk does not say which method it is for, so neither do its agents.
    assert mine.metadata | {"method": "fcp"} == card.metadata


def test_agents_begin_only_as_policies_of_their_own_shape(finished, narrow, tmp_path, cochef):
    made = directories(finished[0], narrow)
    words = ("--layout", narrow, "--preset", "quick", "--out", tmp_path / "mine")
    code, printed = cochef("pool", "train", made["fcp-pool"], "--parents", made["fcp-sp"], *words)
    assert code == 2
    assert "nobody can begin as its policies" in printed
    code, printed = cochef("pool", "train", made["fcp-pool"], "--parents", tmp_path, *words)
    assert code == 2
    assert "config.json" in printed


def test_only_evaluated_agents_of_layouts_that_ship_are_shipped(narrow, tmp_path):
    shipment = Shipment("smoke", 0, Overrides(), tmp_path)
    with pytest.raises(InputError, match="narrow does not ship"):
        shipment.ship_agent(layouts.get(str(narrow)), "hsp")
    with pytest.raises(InputError, match="not finished"):
        shipment.ship_agent(layouts.get("cramped_room"), "hsp")


def test_near_duplicates_are_counted():
    counts = np.array([[0.0, 9.0], [10.0, 0.0], [10.0, 0.001], [0.0, 9.001], [5.0, 5.0]])
    found = Filter("narrow", ("a", "b"), ({},) * 5, counts, np.zeros(5), (0, 1, 2, 4, 3))
    assert found.near_duplicates == 2


@pytest.mark.parametrize(
    ("methods", "preset", "overrides", "complaint"),
    [
        ((), "smoke", {}, "each once"),
        (("hsp", "hsp"), "smoke", {}, "each once"),
        (("xyz",), "smoke", {}, "xyz"),
        (("hsp",), "huge", {}, "unknown preset 'huge'"),
        (("hsp",), "smoke", {"agents": 0}, "agents is 0; it takes a whole number from 1"),
        (("sp",), "smoke", {"agents": 0}, "agents is 0; it takes a whole number from 1"),
        (("hsp",), "smoke", {"sampling": "rare"}, "sampling is 'rare'"),
        (("hsp",), "smoke", {"kept": 5}, "kept is 5; of 4 biased it takes up to 4"),
        (("hsp",), "smoke", {"kept": 0}, "kept is 0; it takes a whole number from 1"),
        (("hsp",), "smoke", {"mep": -1}, "mep is -1"),
        (("hsp",), "smoke", {"mep": 3}, "mep is 3; of 2 policies it takes up to 2"),
        (("hsp",), "smoke", {"pool": "no-filter", "kept": 1}, "kept is 1 with the pool no-filter"),
        (("hsp",), "smoke", {"pool": "no-mep", "mep": 1}, "mep is 1 with the pool no-mep"),
        (
            ("fcp",),
            "smoke",
            {"pool": "double", "policies": 5},
            "policies is 5 with the pool double",
        ),
        (("fcp",), "smoke", {"pool": "no-filter"}, "unknown pool 'no-filter'; known: double"),
        (("fcp",), "smoke", {"kept": 2}, "kept is 2, which none of the methods has"),
        (
            ("mep",),
            "smoke",
            {"biased_shaping": "none"},
            "biased_shaping is 'none', which none of the methods has",
        ),
        (
            ("hsp",),
            "smoke",
            {"biased_shaping": "much"},
            "biased_shaping is 'much'; allowed: none, annealed, constant",
        ),
        (("fcp",), "smoke", {"policies": 0}, "policies is 0"),
        (("fcp",), "smoke", {"kitchens": 0}, "kitchens is 0"),
        (("fcp",), "paper", {"begin": "transfer"}, "parents with a GRU .* begin from scratch"),
    ],
)
def test_what_cannot_be_run_is_refused(methods, preset, overrides, complaint):
    layout = layouts.get("cramped_room")
    with pytest.raises(InputError, match=complaint):
        pipeline.report_job(layout, methods, preset, overrides=Overrides(**overrides))


def worker(narrow, root):
    words = ["run", "--layout", str(narrow), *COMMAND, "--out", str(root)]
    return subprocess.Popen(
        [*PROGRAM, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )


@pytest.mark.long
def test_killed_in_every_stage_it_resumes_and_ends_with_the_same_agents(finished, narrow, tmp_path):
    """Each attempt is killed a moment after another job of the graph has begun."""
    moments = np.random.default_rng(0)
    store = JobStore(tmp_path)
    killed = set()
    jobs = in_order([goal(narrow)])
    for _ in jobs:
        process = worker(narrow, tmp_path)
        while process.poll() is None and not under_way(store, jobs) - killed:
            time.sleep(0.01)
        time.sleep(moments.uniform(0.0, 0.5))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        killed |= under_way(store, jobs)
    kinds = {job.stage.kind for job in jobs}
    assert {job.stage.kind for job in jobs if job.address in killed} == kinds
    print(f"\nkilled in {len(killed)} of {len(jobs)} jobs, of all kinds: {sorted(kinds)}")
    process = worker(narrow, tmp_path)
    complaint = process.communicate()[1]
    assert process.returncode == 0, complaint
    undisturbed = directories(finished[0], narrow)
    resumed = directories(tmp_path, narrow)
    for name in ("hsp-agents", "fcp-agents"):
        for path in sorted((undisturbed[name] / runs.AGENTS).iterdir()):
            assert bits(path) == bits(resumed[name] / runs.AGENTS / path.name)
    episodes = undisturbed["hsp-evaluation"] / "episodes.csv"
    assert episodes.read_bytes() == (resumed["hsp-evaluation"] / "episodes.csv").read_bytes()


def under_way(store, jobs):
    """The addresses of jobs that have begun and are not done."""
    begun = {job.address for job in jobs if (store.directory(job) / BEGUN).exists()}
    done = {job.address for job in jobs if (store.directory(job) / DONE).exists()}
    return begun - done


@pytest.mark.long
def test_a_second_process_on_the_same_directory_leaves_the_first_alone(narrow, tmp_path):
    """By the command line: beyond the store's own test, `cochef run` asks before it begins."""
    first = worker(narrow, tmp_path)
    while first.poll() is None and not (tmp_path / "jobs").exists():
        time.sleep(0.05)
    first.send_signal(signal.SIGSTOP)  # so that it cannot end before the second one looks
    second = apart("run", "--layout", narrow, *COMMAND, "--out", tmp_path)
    first.kill()
    first.communicate()
    assert second.returncode == 2
    assert "another process runs jobs here" in second.stderr


@pytest.mark.parametrize(
    ("overrides", "method", "populations", "pool_sizes"),
    [
        ({}, "hsp", {"biased": 36, "mep": 12}, {"kept": 18, "mep": 6}),
        ({"pool": "no-mep"}, "hsp", {"biased": 36}, {"kept": None, "mep": 0}),
        ({"pool": "no-filter"}, "hsp", {"biased": 36, "mep": 12}, {"kept": None, "mep": 6}),
        ({"pool": "double"}, "fcp", {"sp": 24}, {}),
        ({"pool": "double"}, "hsp", {"biased": 36, "mep": 24}, {"kept": 36, "mep": 12}),
        ({"kept": 12, "mep": 4}, "hsp", {"biased": 36, "mep": 12}, {"kept": 12, "mep": 4}),
        ({"policies": 5}, "mep", {"mep": 5}, {}),
    ],
)
def test_pools_of_other_kinds_and_sizes(overrides, method, populations, pool_sizes):
    layout = layouts.get("cramped_room")
    inputs = pipeline.report_job(layout, (method,), overrides=Overrides(**overrides)).inputs
    build = inputs[f"{method}-pool"]
    assert {name: job.stage.members for name, job in build.inputs.items()} == populations
    assert {name: build.stage.sizes[name] for name in pool_sizes} == pool_sizes
    for name, job in build.inputs.items():
        assert inputs[f"{method}-{name}"] is job


@pytest.mark.parametrize(("pool", "partners"), [(None, 36), ("no-filter", 54), ("double", 72)])
def test_agents_have_as_many_kitchens_with_every_pool_of_the_ablations(pool, partners):
    layout = layouts.get("cramped_room")
    inputs = pipeline.report_job(layout, ("hsp",), overrides=Overrides(pool=pool)).inputs
    sizes = inputs["hsp-pool"].stage.sizes
    kept = sizes["biased"] if sizes["kept"] is None else sizes["kept"]
    assert kept + len(LEVELS) * sizes["mep"] == partners
    training = inputs["hsp-agents"].stage.training_with(partners)
    assert training.kitchens == 72
    assert training.total_steps == PRESETS["laptop"].second_stage.training.total_steps


def test_shaping_ends_as_the_rewards_of_the_layout_say():
    ends = {}
    for name in ("distant_tomato", "cramped_room"):
        stage = pipeline.report_job(layouts.get(name), ("fcp",)).inputs["fcp-agents"].stage
        ends[name] = stage.training_with(36).shaping.end
    assert ends == {"distant_tomato": 0.5, "cramped_room": 0.0}


@pytest.mark.parametrize("method", ["fcp", "mep", "trajdiv"])
def test_agents_begin_as_the_policies_of_their_methods_own_population(method):
    inputs = pipeline.report_job(layouts.get("cramped_room"), (method,)).inputs
    parents = inputs[f"{method}-agents"].inputs["parents"]
    population = inputs[f"{method}-pool"].inputs
    assert [parents.address] == [job.address for job in population.values()]
    assert not parents.inputs


@pytest.mark.parametrize("pool", [None, "no-mep"])
def test_agents_and_pairs_of_hsp_begin_as_policies_of_mep(pool):
    layout = layouts.get("cramped_room")
    inputs = pipeline.report_job(layout, ("hsp",), overrides=Overrides(pool=pool)).inputs
    mep = pipeline.report_job(layout, ("mep",)).inputs["mep-mep"]
    for name in ("hsp-agents", "hsp-biased"):
        assert inputs[name].inputs["parents"].address == mep.address
    assert inputs["hsp-mep"].address == mep.address


def test_pairs_that_begin_as_policies_learn_for_fewer_steps():
    layout = layouts.get("cramped_room")
    inputs = pipeline.report_job(layout, ("hsp",)).inputs
    scratch = pipeline.report_job(layout, ("hsp",), overrides=Overrides(begin="scratch")).inputs
    assert inputs["hsp-mep"].stage.training.total_steps == 1_000_000
    assert inputs["hsp-biased"].stage.training.total_steps == 800_000
    assert scratch["hsp-biased"].stage.training.total_steps == 1_000_000


@pytest.mark.parametrize(
    ("preset", "begin", "transfers"),
    [
        ("smoke", None, True),
        ("quick", None, True),
        ("laptop", None, True),
        ("paper", None, False),
        ("laptop", "scratch", False),
    ],
)
def test_presets_but_the_papers_transfer_unless_told_otherwise(preset, begin, transfers):
    overrides = Overrides(begin=begin)
    layout = layouts.get("cramped_room")
    inputs = pipeline.report_job(layout, ("hsp",), preset, overrides=overrides).inputs
    for name in ("hsp-agents", "hsp-biased"):
        assert ("parents" in inputs[name].inputs) == transfers


def test_self_play_agents_are_those_of_fcps_population():
    inputs = pipeline.report_job(layouts.get("cramped_room"), ("sp", "fcp")).inputs
    assert inputs["sp-agents"].address == inputs["fcp-sp"].address


def test_a_layout_with_longer_episodes_and_other_shaping_make_other_jobs():
    layout = layouts.get("cramped_room")
    constant = Overrides(biased_shaping="constant")
    plain = pipeline.report_job(layout, ("hsp",), "smoke").inputs
    longer = pipeline.report_job(replace(layout, horizon=500), ("hsp",), "smoke").inputs
    shaped = pipeline.report_job(layout, ("hsp",), "smoke", overrides=constant).inputs
    for other in (longer, shaped):
        for name in ("hsp-biased", "hsp-pool", "hsp-agents", "hsp-evaluation"):
            assert other[name].address != plain[name].address
    assert shaped["hsp-mep"].address == plain["hsp-mep"].address
    assert shaped["hsp-biased"].stage.config["options"] == {"biased_shaping": "constant"}
    assert plain["hsp-biased"].stage.config["options"] == {"biased_shaping": "none"}


def test_the_name_of_a_preset_decides_nothing(monkeypatch):
    layout = layouts.get("cramped_room")
    monkeypatch.setitem(PRESETS, "other", PRESETS["smoke"])
    smoke, other = (pipeline.report_job(layout, ("hsp",), name) for name in ("smoke", "other"))
    assert smoke.address == other.address


def test_a_raised_version_of_a_stage_makes_other_jobs_of_all_after_it():
    plain = pipeline.report_job(layouts.get("cramped_room"), ("fcp",), "smoke").inputs
    build = plain["fcp-pool"]
    raised = replace(build, stage=replace(build.stage, version=build.stage.version + 1))
    inputs = plain["fcp-agents"].inputs
    agents = replace(plain["fcp-agents"], inputs={**inputs, "pool": raised})
    assert raised.address != build.address
    assert agents.address != plain["fcp-agents"].address
    assert raised.inputs["sp"].address == build.inputs["sp"].address
