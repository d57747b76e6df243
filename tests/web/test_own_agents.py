"""Own agents in the browser: on offer if whoever serves named them, and never by a page's word."""

import sys
from dataclasses import replace
from unittest.mock import patch

import pytest

from cochef.errors import InputError
from cochef.kitchen import layouts
from cochef.web import partners
from cochef.web import room as rooms
from cochef.web.server import play_app
from cochef.web.study import check_agents, own_code_of
from tests.narrow_layout import NARROW
from tests.web.serving import PATIENCE, get, serving
from tests.web.small_study import small_study
from tests.web.talking import Talker

NAME = "tests.agents.own_agents"


@pytest.fixture(scope="module")
def url():
    room = layouts.parse(NARROW, "narrow")
    offered = [
        found
        for agent in ("Walker", "Faulty")
        for found in partners.check_own(f"{NAME}:{agent}", [room])
    ]
    # A busy machine neither pauses games nor gives up an agent.
    with (
        patch.object(rooms, "TICK_PATIENCE", PATIENCE),
        serving(play_app([room], offered, capacity=2, stall_seconds=60.0)) as address,
    ):
        yield address


@pytest.fixture
def page(url):
    talker = Talker(url, get(url).cookies["cochef"])
    talker.say("hello")
    talker.hear("choose")
    yield talker
    talker.close()


def start(page, partner):
    chosen = {"layout": "narrow", "partner": partner, "seat": 0, "slowness": 1, "ticks": 30}
    page.say("start", **chosen, rate=30.0)


def test_one_plays_with_an_own_agent(page):
    start(page, f"{NAME}:Walker")
    page.hear("game")
    page.say("ready", seconds=0.0)
    ticks = [page.hear("tick") for _ in range(6)]
    assert [tick["actions"][1] for tick in ticks] == [0, 1, 2, 3, 0, 1]


def test_a_game_with_an_agent_that_fails_is_paused_and_the_page_is_told_nothing_of_it(page):
    start(page, f"{NAME}:Faulty")
    page.hear("game")
    page.say("ready", seconds=0.0)
    said = page.hear("error")
    assert "has stopped working; the game is paused" in said["message"]
    assert "own_agents" not in said["message"]
    start(page, f"{NAME}:Walker")
    assert page.hear("game")["t"] == 0


def test_a_page_cannot_name_code(page):
    for name in ("antigravity:geohash", f"{NAME}:Undecided", "trap.py:make"):
        start(page, name)
        assert f"unknown partner '{name}'" in page.hear("error")["message"]
    assert "antigravity" not in sys.modules


def test_the_file_of_a_study_may_name_own_agents():
    study = small_study(("coordination_ring",))
    agents = study.layouts["coordination_ring"]
    own = dict.fromkeys(list(agents)[:1], f"{NAME}:Walker")
    named = replace(study, layouts={"coordination_ring": {**agents, **own}})
    assert check_agents(named) == len(agents)
    assert own_code_of(named) == [f"{NAME}:Walker"]
    broken = dict.fromkeys(own, f"{NAME}:nobody")
    with pytest.raises(InputError, match="has no function or class 'nobody'"):
        check_agents(replace(study, layouts={"coordination_ring": {**agents, **broken}}))
