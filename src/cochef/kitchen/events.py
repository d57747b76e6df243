"""Events: what a chef's interact can bring about, the paper's subsets of them, and their counts."""

from enum import Enum, IntEnum

import numpy as np
from jaxtyping import Float, Shaped

from cochef.kitchen.layout import Layout


class PaperSubset(Enum):
    """Which engines of the HSP paper report an event, and where the paper compares policies by it.

    The paper uses two engines: an older one for layouts with onions only, and a newer one, with
    recipes, for layouts with tomatoes.
    """

    ALL_LAYOUTS = "both engines report it; compared in every layout"
    TOMATO_LAYOUTS = "both engines report it; compared in layouts with tomatoes"
    RECIPE_ENGINE = "only the newer engine reports it; compared in layouts with tomatoes"
    SHAPING_ONLY = "neither engine reports it; only shapes rewards, never compared"


class Event(IntEnum):
    """What a chef's interact can bring about; counted per chef and step.

    An event is its position on the axis of events and its subset in the paper.
    """

    subset: PaperSubset

    def __new__(cls, number: int, subset: PaperSubset) -> "Event":
        """An integer that knows its subset; a member without one is an error on import."""
        event = int.__new__(cls, number)
        event._value_ = number
        event.subset = subset
        return event

    PUT_ONION_ON_COUNTER = 0, PaperSubset.ALL_LAYOUTS
    PUT_TOMATO_ON_COUNTER = 1, PaperSubset.TOMATO_LAYOUTS
    PUT_DISH_ON_COUNTER = 2, PaperSubset.ALL_LAYOUTS
    PUT_SOUP_ON_COUNTER = 3, PaperSubset.ALL_LAYOUTS
    PICKUP_ONION_FROM_COUNTER = 4, PaperSubset.ALL_LAYOUTS
    PICKUP_TOMATO_FROM_COUNTER = 5, PaperSubset.TOMATO_LAYOUTS
    PICKUP_DISH_FROM_COUNTER = 6, PaperSubset.ALL_LAYOUTS
    PICKUP_SOUP_FROM_COUNTER = 7, PaperSubset.ALL_LAYOUTS
    PICKUP_ONION_FROM_DISPENSER = 8, PaperSubset.ALL_LAYOUTS
    PICKUP_TOMATO_FROM_DISPENSER = 9, PaperSubset.TOMATO_LAYOUTS
    PICKUP_DISH_FROM_DISPENSER = 10, PaperSubset.ALL_LAYOUTS
    USEFUL_DISH_PICKUP = 11, PaperSubset.ALL_LAYOUTS
    SOUP_PICKUP = 12, PaperSubset.ALL_LAYOUTS
    PLACEMENT_IN_POT = 13, PaperSubset.ALL_LAYOUTS
    VIABLE_PLACEMENT = 14, PaperSubset.RECIPE_ENGINE
    OPTIMAL_PLACEMENT = 15, PaperSubset.RECIPE_ENGINE
    CATASTROPHIC_PLACEMENT = 16, PaperSubset.RECIPE_ENGINE
    USELESS_PLACEMENT = 17, PaperSubset.RECIPE_ENGINE
    POTTING_ONION = 18, PaperSubset.RECIPE_ENGINE
    POTTING_TOMATO = 19, PaperSubset.RECIPE_ENGINE
    DELIVERY = 20, PaperSubset.ALL_LAYOUTS
    TOMATO_IN_EMPTY_POT = 21, PaperSubset.SHAPING_ONLY
    OPTIMAL_TOMATO_PLACEMENT = 22, PaperSubset.SHAPING_ONLY
    USEFUL_TOMATO_PICKUP = 23, PaperSubset.SHAPING_ONLY

    @property
    def label(self) -> str:
        """The event's name in files and on the command line."""
        return self.name.lower()


def reference_events(layout: Layout) -> tuple[Event, ...]:
    """The events that the paper's engine for a layout reports."""
    reported = {PaperSubset.ALL_LAYOUTS, PaperSubset.TOMATO_LAYOUTS}
    if layout.has_tomato_orders:
        reported.add(PaperSubset.RECIPE_ENGINE)
    return tuple(event for event in Event if event.subset in reported)


def counted_events(layout: Layout) -> tuple[Event, ...]:
    """The events by which policies are compared: the paper's 12 without tomatoes, 21 with them."""
    if layout.has_tomato_orders:
        return reference_events(layout)
    return tuple(event for event in Event if event.subset is PaperSubset.ALL_LAYOUTS)


def normalised_counts(
    counts: Shaped[np.ndarray, "policies events"],
) -> Float[np.ndarray, "policies events"]:
    """Event counts as shares of each event's largest count; 0 for events that nobody causes."""
    most = counts.max(axis=0)
    return np.divide(counts, most, out=np.zeros(counts.shape), where=most > 0)


def event_distances(
    counts: Shaped[np.ndarray, "policies events"],
) -> Float[np.ndarray, "policies policies"]:
    """How differently policies behave: sum over events of |EC_k(i) - EC_k(j)| / max_i EC_k(i).

    `counts` are EC, expected event counts of an episode (HSP paper, section 5.2). Events that
    nobody causes tell nobody apart.
    """
    shares = normalised_counts(counts)
    return np.abs(shares[:, None] - shares[None]).sum(axis=-1)
