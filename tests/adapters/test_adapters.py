import dataclasses
import importlib
import sys

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from pettingzoo.test import parallel_api_test, parallel_seed_test

from cochef.adapters.common import KitchenSettings
from cochef.adapters.gymnasium import KitchenWithPartner
from cochef.adapters.jaxmarl import MultiAgentKitchen
from cochef.adapters.pettingzoo import ParallelKitchen
from cochef.agents.agent import Random, Stay
from cochef.errors import InputError
from cochef.kitchen import layouts
from cochef.kitchen.constants import Action
from cochef.kitchen.dynamics import step
from cochef.kitchen.events import Event
from cochef.kitchen.features import features
from cochef.kitchen.observation import compact, grid
from cochef.kitchen.state import start
from tests.kitchen.kinds import one_of_each_kind

OBSERVATIONS = {"grid": grid, "compact": compact, "features": features}
ONION_FROM_THE_EAST = (Action.EAST, Action.INTERACT)  # for chef_1 of the cramped room

OLD_KEY = jax.random.PRNGKey(0)  # the older form of a key, as JaxMARL's own programs pass it

each_observation = pytest.mark.parametrize("kind", OBSERVATIONS)


@one_of_each_kind
def test_pettingzoo_finds_no_fault_with_the_parallel_environment(name):
    parallel_api_test(ParallelKitchen(name), num_cycles=1000)


@one_of_each_kind
def test_pettingzoo_finds_the_parallel_environment_deterministic(name):
    parallel_seed_test(lambda: ParallelKitchen(name))


@one_of_each_kind
def test_gymnasium_finds_no_fault_with_the_environment_and_its_pictures(name):
    env = gymnasium.make(f"cochef.envs:CoChef/{name}-v0")
    check_env(env.unwrapped, skip_render_check=name != "cramped_room")


@each_observation
def test_the_conformance_tests_pass_with_every_observation(kind):
    parallel_api_test(ParallelKitchen("many_orders", kind), num_cycles=20)
    env = gymnasium.make("cochef.envs:CoChef/many_orders-v0", observation=kind, raw=kind == "grid")
    check_env(env.unwrapped, skip_render_check=True)


@each_observation
def test_raw_observations_are_those_of_each_chef(kind):
    layout = layouts.get("cramped_room")
    expected = np.asarray(jax.jit(OBSERVATIONS[kind], static_argnums=0)(layout, start(layout)))
    seen, _ = ParallelKitchen(layout, kind, raw=True).reset()
    for seat in (0, 1):
        alone, _ = KitchenWithPartner(layout, Stay(), seat, kind, raw=True).reset()
        mapped, _ = MultiAgentKitchen(layout, kind, raw=True).reset(jax.random.key(0))
        for observation in (seen[f"chef_{seat}"], alone, np.asarray(mapped[f"agent_{seat}"])):
            np.testing.assert_array_equal(observation, expected[seat], strict=True)


@each_observation
def test_observations_are_the_raw_ones_divided_by_the_most_that_each_number_can_be(kind):
    peaks = KitchenSettings(layouts.get("many_orders"), kind).peaks
    scaled, raw = (
        ParallelKitchen("many_orders", kind),
        ParallelKitchen("many_orders", kind, raw=True),
    )
    scaled.reset(), raw.reset()
    largest = np.zeros(peaks.shape)
    for joint in np.random.default_rng(1).integers(len(Action), size=(300, 2)):
        actions = dict(zip(scaled.possible_agents, joint, strict=True))
        seen, whole = scaled.step(actions)[0], raw.step(actions)[0]
        for chef in seen:
            assert seen[chef].dtype == np.float32
            np.testing.assert_allclose(seen[chef] * peaks, whole[chef], atol=1e-4)
            each = np.abs(whole[chef]).reshape(-1, peaks.shape[-1]).max(axis=0)
            largest = np.maximum(largest, each)
    assert (largest <= peaks).all()


