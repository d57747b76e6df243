"""What ships is what is finished: the best agent in training, and pools."""

import json

import jax
import numpy as np
import pytest

from cochef.agents import actor_critic, pool, shipped_pools, storage
from cochef.agents.pool import Member
from cochef.evaluation import records
from cochef.evaluation.records import Records
from cochef.experiments import pipeline
from cochef.experiments.jobs import DONE, JobStore
from cochef.experiments.presets import PRESETS
from cochef.kitchen import layouts
from cochef.kitchen.constants import Action

LAYOUT = layouts.get("cramped_room")
NETWORK = PRESETS["smoke"].first_stage.network
RETURNS = (3.0, 8.0)  # of two agents at the end of training
SCORES = (20.0, 10.0)  # and in the evaluation, where the other one is better


def network(number):
    spec = actor_critic.observation_spec(LAYOUT, NETWORK.observation)
    return actor_critic.actor(NETWORK, spec, len(Action), jax.random.key(number))


def finish(store, job):
    (store.directory(job) / DONE).write_text(json.dumps({"seconds": 1.0}))


def make_pool(store, jobs):
    directory = store.directory(jobs["pool"])
    members = []
    for number in range(2):
        path = directory / "made.safetensors"
        actor_critic.save(path, LAYOUT, NETWORK, network(number), {})
        described = Member(f"mep-0{number}", "mep", "abc", number, "final", 5.0)
        members.append((described, storage.read(path)))
    pool.write(directory, LAYOUT, members)
    finish(store, jobs["pool"])


def make_agents(store, jobs):
    agents = store.directory(jobs["agents"])
    for number in range(2):
        path = agents / "agents" / f"0{number}.safetensors"
        actor_critic.save(path, LAYOUT, NETWORK, network(number), {})
    line = {"iteration": 1, "steps": 1, "task_return": RETURNS, "seconds": 1.0}
    (agents / "metrics.jsonl").write_text(json.dumps(line) + "\n")
    finish(store, jobs["agents"])
    zeros = np.zeros(2, int)
    names = ("population_seed", "partner_seed", "seat", "episode", "agent_shaped")
    columns = {
        "agent": np.array(["mep"] * 2),
        "partner": np.array(["stay"] * 2),
        "agent_seed": np.arange(2),
        "score": np.array(SCORES),
        **dict.fromkeys(names, zeros),
    }
    manifest = {"layout": LAYOUT.name, "compared_events": []}
    records.write(store.directory(jobs["evaluation"]), Records(columns), manifest)
    finish(store, jobs["evaluation"])


@pytest.fixture
def store(tmp_path):
    store = JobStore(tmp_path / "runs")
    jobs = pipeline.method_jobs(LAYOUT, "mep", "smoke")
    make_pool(store, jobs)
    make_agents(store, jobs)
    return store


def ship(cochef, store, into, *words):
    settings = ("--preset", "smoke", "--out", store.root, "--into", into)
    return cochef("ship", "--layout", "cramped_room", *settings, *words)


def test_what_is_finished_ships_in_one_go_and_the_rest_is_named(store, tmp_path, cochef):
    code, printed = ship(
        cochef, store, tmp_path / "data", "--method", "mep", "fcp", "--pools", "mep"
    )
    assert code == 0
    assert "left out: " in printed and "evaluation-fcp-cramped_room" in printed
    card, _ = storage.read(tmp_path / "data" / "mep-cramped_room.safetensors")
    # The best in training, although the other one is better in the evaluation.
    assert (card.metadata["member"], card.metadata["return_in_training"]) == (1, 8.0)
    assert card.metadata["evaluation"] == {"stay": 10.0}
    steps = PRESETS["smoke"].second_stage.training.total_steps
    assert (card.metadata["preset"], card.metadata["steps"]) == ("smoke", steps)
    path = shipped_pools.path("cramped_room", tmp_path / "data")
    files = shipped_pools.unpack(path, "mep", tmp_path / "pool")
    assert [member.name for member in files.members] == ["mep-00", "mep-01"]


def test_pools_ship_all_or_none(store, tmp_path, cochef):
    code, printed = ship(
        cochef, store, tmp_path / "data", "--method", "mep", "--pools", "mep", "fcp"
    )
    assert code == 0
    assert "pool-fcp-cramped_room" in printed
    assert not (tmp_path / "data" / "pools").exists()


def test_if_nothing_is_finished_that_is_an_error(tmp_path, cochef):
    code, printed = ship(cochef, JobStore(tmp_path / "none"), tmp_path / "data")
    assert code == 2
    assert "nothing of this is finished there" in printed
    assert not (tmp_path / "data").exists()
