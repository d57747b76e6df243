"""Whatever is shown says of which configuration and commits it is, and what its marks mean."""

from cochef.reproduction import pages
from cochef.reproduction.declared import Stored
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
    assert by_name["hsp"] == "**200 (2) ‡ / 318**"
    assert by_name["fcp"] == "**200 (1) † / 283**"
    assert by_name["sp"] == "not run"
    assert "\n†: of another configuration" in text
    assert "\n‡: of several commits" in text
