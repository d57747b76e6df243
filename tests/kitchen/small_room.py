"""A small kitchen to show rules in: a state in, one step, the state out.

Rows are those of a state's JSON.
"""

from typing import NamedTuple

import jax
import numpy as np

from cochef.kitchen import layouts
from cochef.kitchen.constants import Action
from cochef.kitchen.dynamics import step
from cochef.kitchen.text import event_names, from_json, to_json

TEXT = """
cooking = "{cooking}"
grid = '''
XXPPXX
O1  2S
T    D
XXXDXX
'''
[orders]
ooo = {{ value = 20, time = 20 }}
ttt = {{ value = 15, time = 10 }}
"""
ROOM = layouts.parse(TEXT.format(cooking="automatic"), "room")
MANUAL = layouts.parse(
    TEXT.format(cooking="manual") + "oo = { value = 7, time = 5 }", "manual room"
)

NORTH, SOUTH, EAST, WEST, STAY, USE = Action
POT, NEXT_POT = (2, 0), (3, 0)
AT_POT = [2, 1, "N"]
AT_ONIONS, AT_TOMATOES = [1, 1, "W"], [1, 2, "W"]
AT_DISHES, AT_SERVING = [4, 2, "E"], [4, 1, "E"]
AT_COUNTER, COUNTER = [2, 2, "S"], (2, 3)
ASIDE = [[3, 2, "N", None], [1, 2, "N", None]]  # places that are in nobody's way

ITEMS = ("onion", "tomato", "dish", "soup:ooo")
INGREDIENTS = ("onion", "tomato")

step_compiled = jax.jit(step, static_argnums=0)


class After(NamedTuple):
    chefs: list
    pots: list
    counters: list
    events: list
    reward: list

    @property
    def held(self):
        return [held for *_, held in self.chefs]


def play(actions, chefs, pots=(), counters=(), layout=ROOM):
    """The kitchen after one step."""
    state = from_json(layout, {"chefs": chefs, "pots": [*pots], "counters": [*counters], "t": 7})
    state, outcome = step_compiled(layout, state, np.array(actions, np.int32))
    data = to_json(layout, state)
    assert data["t"] == 8
    events = [set(event_names(chef)) for chef in np.asarray(outcome.events)]
    return After(data["chefs"], data["pots"], data["counters"], events, outcome.reward.tolist())
