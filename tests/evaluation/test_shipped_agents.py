"""Trained agents that come with the package score what their files say."""

import pytest

from cochef.agents import shipped, storage
from cochef.evaluation.crossplay import evaluate, players
from cochef.kitchen import layouts

METHODS = [kind for kind in shipped.kinds() if kind not in shipped.CLONES]
LAYOUTS = sorted({layout for method in METHODS for layout in shipped.layouts_of(method)})


def most_informative_partner(evaluations):
    """The partner with whom the agents' scores differ most."""
    spreads = {}
    for partner in evaluations[0]:
        scores = [evaluation[partner] for evaluation in evaluations]
        spreads[partner] = max(scores) - min(scores)
    return max(spreads, key=spreads.__getitem__)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_agent_scores_what_its_file_says(layout):
    """With a strong partner, and with the most informative one."""
    files = {
        f"{method}:{layout}": shipped.find(method, layout)
        for method in METHODS
        if layout in shipped.layouts_of(method)
    }
    expected = {name: storage.read(path)[0].metadata["evaluation"] for name, path in files.items()}
    informative = most_informative_partner(list(expected.values()))
    partners = players(["script:onion_placement_and_delivery", informative])
    found = evaluate(layouts.get(layout), players(files), partners, episodes=20, seed=1)
    for agent, partner, rows in found.pairs():
        scores = rows["score"]
        # With some partners the scores of episodes vary by more than a hundred.
        chance = 4 * float(scores.std()) / len(scores) ** 0.5
        assert scores.mean() == pytest.approx(expected[agent][partner], abs=max(25, chance))
