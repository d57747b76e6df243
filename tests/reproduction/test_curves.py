"""Figure 4: learning curves by the number of kitchens."""

import numpy as np
import pytest

from cochef.reproduction import ablations, figures
from cochef.reproduction.declared import Stored
from cochef.reproduction.stages import returns_at_end
from tests.reproduction import made_up

CURVE = {
    "steps": list(range(40)),
    "task_return": [[0.0, 0.0]] * 37 + [[9.0, 0.0], [10.0, 20.0], [20.0, 40.0]],
}


def test_returns_at_the_end_are_over_the_last_twentieth_of_a_curve():
    assert returns_at_end(CURVE).tolist() == [15.0, 30.0]
    assert returns_at_end({"task_return": [[1.0], [2.0]]}).tolist() == [2.0]


def test_the_table_and_the_claim_are_about_that_mean(tmp_path):
    conditions = ablations.kitchen_conditions("smoke")
    least, most = conditions[0].name, conditions[-1].name
    jobs = []
    for seed, lead in enumerate((4.0, 5.0, 6.0)):
        better = (np.array(CURVE["task_return"]) + lead).tolist()
        for name, returns in ((least, CURVE["task_return"]), (most, better)):
            curve = {"steps": CURVE["steps"], "task_return": returns}
            jobs.append((name, made_up.keep(tmp_path, name, made_up.found("curve", seed, curve))))
    page = ablations.show_curves(Stored(made_up.results(tmp_path, *jobs), (made_up.LAYOUT,)))
    (claim,) = page.claims
    assert claim.statistic.startswith("+5.00, ")
    table = page.files["final-returns.csv"].decode()
    assert "22.5 ± 0.0 (3)" in table and "27.5 ± 1.0 (3)" in table


@pytest.mark.parametrize("known", [("8",), ()])
def test_the_legend_names_all_numbers_of_kitchens_whichever_layout_has_them(known):
    names = ("2", "8")
    one = {name: [CURVE] for name in known}
    figure = figures.learning_curves({"many_orders": one, "distant_tomato": {"2": [CURVE]}}, names)
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == list(names)
    colours = [line.get_color() for line in legend.get_lines()]
    assert colours == [figures.colour(number) for number in range(len(names))]
