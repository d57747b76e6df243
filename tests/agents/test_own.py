"""Own agents: what they are given, what they may return, and what happens if they are at fault."""

import subprocess
import sys

import jax
import numpy as np
import pytest
from tests.agents import own_agents
from tests.narrow_layout import NARROW

from cochef.agents import hosting, own
from cochef.agents.agent import Random, Stay
from cochef.agents.hosting import AgentError
from cochef.agents.names import checksums, load
from cochef.errors import InputError
from cochef.kitchen import layouts
from cochef.rollout import play_episodes, record

LAYOUT = layouts.parse(NARROW, "narrow")
KEY = jax.random.key(3)
HERE = "tests.agents.own_agents"


def episode(*names, kitchens=3):
    agents = tuple(load(name, LAYOUT, own_code=True) for name in names)
    return jax.device_get(record(LAYOUT, agents, KEY, kitchens))


def test_an_own_agent_acts_in_every_kitchen_and_keeps_its_recurrent_state():
    actions = episode(f"{HERE}:Walker", "random").actions
    assert actions[:, :, 0].tolist() == [[step % 4] * 3 for step in range(LAYOUT.horizon)]


def test_the_other_chef_plays_as_if_nobody_was_asked_outside():
    beside = episode(f"{HERE}:Walker", "random").actions[:, :, 1]
    compiled = episode("stay", "random").actions[:, :, 1]
    assert np.array_equal(beside, compiled)


@pytest.mark.parametrize("name", ["Walker", "Undecided"])
def test_the_same_agent_in_jax_plays_the_same_episodes_in_one_program(name):
    outside = episode(f"{HERE}:{name}", "random")
    inside = episode(f"{HERE}:Jax{name}", "random")
    assert np.array_equal(outside.actions, inside.actions)


def test_probabilities_are_sampled_by_the_kitchens_own_random_numbers():
    actions = episode(f"{HERE}:Undecided", "stay", kitchens=40).actions[:, :, 0]
    assert set(np.unique(actions)) == {0, 1}
    assert 0.4 < actions.mean() < 0.6
    assert np.array_equal(
        actions, episode(f"{HERE}:Undecided", "stay", kitchens=40).actions[..., 0]
    )


def test_a_greedy_own_agent_takes_the_likeliest_action():
    agent = load(f"{HERE}:Undecided", LAYOUT, greedy=True, own_code=True)
    assert not record(LAYOUT, (agent, Stay()), KEY, 2).actions[..., 0].any()


def test_in_the_second_seat_an_own_agent_is_the_first_chef_of_the_state_it_sees():
    played = episode("random", f"{HERE}:StateReader")
    cells = played.states.chefs.cell[:-1, :, 1]
    assert np.array_equal(played.actions[:, :, 1], cells % 6)


def test_an_own_agent_may_observe_the_features_of_human_models():
    assert episode(f"{HERE}:FeatureReader", "stay").actions.shape == (LAYOUT.horizon, 3, 2)


def test_own_agents_can_be_noisy_and_in_mixtures():
    actions = episode(f"{HERE}:Walker@noise=1", f"1*{HERE}:Walker+1*stay", kitchens=60).actions
    assert len(np.unique(actions[:, :, 0])) == 6
    walks = (actions[:4, :, 1] == np.arange(4)[:, None]).all(axis=0)
    assert 0 < walks.sum() < 60
    with pytest.raises(InputError, match="let an own agent wait by itself"):
        load(f"{HERE}:Walker@idle=3", LAYOUT, own_code=True)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Faulty", r"Faulty raised KeyError: 'no onion' \(own_agents.py, line \d+\)"),
        ("OutOfRange", "OutOfRange returned 6; it takes 5 actions from 0 to 5"),
        ("WrongShape", r"WrongShape returned 'int64 of shape \(5, 2\)'; it takes 5 actions"),
        ("NotANumber", r"NotANumber returned \[nan, .*\]; it takes .* that sum to 1"),
    ],
)
def test_a_fault_names_the_agent_and_says_what_it_takes(name, message):
    agent = load(f"{HERE}:{name}", LAYOUT, own_code=True)
    with pytest.raises(AgentError, match=message):
        play_episodes(LAYOUT, (agent, Stay()), ((0, 1, 5),), KEY)


def test_an_agent_that_hangs_is_given_up_and_not_asked_again():
    agent = load(f"{HERE}:Silent", LAYOUT, own_code=True)
    agent.caller.patience = 0.2
    with pytest.raises(AgentError, match=r"Silent has not answered within 0\.2 seconds"):
        play_episodes(LAYOUT, (agent, Stay()), ((0, 1, 5),), KEY)
    with pytest.raises(AgentError, match="Silent has not returned from an earlier call"):
        play_episodes(LAYOUT, (agent, Stay()), ((0, 1, 5),), KEY)


