"""A playthrough as text, step by step: the actions, the kitchen afterwards, and the events."""

from collections.abc import Iterator, Sequence

import jax
import jax.numpy as jnp

from cochef.kitchen import layouts, recipes
from cochef.kitchen.constants import Action
from cochef.kitchen.dynamics import Outcome, step
from cochef.kitchen.layout import Layout
from cochef.kitchen.state import State, start
from cochef.kitchen.text import draw, event_names, letters, to_json

Joint = tuple[int, int]

_step = jax.jit(
    step, static_argnames="layout", compiler_options={"xla_backend_optimization_level": 0}
)


def transcript(layout: Layout, actions: Sequence[Joint]) -> str:
    """The text of the playthrough that begins at the start and takes these joint actions."""
    state = start(layout)
    blocks = [
        "\n".join([f"layout: {layout.name}", f"cooking: {layout.cooking.value}", *_orders(layout)])
    ]
    blocks.append("\n".join(["start", draw(layout, state)]))
    score = 0
    for number, joint in enumerate(actions, 1):
        state, outcome = jax.device_get(_step(layout, state, jnp.array(joint)))
        score += int(outcome.reward.sum())
        named = ", ".join(Action(action).name.lower() for action in joint)
        blocks.append(
            "\n".join(
                [f"step {number}: {named}", draw(layout, state), *_words(layout, state, outcome)]
            )
        )
    return "\n\n".join([*blocks, f"score: {score}\n"])


def read_actions(text: str) -> tuple[Layout, list[Joint]]:
    """The layout and the joint actions that a transcript tells of."""
    lines = text.splitlines()
    layout = layouts.get(lines[0].removeprefix("layout: "))
    actions = []
    for line in lines:
        if line.startswith("step "):
            first, second = line.split(": ")[1].split(", ")
            actions.append((int(Action[first.upper()]), int(Action[second.upper()])))
    return layout, actions


def _orders(layout: Layout) -> Iterator[str]:
    for order in layout.orders:
        yield f"order: {letters(*order.contents)} pays {order.value}, cooks {order.time}"


def _words(layout: Layout, state: State, outcome: Outcome) -> Iterator[str]:
    """What the drawing leaves out: what soups are made of, how far pots are, events and rewards."""
    data = to_json(layout, state)
    for seat, (_, _, _, held) in enumerate(data["chefs"], 1):
        if held is not None and held.startswith("soup"):
            yield f"chef {seat} holds {held}"
    for x, y, contents, ticks in data["pots"]:
        time = recipes.cooking_times(layout)[contents.count("o"), contents.count("t")]
        yield f"pot at {x},{y}: {contents}, " + (
            "idle" if ticks < 0 else f"cooked {ticks} of {time}"
        )
    for x, y, item in data["counters"]:
        if item.startswith("soup"):
            yield f"{item} lies at {x},{y}"
    for seat, (events, reward) in enumerate(zip(outcome.events, outcome.reward, strict=True), 1):
        if events.any():
            yield f"chef {seat}: {', '.join(event_names(events))}"
        if reward:
            yield f"chef {seat} earns {reward:g}"