@each_observation
@pytest.mark.parametrize("name", ["blocked_corridor", "many_orders"])
def test_the_observations_of_a_long_game_stay_within_their_space(name, kind):
    env = ParallelKitchen(name, kind)
    env.reset()
    for joint in np.random.default_rng(0).integers(len(Action), size=(100, 2)):
        observations, *_ = env.step(dict(zip(env.possible_agents, joint, strict=True)))
        assert all(
            env.observation_space(chef).contains(observations[chef]) for chef in observations
        )


def test_both_chefs_get_the_teams_reward_and_read_their_own_part_in_their_info():
    env = ParallelKitchen("cramped_room")
    env.reset()
    total = 0.0
    for first, second in _one_soup_by_chef_1():
        _, rewards, _, _, infos = env.step({"chef_0": first, "chef_1": second})
        total += rewards["chef_0"]
        assert rewards["chef_0"] == rewards["chef_1"]
    assert total == 20.0
    assert infos["chef_0"] == {"own_reward": 0.0, "shaped_reward": 0.0, "events": []}
    assert infos["chef_1"] == {"own_reward": 20.0, "shaped_reward": 0.0, "events": ["delivery"]}


def _one_soup_by_chef_1():
    """Joint actions for the cramped room: chef 0 steps aside, chef 1 delivers a soup."""
    north, south, east, west, stay, use = Action
    fetch_and_place = [east, use, west, north, use, east]
    plate = [south, west, west, south, use, east, north, north, use]
    deliver = [east, south, south, use]
    alone = [*fetch_and_place * 3, *[stay] * 12, *plate, *deliver]
    return list(zip([north, *[stay] * (len(alone) - 1)], alone, strict=True))


def test_the_horizon_is_a_truncation_and_no_termination_in_pettingzoo():
    layout = layouts.get("cramped_room")
    env = ParallelKitchen(layout)
    env.reset()
    for time in range(1, layout.horizon + 1):
        _, _, terminated, truncated, _ = env.step({"chef_0": Action.STAY, "chef_1": Action.STAY})
        last = time == layout.horizon
        assert terminated == {"chef_0": False, "chef_1": False}
        assert truncated == {"chef_0": last, "chef_1": last}
        assert env.agents == ([] if last else ["chef_0", "chef_1"])
    with pytest.raises(InputError, match="no episode is running; call reset"):
        env.step({"chef_0": Action.STAY, "chef_1": Action.STAY})


def test_the_horizon_is_a_truncation_and_no_termination_in_gymnasium():
    layout = layouts.get("cramped_room")
    env = KitchenWithPartner(layout, Stay())
    env.reset(seed=0)
    ends = [env.step(Action.STAY)[2:4] for _ in range(layout.horizon)]
    assert ends == [(False, False)] * (layout.horizon - 1) + [(False, True)]
    with pytest.raises(InputError, match="the episode ended after 400 steps; call reset"):
        env.step(Action.STAY)


def test_the_horizon_is_a_truncation_in_the_jaxmarl_signature_and_the_next_episode_begins():
    env = MultiAgentKitchen("cramped_room")
    key, stay = OLD_KEY, dict.fromkeys(env.agents, jnp.int32(Action.STAY))
    begin_observations, begin = env.reset(key)
    state = dataclasses.replace(begin, time=jnp.int32(env.layout.horizon - 2))
    for last in (False, True):
        _, after, _, ends, told = env.step_env(key, state, stay)
        observations, state, _, dones, infos = env.step(key, state, stay)
        assert {key: bool(done) for key, done in dones.items()} == dict.fromkeys(
            ["agent_0", "agent_1", "__all__"], last
        )
        assert infos["truncated"].tolist() == [last, last]
        assert _equal((ends, told), (dones, infos))
    assert int(after.time) == env.layout.horizon
    assert _equal((observations, state), (begin_observations, begin))
    observations, state, *_ = env.step(
        key, dataclasses.replace(after, time=after.time - 1), stay, reset_state=after
    )
    assert _equal((observations, state), (env.get_obs(after), after))


