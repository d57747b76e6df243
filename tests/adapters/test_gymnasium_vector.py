import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from cochef.adapters.gymnasium import KitchenWithPartner
from cochef.adapters.gymnasium_vector import VectorKitchens
from cochef.errors import InputError
from cochef.kitchen.constants import Action
from cochef.kitchen.events import Event

KITCHENS = 3
HORIZON = 30
PARTNER = "script:onion_placement_and_delivery@noise=0.2"  # random in seat, start and actions


def _vector(**options):
    return VectorKitchens(KITCHENS, "cramped_room", PARTNER, horizon=HORIZON, **options)


def _single(**options):
    return KitchenWithPartner("cramped_room", PARTNER, horizon=HORIZON, **options)


@pytest.fixture(scope="module")
def actions():
    """Random actions for two episodes."""
    return np.random.default_rng(0).integers(len(Action), size=(2, HORIZON, KITCHENS))


@pytest.fixture(scope="module")
def episodes(actions):
    """What the single environments with seeds 5, 6, 7 give in two episodes each."""
    return [_play_single(5 + kitchen, actions[..., kitchen]) for kitchen in range(KITCHENS)]


def _play_single(seed, actions):
    env = _single(shaping_share=0.5)
    played = []
    for number, episode in enumerate(actions):
        begun = env.reset(seed=seed if number == 0 else None)
        played.append((begun, [env.step(action) for action in episode]))
    return played


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_each_kitchen_plays_as_the_single_environment_with_its_seed(mode, actions, episodes):
    env = _vector(shaping_share=0.5, autoreset_mode=mode)
    begun, infos = env.reset(seed=5)
    for number in range(2):
        for kitchen, single in enumerate(episodes):
            _compare((begun, infos), kitchen, single[number][0])
        for step in range(HORIZON):
            told = env.step(actions[number, step])
            last = step == HORIZON - 1
            if last and mode is AutoresetMode.SAME_STEP:
                begun, infos = told[0], told[4]
                told = (np.stack(infos["final_obs"]), *told[1:4], infos["final_info"])
            for kitchen, single in enumerate(episodes):
                _compare(told, kitchen, single[number][1][step])
        if mode is AutoresetMode.NEXT_STEP:
            begun, rewards, terminated, truncated, infos = env.step(actions[0, 0])
            assert not (rewards.any() or terminated.any() or truncated.any())


def _compare(told, kitchen, single):
    """What one kitchen of many tells is what the single environment tells."""
    *arrays, infos = told
    *values, info = single
    for array, value in zip(arrays, values, strict=True):
        np.testing.assert_allclose(array[kitchen], value)
    events = info.pop("events", None)
    assert {name: infos[name][kitchen] for name in info} == info
    assert all(infos[f"_{name}"].all() for name in info)
    if events is not None:
        happened = sorted(
            Event(number).label for number in np.flatnonzero(infos["events"][kitchen])
        )
        assert happened == events
        info["events"] = events


def test_gymnasium_makes_many_kitchens_by_name_in_one_program():
    env = gymnasium.make_vec("cochef.envs:CoChef/cramped_room-v0", num_envs=4, horizon=HORIZON)
    assert isinstance(env.unwrapped, VectorKitchens)
    observations, infos = env.reset(seed=1)
    assert env.observation_space.contains(observations)
    assert set(infos["seat"]) == {0, 1}
    told = env.step(env.action_space.sample())
    assert [array.shape for array in told[:4]] == [(4, 73), (4,), (4,), (4,)]
    assert all(array.flags.writeable for array in told[:4])


def test_gymnasiums_wrappers_count_the_episodes_of_many_kitchens():
    env = gymnasium.wrappers.vector.RecordEpisodeStatistics(_vector())
    env.reset(seed=0)
    for _ in range(HORIZON):
        *_, infos = env.step(np.full(KITCHENS, Action.STAY))
    assert infos["episode"]["l"].tolist() == [HORIZON] * KITCHENS


def test_without_automatic_resets_the_end_must_be_followed_by_a_reset():
    env = VectorKitchens(2, horizon=1, autoreset_mode="Disabled")
    env.reset(seed=0)
    assert env.step(np.zeros(2, int))[3].all()
    with pytest.raises(InputError, match="the episode ended after 1 steps; call reset"):
        env.step(np.zeros(2, int))


def test_many_kitchens_are_drawn_one_by_one():
    env = _vector(render_mode="ansi")
    env.reset(seed=0)
    assert len(env.render()) == KITCHENS
    assert all("O" in picture for picture in env.render())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: VectorKitchens(0), "num_envs is 0; it takes a whole number from 1"),
        (lambda: _vector(render_mode="human"), "unknown render mode 'human' of many kitchens"),
        (lambda: _vector(autoreset_mode="never"), "autoreset_mode is 'never'; allowed: 'NextStep'"),
        (lambda: _vector().step(np.zeros(KITCHENS, int)), "no episode is running; call reset"),
        (lambda: _vector().reset(seed=[1, 2]), "2 seeds for 3 kitchens; it takes one each"),
        (lambda: _step([0, 1]), "it takes 3 whole numbers"),
        (lambda: _step([0, 1, 6]), "the action in kitchen 2 is 6; allowed: 0 north"),
    ],
)
def test_wrong_use_of_many_kitchens_gets_an_error_that_says_what_is_allowed(make, message):
    with pytest.raises(InputError) as error:
        make()
    assert message in str(error.value)


def _step(actions):
    env = _vector()
    env.reset(seed=0)
    env.step(np.array(actions))
