"""Reports and the paper's figures next to ours."""

import numpy as np

from cochef.evaluation import published
from cochef.evaluation.records import Records
from cochef.evaluation.report import Command, Heading, Paragraph, Picture, Report
from cochef.evaluation.tables import Table


def measured(partner, scores, agent="hsp", seats=(0, 1)):
    rows = [(agent, partner, seat, score) for score in scores for seat in seats]
    return {
        "agent": np.array([row[0] for row in rows]),
        "partner": np.array([row[1] for row in rows]),
        "agent_seed": np.zeros(len(rows), int),
        "partner_seed": np.zeros(len(rows), int),
        "seat": np.array([row[2] for row in rows]),
        "episode": np.arange(len(rows)),
        "score": np.array([row[3] for row in rows], float),
    }


def test_a_page_and_a_document_have_the_same_content_and_nothing_in_it_is_code(tmp_path):
    table = Table("scores", ("partner", "hsp"), (("<script>", "1.0"), ("b", "2.0")), frozenset({(1, 1)}))
    blocks = [Heading("one & two"), Paragraph("a < b"), table, Picture("film.gif", "a film"), Command("cochef watch")]
    Report("results", blocks).write(tmp_path)
    page, document = (tmp_path / "report.html").read_text(), (tmp_path / "report.md").read_text()
    assert "<td>&lt;script&gt;</td>" in page and "<b>2.0</b>" in page and "a &lt; b" in page
    assert '<img src="film.gif" alt="a film">' in page
    assert "| b | **2.0** |" in document and "![a film](film.gif)" in document and "# results" in document


def test_our_scores_stand_next_to_the_papers_by_seat_where_it_has_seats():
    parts = [measured("script:onion_everywhere", [100.0, 120.0]), measured("human-proxy:counter_circuit", [80.0])]
    records = Records({name: np.concatenate([part[name] for part in parts]) for name in parts[0]})
    table = published.comparison(records, "counter_circuit", "title")
    assert table is not None
    rows = {row[0]: row[1:] for row in table.rows}
    assert rows["script:onion_everywhere"][0].startswith("110.0 ±")
    assert rows["script:onion_everywhere"][1] == "107.5 ± 3.5"
    assert rows["human-proxy:counter_circuit seat 0"][1] == "107.4 ± 3.5"
    assert rows["human-proxy:counter_circuit seat 1"][1] == "106.6 ± 3.0"
    assert "script:dish_everywhere" not in rows


def test_kitchens_that_the_paper_does_not_have_are_not_compared():
    records = Records(measured("script:delivery", [1.0]))
    assert published.comparison(records, "cramped_room", "title") is None


def test_every_published_partner_is_one_of_the_kitchens_own():
    from cochef.evaluation.crossplay import unseen_partners  # noqa: PLC0415
    from cochef.kitchen import layouts  # noqa: PLC0415

    for name in layouts.names():
        partners = {row.partition(" seat ")[0] for row in published.figures(name)}
        assert partners <= set(unseen_partners(layouts.get(name)))