def test_the_others_play_on_if_failures_are_collected():
    agents = (load(f"{HERE}:Faulty", LAYOUT, own_code=True), Random(), Stay())
    failures = {}
    matchups = ((0, 1, 4), (1, 2, 4))
    totals = play_episodes(LAYOUT, agents, matchups, KEY, failures=failures)
    assert [caller.name for caller in failures] == [f"{HERE}:Faulty"]
    alone = play_episodes(LAYOUT, (Stay(), *agents[1:]), matchups, KEY)
    assert np.array_equal(totals.events[4:], alone.events[4:])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (f"{HERE}:unmade", r"unmade cannot be made: RuntimeError: no weights for narrow"),
        (f"{HERE}:nothing", "nothing is None, not an agent; it takes an object with `observes`"),
        (f"{HERE}:nobody", "has no function or class 'nobody'"),
        (f"{HERE}:Forgetful", "it takes actions and recurrent state, a tuple of two"),
        ("tests.no_such_module:make", "cannot be imported: ModuleNotFoundError"),
        ("no_such_file.py:make", "no file 'no_such_file.py'"),
    ],
)
def test_code_that_makes_no_agent_is_refused_when_it_is_loaded(name, message):
    with pytest.raises(AgentError, match=message):
        load(name, LAYOUT, own_code=True)


def test_a_factory_or_an_import_that_hangs_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(hosting, "LOADING_PATIENCE", 0.2)
    with pytest.raises(AgentError, match=r"unfinished has not answered within 0\.2 seconds"):
        load(f"{HERE}:unfinished", LAYOUT, own_code=True)
    path = tmp_path / "endless.py"
    path.write_text("import time\ntime.sleep(3600)\n")
    with pytest.raises(AgentError, match=r"endless\.py:make has not answered within 0\.2 seconds"):
        load(f"{path}:make", LAYOUT, own_code=True)


def test_code_that_ends_the_program_is_an_error_of_the_agent(tmp_path):
    path = tmp_path / "quitter.py"
    path.write_text("raise SystemExit(3)")
    with pytest.raises(AgentError, match=r"make cannot be imported: SystemExit: 3"):
        load(f"{path}:make", LAYOUT, own_code=True)


def test_an_own_agent_is_made_and_called_in_one_thread(tmp_path):
    path = tmp_path / "threaded.py"
    path.write_text(
        "import threading\nimport numpy as np\nHERE = threading.get_ident()\n"
        "class Threaded:\n    observes = 'compact'\n"
        "    def __init__(self, layout):\n        assert HERE == threading.get_ident()\n"
        "    def act(self, observations):\n        assert HERE == threading.get_ident()\n"
        "        return np.full(len(observations), 4)\n"
    )
    assert (episode(f"{path}:Threaded", "stay").actions == 4).all()


def test_names_never_run_code_unless_the_caller_says_so(tmp_path, monkeypatch):
    (tmp_path / "trap.py").write_text("raise SystemExit('run')")
    monkeypatch.chdir(tmp_path)
    for name in ("trap:make", "trap.py:make", "0.5*trap:make+0.5*stay", "trap:make@noise=0.1"):
        with pytest.raises(InputError, match="names code, which is not run from here"):
            load(name, LAYOUT)
    assert "trap" not in sys.modules


def test_an_object_is_an_agent_and_says_how_fast_it_was():
    agent = own.wrap(own_agents.Walker(LAYOUT), LAYOUT)
    play_episodes(LAYOUT, (agent, Stay()), ((0, 1, 5),), KEY)
    assert agent.caller.calls == LAYOUT.horizon + 1  # and one when it was wrapped
    assert agent.caller.actions == 5 * LAYOUT.horizon + 1
    assert "Walker: 31 calls" in agent.caller.describe_speed()
    assert own.wrap(Stay(), LAYOUT) == Stay()


def test_a_program_that_cannot_ask_refuses_an_own_agent():
    agent = load(f"{HERE}:Walker", LAYOUT, own_code=True)
    with pytest.raises(AgentError, match="is no JAX code, and cannot play here"):
        agent.begin(KEY)
    assert hosting.is_hosted(agent)


def test_the_checksum_of_an_own_agent_is_that_of_its_code():
    load(f"{HERE}:Walker", LAYOUT, own_code=True)
    assert len(checksums(f"{HERE}:Walker")) == 1


def test_a_process_with_a_hung_agent_ends(tmp_path):
    script = (
        "import jax\n"
        "from tests.agents.test_own import LAYOUT, KEY, HERE, Stay, load, play_episodes\n"
        "agent = load(f'{HERE}:Silent', LAYOUT, own_code=True)\n"
        "agent.caller.patience = 0.2\n"
        "play_episodes(LAYOUT, (agent, Stay()), ((0, 1, 5),), KEY)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False
    )
    assert ended.returncode == 1
    assert "has not answered within 0.2 seconds" in ended.stderr
