"""Balance: who comes where, and how often, over all places of a group."""

from collections import Counter

import pytest

from cochef.web.assignment import free_place, order, plan, williams
from cochef.web.study import shipped

PAPER = shipped("paper")
PLACES = range(12)


def test_everybody_plays_each_agent_in_each_seat_three_times():
    for place in PLACES:
        assert Counter(order(4, 3, place)) == {
            (agent, seat): 3 for agent in range(4) for seat in range(2)
        }


def test_every_eight_games_hold_each_agent_in_each_seat_once():
    for place in PLACES:
        games = order(4, 3, place)
        for first in (0, 8, 16):
            assert len(set(games[first : first + 8])) == 8


def test_over_a_group_of_twelve_each_agent_comes_three_times_at_every_position_and_seats_are_even():
    for position in range(24):
        there = [order(4, 3, place)[position] for place in PLACES]
        assert Counter(agent for agent, _ in there) == dict.fromkeys(range(4), 3)
        assert Counter(seat for _, seat in there) == {0: 6, 1: 6}


def test_over_eight_places_agents_and_seats_are_even_at_every_position():
    for position in range(24):
        assert len({order(4, 3, place)[position] for place in range(8)}) == 8


def test_within_rounds_each_agent_follows_each_other_equally_often():
    followed = Counter()
    for place in PLACES:
        agents = [agent for agent, _ in order(4, 3, place)]
        followed.update((agents[n], agents[n + 1]) for n in range(23) if n % 4 < 3)
    assert len(followed) == 12
    assert set(followed.values()) == {18}


@pytest.mark.parametrize("agents", range(2, 9))
def test_a_williams_square_is_balanced_for_any_number_of_agents(agents):
    rows = williams(agents)
    followed = Counter((row[n], row[n + 1]) for row in rows for n in range(agents - 1))
    assert len(followed) == agents * (agents - 1)
    assert len(set(followed.values())) == 1
    assert all(len({row[n] for row in rows}) == agents for n in range(agents))


def test_the_letters_of_partners_are_shuffled_for_everybody_and_leave_the_order_of_agents():
    plans = [plan(PAPER, "many_orders", 5, seed) for seed in range(200)]
    assert plan(PAPER, "many_orders", 5, 7) == plans[7]
    shown = Counter(tuple(partner.agent for partner in one.partners) for one in plans)
    assert len(shown) == 24
    assert all([partner.label for partner in one.partners] == ["A", "B", "C", "D"] for one in plans)
    agents = {
        tuple((one.partners[game.partner].agent, game.seat) for game in one.games) for one in plans
    }
    assert len(agents) == 1


def test_newcomers_go_to_the_emptiest_layout_until_all_are_full():
    taken = {layout: set() for layout in PAPER.layouts}
    for seed in range(60):
        layout, place = free_place(PAPER, taken, seed)
        assert len(taken[layout]) == min(map(len, taken.values()))
        assert place == len(taken[layout])
        taken[layout].add(place)
    assert free_place(PAPER, taken, 0) is None
    taken["many_orders"].remove(4)
    assert free_place(PAPER, taken, 0) == ("many_orders", 4)


def test_the_layout_that_is_drawn_says_nothing_about_the_letters_of_partners():
    met = Counter()
    for seed in range(4_000):
        layout, place = free_place(PAPER, {}, seed)
        met.update([(layout, plan(PAPER, layout, place, seed).partners[0].agent)])
    assert len(met) == len(PAPER.layouts) * len(PAPER.agents)
    assert all(abs(number - 200) < 70 for number in met.values())  # five standard deviations


def test_the_layout_of_the_first_newcomer_is_drawn():
    assert {free_place(PAPER, {}, seed)[0] for seed in range(100)} == set(PAPER.layouts)
