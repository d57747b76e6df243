"""What a seat wants: rewards as weights of events."""

from collections.abc import Mapping

import numpy as np

from cochef.kitchen import layouts
from cochef.kitchen.constants import Event
from cochef.kitchen.layout import Layout

Weights = Mapping[Event, float]

_ALWAYS: Weights = {Event.USEFUL_DISH_PICKUP: 3.0, Event.SOUP_PICKUP: 5.0}
_ONIONS_ONLY: Weights = {Event.OPTIMAL_PLACEMENT: 3.0}
_DISTANT_TOMATO: Weights = {
    Event.USEFUL_TOMATO_PICKUP: 10.0,
    Event.OPTIMAL_TOMATO_PLACEMENT: 5.0,
    Event.TOMATO_IN_EMPTY_POT: -15.0,
}


def shaping(layout: Layout) -> Weights:
    """The helping reward of the paper's second stage; the task reward is not in it."""
    if layouts.is_shipped(layout, "distant_tomato"):
        return {**_ALWAYS, **_DISTANT_TOMATO}
    tomatoes = any(order.contents[1] for order in layout.orders)
    return _ALWAYS if tomatoes else {**_ALWAYS, **_ONIONS_ONLY}


def as_vector(weights: Weights) -> np.ndarray:
    """Weights in the order of the events."""
    return np.array([weights.get(event, 0.0) for event in Event], np.float32)
