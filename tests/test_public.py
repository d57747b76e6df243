"""The public interface: names where names are natural, objects where they are not."""

import json
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

import cochef
from cochef.experiments import pipeline
from cochef.learning.further import read_origin
from tests.agents.own_agents import Faulty, Walker
from tests.narrow_layout import NARROW


def run_config(run):
    return json.loads((run.directory / "config.json").read_text())


@pytest.fixture(scope="module")
def narrow(tmp_path_factory):
    path = tmp_path_factory.mktemp("layout") / "narrow.toml"
    path.write_text(NARROW)
    return path


def test_every_public_name_is_there_and_no_other():
    assert set(dir(cochef)) >= {"layouts", "load", "play", "evaluate", "train", "OwnAgent"}
    for name in dir(cochef):
        assert getattr(cochef, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'cook'"):
        cochef.cook  # noqa: B018


def test_importing_the_package_loads_no_jax():
    script = "import sys, cochef; cochef.__version__; sys.exit('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_layouts_and_agents_are_given_by_name():
    agent = cochef.load("script:delivery", "coordination_ring")
    assert agent.script.name == "delivery"
    assert "script:delivery" in cochef.partners("coordination_ring")
    assert cochef.layout("cramped_room") is cochef.layout(cochef.layout("cramped_room"))
    assert "cramped_room" in cochef.layouts()


def test_episodes_are_played_and_recorded_with_names_and_objects(narrow):
    totals = cochef.play(narrow, Walker(None), "random", episodes=3)
    assert totals.score.shape == (3,)
    recorded = cochef.record(narrow, Walker(None), "random", episodes=3)
    assert recorded.actions.shape == (30, 3, 2)
    assert np.array_equal(recorded.outcomes.events.sum(axis=0), totals.events)


def test_own_agents_are_evaluated_under_their_labels(narrow):
    records = cochef.evaluate(
        narrow, {"mine": Walker(None), "idle": "stay"}, ["random", "stay"], episodes=2
    )
    assert records.labels("agent") == ["mine", "idle"]
    assert len(records) == 2 * 2 * 2 * 2
    with pytest.raises(cochef.AgentError, match="Faulty raised KeyError"):
        cochef.evaluate(narrow, Faulty(None), "stay", episodes=2)
    with pytest.warns(UserWarning, match=r"bad raised KeyError.*its episodes are left out"):
        records = cochef.evaluate(narrow, {"bad": Faulty(None), "idle": "stay"}, "stay", episodes=2)
    assert records.labels("agent") == ["idle"]
    assert len(records) == 2 * 2
    with pytest.raises(cochef.InputError, match="two agents with the same name"):
        cochef.evaluate(narrow, ["stay", "stay"], "stay", episodes=2)


def test_probabilities_and_recurrent_state_of_an_agent_can_be_looked_at():
    for name in ("hsp:coordination_ring", "human-proxy:coordination_ring"):
        agent = cochef.load(name, "coordination_ring")
        assert isinstance(agent, cochef.NetworkAgent)
        state = cochef.start("coordination_ring")
        key = jax.random.key(0)
        carry = agent.begin(key)
        chances = agent.probabilities(state, 0, carry)
        assert chances.shape == (6,)
        assert float(chances.sum()) == pytest.approx(1.0)
        action, after = agent.act(state, 0, carry, key)
        assert chances[int(action)] > 0
        assert jax.tree.structure(after) == jax.tree.structure(carry)
    script = cochef.load("script:delivery", "coordination_ring")
    assert not isinstance(script, cochef.NetworkAgent)


@pytest.fixture(scope="module")
def trained(narrow, tmp_path_factory):
    out = tmp_path_factory.mktemp("run") / "sp"
    return cochef.train("sp", narrow, out=out, preset="smoke", members=2)


def test_a_trained_run_gives_its_agents_and_critics(trained):
    assert len(trained.paths) == 2
    critic = trained.critic(1)
    assert isinstance(critic, cochef.Critic)
    value, carry = critic.value(cochef.start(trained.layout), 0, critic.begin())
    assert np.isfinite(value)
    assert carry.shape == critic.begin().shape
    with pytest.raises(cochef.InputError, match="member is 2; it takes a whole number from 0 to 1"):
        trained.critic(2)
    with pytest.raises(cochef.InputError, match="no agent 2"):
        trained.agent(2)


def test_a_population_is_trained_further_as_a_new_run_that_says_where_it_came_from(
    trained, narrow, tmp_path
):
    out = tmp_path / "further"
    further = cochef.train("sp", narrow, out=out, preset="smoke", start=trained.directory)
    config = run_config(further)
    assert config["from"]["path"] == str(trained.directory)
    assert len(config["from"]["agents"]) == 2
    assert config["members"] == 2
    assert config["training"]["shaping"] == {"start": 0.0, "end": 0.0, "steps": 1}


def test_learners_go_on_as_they_were_with_their_critics(trained, narrow, tmp_path):
    origin = read_origin(trained.directory, trained.layout)
    stage = pipeline.population("sp", trained.layout, "smoke", 5).further(origin)
    said = []
    learners = origin.origin(stage.trainer, said.append)
    assert said == []
    for member in range(2):
        own = trained.agent(member).network.head.weight
        assert np.array_equal(learners.actors.head.weight[member, 0], own)
        critic = trained.critic(member).critic
        assert np.array_equal(learners.critics.head.weight[member, 0], critic.head.weight)


def test_an_agent_file_is_trained_further_with_a_pool_and_an_own_agent(trained, tmp_path):
    pool = cochef.make_pool(tmp_path / "pool", [trained.directory], trained.layout)
    assert len(pool.members) == 2
    adapted = cochef.train_with_pool(
        pool,
        out=tmp_path / "adapted",
        preset="smoke",
        start=trained.paths[0],
        own={"walker": Walker(None)},
    )
    config = run_config(adapted)
    assert config["pool"] == [member.name for member in pool.members] + ["walker"]
    assert config["from"]["path"] == str(trained.paths[0])
    assert cochef.play(trained.layout, adapted.agent(), "stay").score.shape == (1,)


def test_an_agent_that_ships_is_trained_further_by_its_name():
    layout = cochef.layout("coordination_ring")
    found = read_origin(Path("hsp:coordination_ring"), layout)
    assert found.members == 1
    assert found.network.recurrent
    for wrong in ("hsp:coordination_rng", "hsp:coordination_ring@noise=0.1"):
        with pytest.raises(cochef.InputError, match=r"ships; did you mean coordination_ring\?"):
            read_origin(Path(wrong), layout)
    human = read_origin(Path("human-proxy:coordination_ring"), layout)
    with pytest.raises(cochef.InputError, match="only trained agents learn further"):
        human.network  # noqa: B018


def test_an_own_agent_that_fails_in_training_is_named_and_nothing_is_lost(trained, tmp_path):
    pool = cochef.make_pool(tmp_path / "pool", [trained.directory], trained.layout)
    own = Faulty(None)
    own.calls_before = 60
    with pytest.raises(cochef.AgentError, match="Faulty raised KeyError: 'no onion'"):
        cochef.train_with_pool(pool, out=tmp_path / "run", preset="smoke", own={"own": own})
    assert list((tmp_path / "run" / "checkpoints").glob("*.safetensors"))
    own.calls_before = 10**9
    again = cochef.train_with_pool(pool, out=tmp_path / "run", preset="smoke", own={"own": own})
    assert again.paths
