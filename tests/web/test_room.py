"""The compiled program of a room against the plain rules and agents."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from cochef.agents.modified import Slow
from cochef.agents.names import load
from cochef.kitchen import layouts
from cochef.kitchen.constants import Action
from cochef.kitchen.dynamics import step
from cochef.kitchen.state import Chef, State, start
from cochef.kitchen.text import to_json
from cochef.rollout import record
from cochef.web.room import AGENT, Room, SlotCommand

CIRCUIT = layouts.get("counter_circuit")
PARTNERS = ("script:onion_placement_and_delivery", "human-proxy:counter_circuit", "random")
OWN = "tests.agents.own_agents"


@pytest.fixture(scope="module")
def room():
    return Room(CIRCUIT, {name: load(name, CIRCUIT) for name in PARTNERS}, 4)


def person(tick, slot):
    return (tick * 7 + slot * 3) % len(Action)


def play(room, slots, ticks, slowness=1, given=None):
    """What results in each slot: slot s holds the agent s % 3 in seat s % 2."""
    results = {slot: [] for slot in slots}
    for tick in range(ticks):
        commands = []
        for slot in slots:
            seat = slot % 2
            joint = (AGENT, person(tick, slot)) if seat == 0 else (person(tick, slot), AGENT)
            if given:
                joint = given[slot][tick].actions
            acts = (tick + 1) % slowness == 0
            commands.append(
                SlotCommand(
                    slot,
                    joint,
                    acts,
                    slot % 3,
                    seat,
                    100 + slot,
                    CIRCUIT.horizon,
                    episode_start=tick == 0,
                )
            )
        for slot, one in zip(slots, room.play([commands]), strict=True):
            results[slot].append(one)
    return results


def replayed(actions):
    state = start(CIRCUIT)
    states = []
    rewards = []
    advance = jax.jit(lambda state, joint: step(CIRCUIT, state, joint))
    for joint in actions:
        state, outcome = advance(state, jnp.array(joint, jnp.int32))
        states.append(to_json(CIRCUIT, state))
        rewards.append(float(outcome.reward.sum()))
    return states, rewards


def test_games_beside_each_other_are_each_the_game_that_the_rules_give(room):
    for game in play(room, [0, 1, 2, 3], 60).values():
        states, rewards = replayed([one.actions for one in game])
        assert [one.state for one in game] == states
        assert [one.reward for one in game] == rewards


def test_a_game_is_the_same_whatever_is_played_beside_it(room):
    alone = play(room, [1], 40)[1]
    beside = play(room, [0, 1, 3], 40)[1]
    assert [one.actions for one in alone] == [one.actions for one in beside]
    assert len({one.actions for one in alone}) > 5


def test_a_slow_agent_stays_between_its_actions_and_its_carry_is_kept(room):
    game = play(room, [1], 80, slowness=8)[1]
    agent_acts = [one.actions[1] for one in game]
    assert all(action == Action.STAY for tick, action in enumerate(agent_acts) if (tick + 1) % 8)
    assert any(action != Action.STAY for action in agent_acts)


def test_a_game_restored_from_its_actions_goes_on_as_if_nothing_had_happened(room):
    whole = play(room, [1], 60, slowness=4)
    play(room, [1], 30, slowness=4, given=whole)

    def commands(tick):
        joint = (person(tick, 1), AGENT)
        acts = (tick + 1) % 4 == 0
        return [SlotCommand(1, joint, acts, 1, 1, 101, CIRCUIT.horizon, episode_start=False)]

    later = [room.play([commands(tick)])[0] for tick in range(30, 60)]
    assert [one.actions for one in later] == [one.actions for one in whole[1][30:]]


def test_ticks_played_in_one_go_are_the_same_ticks(room):
    slots = [0, 1, 2]
    lengths = {0: 32, 1: 20, 2: 7}
    whole = play(room, slots, 60)

    def command(slot, tick):
        return SlotCommand(
            slot,
            whole[slot][tick].actions,
            True,
            slot % 3,
            slot % 2,
            100 + slot,
            CIRCUIT.horizon,
            episode_start=tick == 0,
        )

    ticks = [[command(slot, tick) for slot in slots if tick < lengths[slot]] for tick in range(32)]
    for slot, results in zip(slots, room.play(ticks), strict=True):
        alone = whole[slot][: lengths[slot]]
        assert results.state == alone[-1].state
        assert results.reward == sum(one.reward for one in alone)
        seat = slot % 2
        tick = lengths[slot]
        joint = (AGENT, person(tick, slot)) if seat == 0 else (person(tick, slot), AGENT)
        after = room.play(
            [[SlotCommand(slot, joint, True, slot % 3, seat, 100 + slot, CIRCUIT.horizon)]]
        )
        assert after[0].actions == whole[slot][tick].actions  # and the agents' carries are the same


@pytest.mark.parametrize(
    "name", [*PARTNERS, "script:dish_everywhere", "script:onion_to_middle_counter"]
)
def test_an_agent_sees_itself_and_the_other_but_no_seats(name):
    agent = load(name, CIRCUIT)
    games = record(
        CIRCUIT, (load("random", CIRCUIT), load("script:delivery", CIRCUIT)), jax.random.key(3), 4
    )
    states = jax.tree.map(lambda leaf: leaf[::40].reshape(-1, *leaf.shape[2:]), games.states)
    turned = State(
        Chef(*(leaf[:, ::-1] for leaf in jax.tree.leaves(states.chefs))),
        states.pots,
        states.counters,
        states.time,
    )
    keys = jax.random.split(jax.random.key(5), len(states.time))
    carry = agent.begin(jax.random.key(7))
    in_seat_1 = jax.vmap(lambda state, key: agent.act(state, 1, carry, key))(states, keys)
    as_seat_0 = jax.vmap(lambda state, key: agent.act(state, 0, carry, key))(turned, keys)
    jax.tree.map(np.testing.assert_array_equal, in_seat_1, as_seat_0)


def test_an_idle_agent_of_the_package_is_the_same_habit(room):
    """The slowness of a game is that of NAME@idle=7: once in 8 ticks, idle first."""
    slow = Slow(load("random", CIRCUIT), 7)
    acting = []
    carry = slow.begin(jax.random.key(0))
    for tick in range(24):
        rested = int(carry[0]) == 0
        _, carry = slow.act(start(CIRCUIT), 0, carry, jax.random.key(tick))
        acting.append(rested)
    assert acting == [(tick + 1) % 8 == 0 for tick in range(24)]


def own_room():
    """A JAX agent, an own agent that walks in circles, and one that fails after some calls."""
    names = ("random", f"{OWN}:Walker", f"{OWN}:Faulty")
    return Room(CIRCUIT, {name: load(name, CIRCUIT, own_code=True) for name in names}, 6)


def test_own_agents_are_asked_between_ticks_and_begin_anew_with_every_game():
    room = own_room()
    game = play(room, [0, 1], 6)
    assert [one.actions[1] for one in game[1]] == [0, 1, 2, 3, 0, 1]
    again = play(room, [1], 3, slowness=2)
    assert [one.actions[1] for one in again[1]] == [Action.STAY, 0, Action.STAY]
    assert [one.fault for one in game[1] + again[1]] == [None] * 9


def test_several_ticks_at_once_ask_an_own_agent_in_each():
    room = own_room()
    ticks = [
        [SlotCommand(1, (4, AGENT), True, 1, 1, 7, CIRCUIT.horizon, episode_start=tick == 0)]
        for tick in range(3)
    ]
    assert room.play(ticks)[0].actions == (4, 2)


def test_a_fault_of_an_own_agent_is_told_in_its_slots_and_the_others_play_on():
    room = own_room()
    games = play(room, [0, 1, 2], 25)
    failed = [one.fault for one in games[2]]
    assert not any(failed[:18])
    assert all("Faulty raised KeyError: 'no onion'" in fault for fault in failed[20:])
    assert [one.fault for one in games[0] + games[1]] == [None] * 50
    assert [one.actions for one in games[0]] == [one.actions for one in play(room, [0], 25)[0]]
