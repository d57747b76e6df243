"""The declared experiments are the paper's tables and figures, all of them, each once."""

import pytest

from cochef import reproduction
from cochef.reproduction import paper
from cochef.reproduction.declared import LAYOUTS

PAPER = [f"Table {number}" for number in range(1, 25)]
PAPER += [f"Figure {number}" for number in range(1, 10)]


def test_every_table_and_figure_of_the_paper_is_declared_once():
    declared = [name for one in reproduction.EXPERIMENTS.values() for name in one.paper]
    assert sorted(declared) == sorted(PAPER)


def test_experiments_come_in_the_order_of_the_paper_and_are_named_in_one_word():
    names = list(reproduction.EXPERIMENTS)
    assert names.index("human-models") < names.index("scripts") < names.index("mep-sampling")
    assert all(" " not in name and name == name.lower() for name in names)
    assert len(reproduction.chosen(["all"])) == len(names)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_papers_mean_over_both_seats_is_that_of_table_2(layout):
    by_seat = paper.scripts_by_seat(layout)
    for script, methods in paper.with_scripts(layout).items():
        for method, (mean, _) in methods.items():
            seats = [by_seat[script][method][seat][0] for seat in ("0", "1")]
            assert sum(seats) / 2 == pytest.approx(mean, abs=0.56)


def test_the_papers_uniform_sampling_is_its_mep():
    for layout in LAYOUTS[:3]:
        for seat in (0, 1):
            uniform = paper.with_human_model("mep sampling=uniform", layout, seat)
            assert uniform == paper.with_human_model("mep", layout, seat)
    assert paper.with_human_model(paper.EARLIER, "counter_circuit", 1) == (55.8, 3.6)
    assert paper.with_human_model("sp", "counter_circuit", 1) is None
