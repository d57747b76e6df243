import sys
from types import ModuleType, SimpleNamespace

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from cochef.adapters.gymnasium import KitchenWithPartner
from cochef.adapters.jaxmarl import MultiAgentKitchen
from cochef.adapters.pettingzoo import ParallelKitchen
from cochef.adapters.registration import environment_id
from cochef.agents.agent import Stay
from cochef.errors import InputError
from cochef.kitchen import layouts
from cochef.kitchen.constants import Action
from cochef.kitchen.observation import decode
from tests.narrow_layout import NARROW

NORTH, SOUTH, EAST, WEST, STAY, USE = Action
ONION_INTO_POT = (EAST, USE, WEST, NORTH, USE)  # for chef 1 of the cramped room


def test_every_shipped_layout_can_be_made_by_name_with_any_of_gymnasiums_ways():
    for name in layouts.names():
        env = gymnasium.make(f"cochef.envs:{environment_id(name)}")
        assert env.unwrapped.spec.kwargs["layout"] == name
        assert environment_id(name) in gymnasium.registry


def test_a_layout_can_be_the_path_of_its_file(tmp_path):
    path = tmp_path / "narrow.toml"
    path.write_text(NARROW)
    for kitchen in (KitchenWithPartner(path), KitchenWithPartner(str(path)), ParallelKitchen(path)):
        kitchen.reset(seed=0)
    assert MultiAgentKitchen(path).layout.name == "narrow"


def test_code_is_no_partner_and_the_error_does_not_offer_it():
    with pytest.raises(InputError, match="names code, which is not run from here") as caught:
        KitchenWithPartner("cramped_room", "my_agents:Walker")
    assert "MODULE:FACTORY" not in str(caught.value)


def test_where_jaxmarl_is_installed_the_spaces_are_of_its_classes(monkeypatch):
    class Box:
        def __init__(self, low, high, shape, dtype):
            self.settings = (low, high, shape, dtype)

    class Discrete:
        def __init__(self, n):
            self.n = n

    # As in JaxMARL's module of that name, which is not installed with the tests.
    spaces = SimpleNamespace(Box=Box, Discrete=Discrete)
    for name in ("jaxmarl", "jaxmarl.environments"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setattr(sys.modules["jaxmarl.environments"], "spaces", spaces, raising=False)
    kitchen = MultiAgentKitchen("cramped_room", "grid")
    seen = kitchen.observation_spaces["agent_0"]
    assert isinstance(seen, Box)
    assert seen.settings[2] == kitchen.reset(jax.random.key(0))[0]["agent_0"].shape
    assert isinstance(kitchen.action_spaces["agent_1"], Discrete)
    assert kitchen.action_spaces["agent_1"].n == len(Action)


def test_a_partner_by_name_plays_as_the_agent_itself():
    def play(partner):
        env = KitchenWithPartner("cramped_room", partner, seat=0)
        env.reset(seed=3)
        return [env.step(STAY)[0].tolist() for _ in range(10)]

    assert play("stay") == play(Stay())
    assert play("random") != play("stay")


def test_an_agent_from_a_file_is_loaded_with_the_first_episode():
    env = KitchenWithPartner("cramped_room", "human-proxy:cramped_room", seat=1, horizon=3)
    env.reset(seed=0)
    assert [env.step(STAY)[3] for _ in range(3)] == [False, False, True]


def test_the_horizon_can_be_given():
    single = KitchenWithPartner("cramped_room", "stay", seat=0, horizon=2)
    single.reset(seed=0)
    assert [single.step(STAY)[3] for _ in range(2)] == [False, True]
    both = ParallelKitchen("cramped_room", horizon=1)
    both.reset()
    assert both.step(dict.fromkeys(both.possible_agents, STAY))[3]["chef_0"]
    assert MultiAgentKitchen("cramped_room", horizon=7).max_steps == 7


def test_shaped_rewards_are_told_but_count_only_as_far_as_asked():
    rewards = {}
    for share in (0.0, 0.5):
        env = KitchenWithPartner("cramped_room", "stay", seat=1, shaping_share=share)
        env.reset(seed=0)
        told = [env.step(action) for action in ONION_INTO_POT]
        assert told[-1][4]["shaped_reward"] == 3.0
        assert "placement_in_pot" in told[-1][4]["events"]
        rewards[share] = [reward for _, reward, *_ in told]
    assert rewards[0.0] == [0.0] * 5
    assert rewards[0.5] == [0.0] * 4 + [1.5]


def test_the_share_of_the_shaped_reward_can_be_annealed():
    env = gymnasium.make("cochef.envs:CoChef/cramped_room-v0", partner="stay", seat=1)
    env.reset(seed=0)
    env.set_wrapper_attr("shaping_share", 1.0)
    assert [env.step(action)[1] for action in ONION_INTO_POT][-1] == 3.0


def test_each_chef_gets_its_own_shaped_reward():
    env = ParallelKitchen("cramped_room", shaping_share=1.0)
    env.reset()
    for action in ONION_INTO_POT:
        _, rewards, _, _, infos = env.step({"chef_0": STAY, "chef_1": action})
    assert rewards == {"chef_0": 0.0, "chef_1": 3.0}
    assert infos["chef_1"]["shaped_reward"] == 3.0


def test_shaping_can_come_from_a_reward_file(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text("[shaping]\npickup_onion_from_dispenser = 7\n")
    env = MultiAgentKitchen("cramped_room", shaping=str(path))
    key = jax.random.key(0)
    _, state = env.reset(key)
    for action in (EAST, USE):
        actions = {"agent_0": np.int32(STAY), "agent_1": np.int32(action)}
        _, state, rewards, _, infos = env.step(key, state, actions)
    told = {agent: float(reward) for agent, reward in infos["shaped_reward"].items()}
    assert told == {"agent_0": 0.0, "agent_1": 7.0}
    assert {float(reward) for reward in rewards.values()} == {0.0}


@pytest.mark.parametrize("kind", ["grid", "compact", "features"])
def test_the_state_of_pettingzoo_is_the_whole_kitchen(kind):
    env = ParallelKitchen("cramped_room", kind, raw=True)
    observations, _ = env.reset()
    observations, *_ = env.step({"chef_0": NORTH, "chef_1": EAST})
    state = env.state()
    assert env.state_space.contains(state)
    if kind == "features":
        decoded = decode(layouts.get("cramped_room"), jnp.asarray(state))
        assert int(decoded.time) == 1
    else:
        np.testing.assert_array_equal(state, observations["chef_0"])


def test_a_person_can_watch_in_a_window(monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    pygame = pytest.importorskip("pygame")
    env = gymnasium.make("cochef.envs:CoChef/cramped_room-v0", partner="stay", render_mode="human")
    env.reset(seed=0)
    first = pygame.surfarray.array3d(pygame.display.get_surface())
    env.step(NORTH)
    env.step(WEST)
    second = pygame.surfarray.array3d(pygame.display.get_surface())
    env.close()
    assert pygame.display.get_surface() is None
    assert len(np.unique(first)) > 10
    assert (first != second).any()
