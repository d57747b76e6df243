"""Whatever is shown says of which configuration and commits it is, and what its marks mean."""

from dataclasses import replace

from cochef.reproduction import EXPERIMENTS, pages
from cochef.reproduction.declared import LAYOUTS, Stored
from cochef.reproduction.origin import MEANINGS
from cochef.reproduction.plan import Scope
from cochef.reproduction.stored import ResultKey
from tests.reproduction import made_up

TOMATOES = {"script:tomato_placement": 200.0, "script:tomato_placement_and_delivery": 240.0}


def stored(root):
    """HSP of two current populations and two commits, FCP of a configuration before."""
    first = made_up.keep(root, "hsp", made_up.evaluation(0, TOMATOES), commit="a")
    made_up.keep(root, "hsp", made_up.evaluation(1, TOMATOES), commit="b")
    made_up.keep(root, "fcp", made_up.evaluation(0, TOMATOES, version=1), commit="a")
    return Stored(made_up.results(root, ("hsp", first)), (made_up.LAYOUT,))


def test_a_cell_of_the_readme_has_its_number_of_populations_and_its_marks(tmp_path):
    readme = tmp_path / "README.md"
    readme.write_text(f"{pages.BEGIN}\n{pages.END}\n")
    pages.write_readme(stored(tmp_path), readme)
    text = readme.read_text()
    header, _, row, _ = made_up.rows_of(text)
    by_name = dict(zip(header, row, strict=True))
    assert by_name["hsp"] == "200 (2) ‡ / 318"
    assert by_name["fcp"] == "200 (1) † / 283"
    assert by_name["sp"] == "not run"
    assert "\n†: of another configuration" in text
    assert "\n‡: of several commits" in text


def page(root, experiment, found):
    """The page of an experiment, as Markdown; its other files are beside it."""
    pages.write(found, Scope((EXPERIMENTS[experiment],), "smoke", found.layouts), root / "pages")
    return (root / "pages" / experiment / "report.md").read_text()


def key_of(text):
    """What the table at the top of a page says of marks."""
    return {row[0]: row[1] for row in made_up.rows_of(text) if row[0] in MEANINGS}


def test_a_page_says_at_its_top_what_the_marks_mean_that_it_has(tmp_path):
    text = page(tmp_path, "scripts", stored(tmp_path))
    assert key_of(text) == MEANINGS
    assert text.index("How to read this page") < text.index("many")
    index = (tmp_path / "pages" / "index.md").read_text()
    assert all(f"\n{mark}: {meaning}." in index for mark, meaning in MEANINGS.items())


def test_a_page_without_marks_explains_none(tmp_path):
    job = made_up.keep(tmp_path, "hsp", made_up.evaluation(0, TOMATOES), commit="a")
    text = page(tmp_path, "scripts", Stored(made_up.results(tmp_path, ("hsp", job)), LAYOUTS))
    assert key_of(text) == {}
    assert "number of populations" in text


def test_films_are_marked_and_their_page_explains_it(tmp_path):
    files = {"itself.png": "", "itself.gif": "", "partner.png": "", "partner.gif": ""}
    stage = made_up.Made("film", 0, files, version=1)
    made_up.keep(tmp_path, "hsp", stage, layout="distant_tomato")
    found = Stored(made_up.results(tmp_path), ("distant_tomato",))
    text = page(tmp_path, "film-strip", found)
    assert "hsp (chef 1) with a copy of itself (chef 2): film †" in text
    assert list(key_of(text)) == ["†"]


def test_the_figure_of_event_differences_is_marked(tmp_path):
    content = {"biased": [True, True, False], "differences": [0.5, 0.6, 0.9]}
    made_up.keep(tmp_path, "hsp", made_up.found("difference", 0, content, version=1))
    found = Stored(made_up.results(tmp_path), (made_up.LAYOUT,))
    text = page(tmp_path, "event-difference", found)
    assert "A point is a policy of the first population †" in text
    assert list(key_of(text)) == ["†"]


def test_a_proximity_is_marked_if_its_bound_is_not_current(tmp_path):
    partner = "script:tomato_placement"
    bound = {"partner": partner, "scores": {"0": [100.0, 300.0], "1": [200.0, 200.0]}}
    made_up.keep(tmp_path, partner, made_up.found("bound", 0, bound, version=1))
    own = made_up.keep(tmp_path, "hsp", made_up.evaluation(0, {partner: 100.0}))
    results = made_up.results(tmp_path, ("hsp", own))
    wanted = {ResultKey("bound", partner, made_up.LAYOUT): frozenset()}
    results = replace(results, current={**results.current, **wanted})
    text = page(tmp_path, "best-response-proximity", Stored(results, (made_up.LAYOUT,)))
    row = next(row for row in made_up.rows_of(text) if row[0] == r"script:tomato\_placement")
    assert row[1:3] == ["200.0 (4) †", "0.50 (1) †"]


def test_the_index_counts_current_and_stored_results_of_those_wanted(tmp_path):
    found = stored(tmp_path)
    wanted = frozenset(
        ResultKey("evaluation", name, made_up.LAYOUT) for name in ("hsp", "fcp", "sp")
    )
    page(tmp_path, "scripts", replace(found, wanted={"scripts": wanted}))
    index = (tmp_path / "pages" / "index.md").read_text()
    row = next(row for row in made_up.rows_of(index) if "Table 2" in row)
    assert row[2] == "1 / 2 of 3"


def test_latex_has_valid_marks_and_their_key_below_the_table(tmp_path):
    page(tmp_path, "scripts", stored(tmp_path))
    text = (tmp_path / "pages" / "scripts" / "scripts.tex").read_text()
    assert text.isascii()
    table, below = text.split(r"\end{tabular}")
    assert r"$\ddagger$" in table and r"(1) $\dagger$" in table
    assert r"\par $\dagger$: of another configuration" in below
    assert r"\par $\ddagger$: of several commits of the code." in below
    assert below.endswith("\\end{table}\n")
