"""Any agents with any partners: the records say what was played."""

import dataclasses

import jax
import numpy as np
import pytest

from cochef.agents.names import load
from cochef.errors import InputError
from cochef.evaluation.behaviours import BEHAVIOUR, counts
from cochef.evaluation.crossplay import Player, evaluate, players, unseen_partners
from cochef.kitchen import layouts
from cochef.kitchen.constants import Action
from cochef.kitchen.events import Event
from cochef.rollout import record

ROOM = dataclasses.replace(layouts.get("cramped_room"), horizon=120)
BUSY = "script:onion_placement_and_delivery"
AGENTS = (Player("busy", BUSY), Player("stay", "stay"))
PARTNERS = (Player("random", "random"), Player("stay", "stay", seed=1))
EPISODES = 5


@pytest.fixture(scope="module")
def records():
    return evaluate(ROOM, AGENTS, PARTNERS, episodes=EPISODES, seed=1)


@pytest.fixture(scope="module")
def trajectory():
    """The same episodes as the first that are evaluated: busy in seat 0, random in seat 1."""
    agents = (load(BUSY, ROOM), load("random", ROOM))
    played = jax.device_get(record(ROOM, agents, jax.random.fold_in(jax.random.key(1), 0), 40))
    return jax.tree.map(lambda leaf: leaf[:, :EPISODES], played)


def test_every_pair_plays_in_both_seats_the_same_number_of_episodes(records):
    assert len(records) == 2 * 2 * 2 * EPISODES
    keys = ("agent", "agent_seed", "partner", "partner_seed", "seat", "episode")
    rows = list(zip(*(records[key].tolist() for key in keys), strict=True))
    assert len(set(rows)) == len(rows)
    assert rows[0] == ("busy", 0, "random", 0, 0, 0)
    assert rows[-1] == ("stay", 0, "stay", 1, 1, EPISODES - 1)


def test_evaluating_twice_gives_the_same_records_and_another_seed_others(records):
    again = evaluate(ROOM, AGENTS, PARTNERS, episodes=EPISODES, seed=1)
    other = evaluate(ROOM, AGENTS, PARTNERS, episodes=EPISODES, seed=2)
    assert records.columns.keys() == again.columns.keys()
    assert all(np.array_equal(records[name], again[name]) for name in records.columns)
    assert not all(np.array_equal(records[name], other[name]) for name in records.columns)


def test_the_score_is_the_task_reward_without_shaping(records):
    deliveries = records["agent_delivery"] + records["partner_delivery"]
    assert records["score"].sum() > 0
    assert np.array_equal(records["score"], 20 * deliveries)
    assert np.array_equal(records["score"], records["agent_reward"] + records["partner_reward"])


def test_the_shaped_reward_is_kept_apart(records):
    for who in ("agent", "partner"):
        expected = (
            3 * records[f"{who}_optimal_placement"] + 3 * records[f"{who}_useful_dish_pickup"]
        )
        expected = expected + 5 * records[f"{who}_soup_pickup"]
        assert np.array_equal(records[f"{who}_shaped"], expected)


def test_the_agent_sits_where_the_record_says(records):
    for seat in (0, 1):
        rows = records.where((records["agent"] == "busy") & (records["seat"] == seat))
        with_stay = rows.where(rows["partner"] == "stay")
        assert (with_stay["agent_placement_in_pot"] > 0).all()
        assert (with_stay["partner_idle"] == ROOM.horizon).all()
        assert not any(with_stay[f"partner_{event.label}"].any() for event in Event)
    lazy = records.where(records["agent"] == "stay")
    assert (lazy["agent_idle"] == ROOM.horizon).all()


def test_counts_are_those_of_a_recording_of_the_same_episodes(records, trajectory):
    rows = records.where(
        (records["agent"] == "busy") & (records["partner"] == "random") & (records["seat"] == 0)
    )
    events = trajectory.outcomes.events.sum(axis=0)
    for seat, who in enumerate(("agent", "partner")):
        for event in Event:
            assert np.array_equal(rows[f"{who}_{event.label}"], events[:, seat, event])
        assert np.array_equal(
            rows[f"{who}_reward"], trajectory.outcomes.reward.sum(axis=0)[:, seat]
        )
    assert np.array_equal(rows["score"], trajectory.score)


def test_collisions_and_idle_steps_are_those_of_a_recording(records, trajectory):
    rows = records.where(
        (records["agent"] == "busy") & (records["partner"] == "random") & (records["seat"] == 0)
    )
    chefs, actions = trajectory.states.chefs, trajectory.actions
    still = chefs.cell[1:] == chefs.cell[:-1]
    ahead = chefs.cell[:-1] + ROOM.steps[actions % 4]
    blocked = (actions < Action.STAY) & still & ROOM.is_floor[ahead]
    same = still & (chefs.facing[1:] == chefs.facing[:-1]) & (chefs.held[1:] == chefs.held[:-1])
    idle = same & ~trajectory.outcomes.events.any(axis=-1)
    for seat, who in enumerate(("agent", "partner")):
        assert np.array_equal(rows[f"{who}_collisions"], blocked.sum(axis=0)[:, seat])
        assert np.array_equal(rows[f"{who}_idle"], idle.sum(axis=0)[:, seat])


def test_every_behaviour_has_a_column_for_both(records):
    for name in counts(
        ROOM, jax.tree.map(lambda leaf: np.asarray(leaf)[None], BEHAVIOUR.begin(ROOM))
    ):
        assert f"agent_{name}" in records.columns
        assert f"partner_{name}" in records.columns


def test_players_are_names_or_labels_with_the_seeds_of_one_method():
    assert players(
        ["stay", "script:delivery@noise=0.1", "mine=a.safetensors;b/c=d.safetensors"]
    ) == [
        Player("stay", "stay"),
        Player("script:delivery@noise=0.1", "script:delivery@noise=0.1"),
        Player("mine", "a.safetensors", 0),
        Player("mine", "b/c=d.safetensors", 1),
    ]


def test_a_label_given_twice_is_an_error():
    with pytest.raises(
        InputError,
        match="label 'stay' is given twice; give each its own, or LABEL=NAME;NAME for seed",
    ):
        players(["stay", "random", "stay"])


def test_an_unknown_player_is_an_error():
    with pytest.raises(InputError, match="unknown agent 'nobody'"):
        evaluate(ROOM, [Player("nobody", "nobody")], PARTNERS, episodes=1)


def test_partners_nobody_trains_with_are_the_scripts_of_the_layout_and_its_human_models():
    assert unseen_partners(layouts.get("coordination_ring")) == [
        "script:onion_placement",
        "script:delivery",
        "script:onion_everywhere",
        "script:dish_everywhere",
        "script:onion_placement_and_delivery",
        "human-proxy:coordination_ring",
        "human-2019:coordination_ring",
    ]
    assert "script:tomato_placement" in unseen_partners(layouts.get("many_orders"))
    assert not any(name.startswith("human") for name in unseen_partners(layouts.get("many_orders")))
