"""Trained agents that come with the package do what their files say they were measured at."""

import pytest

from cochef.agents import shipped, storage
from cochef.evaluation.crossplay import evaluate, players
from cochef.kitchen import layouts

KITCHENS = sorted({layout for method in shipped.AGENTS for layout in shipped.layouts_of(method)})


@pytest.mark.parametrize("layout", KITCHENS)
def test_an_agent_scores_what_its_file_says(layout):
    """With a strong partner, and with the one that tells the methods apart best."""
    names = [
        f"{method}:{layout}" for method in shipped.AGENTS if layout in shipped.layouts_of(method)
    ]
    told = {
        name: storage.read(shipped.find(*name.split(":")))[0].metadata["evaluation"]
        for name in names
    }
    apart = {
        partner: max(told[name][partner] for name in names) - score
        for partner, score in told[names[-1]].items()
    }
    partners = players(["script:onion_placement_and_delivery", max(apart, key=apart.__getitem__)])
    found = evaluate(layouts.get(layout), players(names), partners, episodes=20, seed=1)
    for agent, partner, rows in found.pairs():
        assert rows["score"].mean() == pytest.approx(told[agent][partner], abs=25)
