"""The clock of the server, with a clock of the test's own."""

import asyncio

import pytest

from cochef.errors import InputError
from cochef.kitchen import layouts
from cochef.kitchen.constants import Action
from cochef.web.loop import FullError, GameLoop, Rooms
from cochef.web.session import GameSetup

RING = layouts.get("coordination_ring")
OWN = "tests.agents.own_agents"


@pytest.fixture(scope="module")
def rooms():
    made = Rooms(3)
    made.open(RING, ["random", "stay"])
    return made


def setup(**changes):
    asked = {
        "layout": RING,
        "partner": "random",
        "seat": 0,
        "seed": 5,
        "ticks": 50,
        "rate": 10.0,
        "slowness": 2,
    }
    return GameSetup(**asked | changes)


class Hearing:
    """Keeps what the loop tells."""

    def __init__(self):
        self.heard = []

    def __call__(self, live, result):
        self.heard.append(result)


def make_loop(rooms, capacity=3):
    now = [100.0]
    return GameLoop(rooms, capacity, clock=lambda: now[0]), now


def play(loop, now, seconds, step=0.01):
    for _ in range(round(seconds / step)):
        now[0] += step
        loop.tick(now[0])


def test_a_game_ticks_at_its_rate_once_it_is_resumed(rooms):
    loop, now = make_loop(rooms)
    hearing = Hearing()
    live = loop.add(setup(), hearing)
    play(loop, now, 1.0)
    assert hearing.heard == []
    loop.resume(live)
    play(loop, now, 2.005)
    assert live.game.tick == len(hearing.heard) == 20
    loop.pause(live)
    play(loop, now, 1.0)
    assert live.game.tick == 20


def test_games_of_one_rate_tick_at_the_same_moments(rooms):
    loop, now = make_loop(rooms)
    games = [loop.add(setup(seed=seed), Hearing()) for seed in range(2)]
    loop.resume(games[0])
    now[0] += 0.037
    loop.resume(games[1])
    assert games[0].due == games[1].due


def test_a_late_clock_skips_what_it_missed(rooms):
    loop, now = make_loop(rooms)
    live = loop.add(setup(), Hearing())
    loop.resume(live)
    now[0] += 5.0
    loop.tick(now[0])
    loop.tick(now[0])
    assert live.game.tick == 1
    assert loop.punctuality.late[-1] == pytest.approx(4.9, abs=0.11)


def test_the_person_does_what_the_keys_ask_and_the_game_ends(rooms):
    loop, now = make_loop(rooms)
    hearing = Hearing()
    live = loop.add(setup(ticks=5, seat=1), hearing)
    loop.resume(live)
    live.keys = live.keys.press(Action.WEST)
    play(loop, now, 2.0)
    assert [result.actions[1] for result in hearing.heard] == [Action.WEST] * 5
    assert live.game.is_over and live.due is None


def test_beyond_capacity_there_is_no_seat_until_somebody_leaves(rooms):
    loop, _ = make_loop(rooms, capacity=2)
    games = [loop.add(setup(), Hearing()) for _ in range(2)]
    with pytest.raises(FullError):
        loop.add(setup(), Hearing())
    loop.remove(games[0])
    loop.add(setup(), Hearing())


def test_a_game_that_was_interrupted_catches_up_and_goes_on_the_same(rooms):
    loop, now = make_loop(rooms)
    hearing = Hearing()
    whole = loop.add(setup(), hearing)
    loop.resume(whole)
    play(loop, now, 6.0)
    played = [result.actions for result in hearing.heard]
    assert len(played) == 50
    loop.remove(whole)

    again = Hearing()
    live = loop.add(setup(), again, played[:30])
    loop.resume(live)
    assert live.due is None, "a game cannot run before it has caught up"
    while loop.catch_up():
        pass
    assert live.caught_up.is_set() and again.heard == []
    loop.resume(live)
    play(loop, now, 3.0)
    assert [result.actions[1] for result in again.heard] == [both[1] for both in played[30:]]


def test_running_games_are_not_held_up_by_one_that_catches_up(rooms):
    async def scene():
        loop = GameLoop(rooms, 3)
        hearing = Hearing()
        running = loop.add(setup(ticks=10_000, rate=1_000.0), hearing)
        loop.resume(running)
        clock = asyncio.create_task(loop.run())
        behind = loop.add(setup(ticks=1000), Hearing(), [(4, 4)] * 200)
        before = running.game.tick
        await asyncio.wait_for(behind.caught_up.wait(), 60)
        during = running.game.tick - before
        clock.cancel()
        return during, behind.game.tick

    during, caught = asyncio.run(scene())
    assert during >= 1 and caught == 200


def test_a_game_whose_own_agent_fails_is_paused_and_the_others_go_on(caplog):
    own = Rooms(3, own_code=[f"{OWN}:Faulty"])
    own.open(RING, ["random", f"{OWN}:Faulty"])
    loop, now = make_loop(own)
    hearings = [Hearing(), Hearing()]
    games = [
        loop.add(setup(partner=f"{OWN}:Faulty", slowness=1), hearings[0]),
        loop.add(setup(), hearings[1]),
    ]
    for game in games:
        loop.resume(game)
    play(loop, now, 3.005)
    assert games[0].due is None
    assert "no onion" in hearings[0].heard[-1].fault
    assert len(hearings[1].heard) == 30
    assert "Faulty raised KeyError" in caplog.text


def test_a_room_runs_no_code_that_nobody_has_allowed():
    with pytest.raises(InputError, match="names code, which is not run from here"):
        Rooms(1, own_code=[f"{OWN}:Walker"]).open(RING, [f"{OWN}:Faulty"])