def test_one_seed_gives_one_episode_and_seats_and_partners_vary_with_it():
    env = KitchenWithPartner("cramped_room", Random())

    def play(seed):
        observation, info = env.reset(seed=seed)
        return info["seat"], [observation.tolist()] + [
            env.step(Action.STAY)[0].tolist() for _ in range(20)
        ]

    episodes = [play(seed) for seed in range(8)]
    assert episodes == [play(seed) for seed in range(8)]
    assert {seat for seat, _ in episodes} == {0, 1}
    assert len({str(observations) for _, observations in episodes}) == len(episodes)


@pytest.mark.parametrize("seat", [0, 1])
def test_a_given_seat_is_kept_and_the_partner_plays_the_other(seat):
    env = KitchenWithPartner("cramped_room", Stay(), seat)
    for seed in range(4):
        assert env.reset(seed=seed)[1] == {"seat": seat}
    opposite = KitchenWithPartner("cramped_room", Stay(), 1 - seat)
    opposite.reset()
    action = Action.NORTH if seat == 0 else Action.WEST
    moved, *_ = env.step(action)
    other_moved, *_ = opposite.step(action)
    assert moved.tolist() != other_moved.tolist()


def test_the_learner_reads_what_it_did_itself():
    env = KitchenWithPartner("cramped_room", Stay(), seat=1)
    env.reset(seed=0)
    *_, turned = env.step(Action.EAST)
    *_, took = env.step(Action.INTERACT)
    assert turned == {"own_reward": 0.0, "shaped_reward": 0.0, "events": [], "seat": 1}
    assert took["events"] == ["pickup_onion_from_dispenser"]


@pytest.mark.parametrize("name", ["many_orders", "counter_circuit_multi"])
def test_the_jaxmarl_signature_compiled_and_mapped_equals_stepping_the_rules(name):
    env, layout = MultiAgentKitchen(name, events=True), layouts.get(name)
    kitchens, steps = 4, 25
    keys = jax.random.split(jax.random.key(0), kitchens)
    step_all, step_one = jax.jit(jax.vmap(env.step)), jax.jit(step, static_argnums=0)
    _, states = jax.vmap(env.reset)(keys)
    singles = [start(layout)] * kitchens
    for joint in (
        np.random.default_rng(0).integers(len(Action), size=(steps, kitchens, 2)).astype(np.int32)
    ):
        observations, states, rewards, dones, infos = step_all(
            keys, states, {"agent_0": joint[:, 0], "agent_1": joint[:, 1]}
        )
        singles, outcomes = zip(
            *(step_one(layout, *pair) for pair in zip(singles, joint, strict=True)), strict=True
        )
        after, outcome = _stack(singles), _stack(outcomes)
        assert _equal(states, after)
        assert _equal((infos["own_reward"], infos["events"]), (outcome.reward, outcome.events))
        assert _equal(rewards, dict.fromkeys(env.agents, outcome.reward.sum(axis=1)))
        assert _equal(observations, jax.vmap(env.get_obs)(after))
        assert not dones["__all__"].any()


def _stack(trees):
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)


def _equal(one, other):
    same = jax.tree.map(lambda a, b: a.dtype == b.dtype and bool((a == b).all()), one, other)
    return all(jax.tree.leaves(same))


def test_equal_kitchens_share_their_compiled_programs():
    assert hash(MultiAgentKitchen("cramped_room")) == hash(MultiAgentKitchen("cramped_room"))
    assert MultiAgentKitchen("cramped_room") == MultiAgentKitchen("cramped_room")
    assert MultiAgentKitchen("cramped_room") != MultiAgentKitchen("cramped_room", "grid")
    assert MultiAgentKitchen("cramped_room") != MultiAgentKitchen("cramped_room", raw=True)


def test_spaces_of_the_jaxmarl_signature_can_be_sampled_and_mapped():
    env = MultiAgentKitchen("cramped_room", "features")
    keys = jax.random.split(jax.random.key(0), 100)
    actions = jax.vmap(env.action_space("agent_0").sample)(keys)
    assert set(actions.tolist()) == set(range(env.action_space("agent_0").n))
    assert jax.vmap(env.action_space("agent_0").contains)(actions).all()
    for kind in OBSERVATIONS:
        space = MultiAgentKitchen("cramped_room", kind).observation_space("agent_1")
        sample = jax.vmap(space.sample)(keys[:3])
        assert sample.shape[1:] == space.shape
        assert sample.dtype == space.dtype
        assert space.contains(sample)
    assert env.num_agents == len(env.agents) == 2


