"""Trained agents that come with the package do what their files say they were measured at."""

import pytest

from cochef.agents import shipped, storage
from cochef.evaluation.crossplay import evaluate, players
from cochef.kitchen import layouts

KITCHENS = sorted({layout for method in shipped.AGENTS for layout in shipped.layouts_of(method)})


@pytest.mark.parametrize("layout", KITCHENS)
def test_an_agent_scores_what_its_file_says(layout):
    partner = "script:onion_placement_and_delivery"
    methods = [method for method in shipped.AGENTS if layout in shipped.layouts_of(method)]
    agents, partners = players(f"{method}:{layout}" for method in methods), players([partner])
    found = evaluate(layouts.get(layout), agents, partners, episodes=20, seed=1)
    for agent, _, rows in found.pairs():
        told = storage.read(shipped.find(*agent.split(":")))[0].about["measured"]
        assert rows["score"].mean() == pytest.approx(told[partner], abs=25)
