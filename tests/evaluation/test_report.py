"""Reports and the paper's figures next to ours."""

from html import escape

import numpy as np
import pytest
from markdown_it import MarkdownIt

from cochef.evaluation import published
from cochef.evaluation.records import Records
from cochef.evaluation.report import Heading, Paragraph, Picture, Report, ShellCommand
from cochef.evaluation.tables import ResultTable


def columns(partner, scores, agent="hsp", seats=(0, 1)):
    rows = [(agent, partner, seat, score) for score in scores for seat in seats]
    return {
        "agent": np.array([row[0] for row in rows]),
        "partner": np.array([row[1] for row in rows]),
        "population_seed": np.zeros(len(rows), int),
        "agent_seed": np.zeros(len(rows), int),
        "partner_seed": np.zeros(len(rows), int),
        "seat": np.array([row[2] for row in rows]),
        "episode": np.arange(len(rows)),
        "score": np.array([row[3] for row in rows], float),
    }


def as_shown(directory, text):
    """A page with the text everywhere, and its document after a reader of Markdown."""
    table = ResultTable(text, (text, "b"), ((text, text), ("c", "d")), frozenset({(0, 1)}))
    Report(text, [Heading(text), Paragraph(text), table, Picture("a (1).png", text)]).write(
        directory
    )
    page, document = (directory / "report.html").read_text(), (directory / "report.md").read_text()
    return page, MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(document)


def test_a_page_and_a_document_have_the_same_content_and_nothing_in_it_is_code(tmp_path):
    table = ResultTable(
        "scores", ("partner", "hsp"), (("<script>", "1.0"), ("b", "2.0")), frozenset({(1, 1)})
    )
    blocks = [
        Heading("one & two"),
        Paragraph("a < b"),
        table,
        Picture("film.gif", "a film"),
        ShellCommand("cochef watch"),
    ]
    Report("results", blocks).write(tmp_path)
    page, document = (tmp_path / "report.html").read_text(), (tmp_path / "report.md").read_text()
    assert "<td>&lt;script&gt;</td>" in page and "<b>2.0</b>" in page and "a &lt; b" in page
    assert '<img src="film.gif" alt="a film">' in page
    assert 'type="checkbox" aria-label="Enlarge: a film"' in page
    assert (
        "| b | **2.0** |" in document
        and "![a film](film.gif)" in document
        and "# results" in document
    )


@pytest.mark.parametrize(
    "rude",
    [
        "<script>alert(1)</script> <b>a</b> <!-- b --> &lt;",
        '[a](http://b.c) [d][e] [f]: ![g](h.png "i") <http://j.k>',
        "*a* **b** _c_ __d__ ~~e~~ `f` $g$",
        "a | b \\| c \\\\| d \\",
        "- a",
        "+ a",
        "12. a",
        "1) a",
        "> a",
        "# a #",
        "---",
        "```",
    ],
)
def test_text_of_people_is_shown_as_it_was_written_wherever_it_stands(tmp_path, rude):
    for shown, harmless in zip(as_shown(tmp_path, rude), as_shown(tmp_path, "word"), strict=True):
        assert shown.replace(escape(rude), "word") == harmless


@pytest.mark.parametrize(
    ("written", "inert"),
    [
        ("one\n\n# two\n| - |", r"one \# two | - |"),
        ("see http://b.c or www.b.c, a@b.c", r"see http\://b.c or www\.b.c, a\@b.c"),
        ("hsp: 1.5 - 2 (+0.1), 100%!", "hsp: 1.5 - 2 (+0.1), 100%!"),
        ("-0.5", "-0.5"),
    ],
)
def test_text_is_one_line_without_addresses_to_follow_and_otherwise_stays_readable(written, inert):
    assert Paragraph(written).markdown() == f"{inert}\n"
    assert Heading(written).markdown() == f"## {inert}\n"


def test_a_picture_with_its_content_is_in_the_page_and_named_in_the_document():
    picture = Picture("curve.png", "a curve", b"content")
    assert '<img src="data:image/png;base64,Y29udGVudA==" alt="a curve">' in picture.html()
    assert (
        picture.markdown()
        == Picture("curve.png", "a curve").markdown()
        == "![a curve](curve.png)\n\na curve\n"
    )


def test_columns_of_numbers_are_on_the_right(tmp_path):
    table = ResultTable(
        "scores", ("partner", "hsp", "says"), (("a", "-1.0 ± 2", "5 stars"), ("b", "+2", "none"))
    )
    Report("results", [table]).write(tmp_path)
    page = (tmp_path / "report.html").read_text()
    assert '<th>partner</th><th class="number">hsp</th><th>says</th>' in page
    assert '<td>a</td><td class="number">-1.0&nbsp;±&nbsp;2</td><td>5 stars</td>' in page


def test_our_scores_stand_next_to_the_papers_by_seat_where_it_has_seats():
    parts = [
        columns("script:onion_everywhere", [100.0, 120.0]),
        columns("human-proxy:counter_circuit", [80.0]),
        columns("human-2019:counter_circuit", [90.0]),
    ]
    records = Records({name: np.concatenate([part[name] for part in parts]) for name in parts[0]})
    table = published.comparison(records, "counter_circuit", "title")
    assert table is not None
    rows = {row[0]: row[1:] for row in table.rows}
    assert rows["script:onion_everywhere"][0] == "110.0"  # one training seed has no error
    assert table.note.startswith("A single agent each")
    assert rows["script:onion_everywhere"][1] == "107.5 ± 3.5"
    assert rows["human-proxy:counter_circuit seat 0"][1] == "107.4 ± 3.5"
    assert rows["human-proxy:counter_circuit seat 1"][1] == "106.6 ± 3.0"
    # The paper's one human model stands next to both kinds of ours.
    assert rows["human-2019:counter_circuit seat 0"][0] == "90.0"
    assert rows["human-2019:counter_circuit seat 0"][1] == "107.4 ± 3.5"
    assert "script:dish_everywhere" not in rows


def test_layouts_that_the_paper_does_not_have_are_not_compared():
    records = Records(columns("script:delivery", [1.0]))
    assert published.comparison(records, "cramped_room", "title") is None


def test_every_published_partner_is_one_of_the_layouts_own():
    from cochef.evaluation.crossplay import unseen_partners  # noqa: PLC0415
    from cochef.kitchen import layouts  # noqa: PLC0415

    for name in layouts.names():
        partners = {row.partition(" seat ")[0] for row in published.scores(name)}
        assert partners <= set(unseen_partners(layouts.get(name)))