def test_events_of_the_jaxmarl_signature_follow_the_enumeration():
    env = MultiAgentKitchen("cramped_room", events=True)
    _, state = env.reset(OLD_KEY)
    for action in ONION_FROM_THE_EAST:
        acts = {"agent_0": jnp.int32(Action.STAY), "agent_1": jnp.int32(action)}
        _, state, _, _, infos = env.step(OLD_KEY, state, acts)
    assert [Event(event) for event in np.flatnonzero(infos["events"][1])] == [
        Event.PICKUP_ONION_FROM_DISPENSER
    ]
    assert all(bool(allowed.all()) for allowed in env.get_avail_actions(state).values())


def test_a_kitchen_is_drawn_as_text_or_as_a_picture():
    env = ParallelKitchen("cramped_room", render_mode="ansi")
    env.reset()
    assert env.render().splitlines()[1] == "O           2^  O"
    env = ParallelKitchen("cramped_room", render_mode="rgb_array")
    env.reset()
    picture = env.render()
    assert (picture.dtype, picture.ndim, picture.shape[2]) == (np.uint8, 3, 3)
    assert ParallelKitchen("cramped_room").render() is None


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: ParallelKitchen("cramped"),
            "unknown layout 'cramped'; did you mean cramped_room? known: ",
        ),
        (
            lambda: ParallelKitchen("cramped_room", "pixels"),
            "unknown observation 'pixels'; known: grid, compact, fe",
        ),
        (
            lambda: ParallelKitchen("cramped_room", render_mode="film"),
            "unknown render mode 'film'; known: human, rgb_arr",
        ),
        (
            lambda: ParallelKitchen("cramped_room", horizon=0),
            "horizon is 0; it takes a whole number from 1 to 10000",
        ),
        (
            lambda: ParallelKitchen("cramped_room", shaping="mine"),
            "unknown shaping 'mine'; known: paper, or the path of a .toml reward file",
        ),
        (
            lambda: KitchenWithPartner("cramped_room", "script:deliver"),
            "unknown script 'deliver'; did you mean delivery? known: onion_placement, ",
        ),
        (
            lambda: KitchenWithPartner("cramped_room", shaping_share=2.0),
            "shaping_share is 2.0; it takes a number from 0 to 1",
        ),
        (
            lambda: ParallelKitchen("cramped_room").state(),
            "no episode is running; call reset",
        ),
        (
            lambda: KitchenWithPartner("cramped_room", Stay(), 2),
            "seat is 2; it takes 0, 1, or None",
        ),
        (
            lambda: KitchenWithPartner("cramped_room", Stay()).step(0),
            "no episode is running; call reset",
        ),
        (
            lambda: _step_anew({"chef_0": 6, "chef_1": 0}),
            "the action of chef_0 is 6; allowed: 0 north, 1 south, ",
        ),
        (
            lambda: _step_anew({"chef_0": 0, "chef_1": "stay"}),
            "the action of chef_1 is 'stay'; allowed: 0 north",
        ),
        (lambda: _step_anew({"chef_0": 0}), "actions for chef_0; it takes chef_0 and chef_1"),
        (lambda: _step_anew({}), "actions for nobody; it takes chef_0 and chef_1"),
    ],
)
def test_wrong_use_gets_an_error_that_says_what_is_allowed(make, message):
    with pytest.raises(InputError) as error:
        make()
    assert message in str(error.value)


def _step_anew(actions):
    env = ParallelKitchen("cramped_room")
    env.reset()
    env.step(actions)


@pytest.mark.parametrize("package", ["pettingzoo", "gymnasium"])
def test_without_the_extra_the_error_names_what_to_install(package, monkeypatch):
    monkeypatch.delitem(sys.modules, f"cochef.adapters.{package}")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf'{package} is not installed.*pip install "\.\[envs\]"'):
        importlib.import_module(f"cochef.adapters.{package}")
