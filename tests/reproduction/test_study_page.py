"""The page of the study says everywhere whether its participants were people or programs."""

import pytest

from cochef.reproduction import EXPERIMENTS, pages
from cochef.reproduction.declared import Stored
from cochef.reproduction.people import PEOPLE, SIMULATED
from cochef.reproduction.plan import ALL_LAYOUTS, Scope
from cochef.reproduction.study_page import show_study
from tests.reproduction import made_up

LAYOUT = "counter_circuit"
COUNTED = (
    *("agent_onions_passed_over_counter", "human_onions_passed_over_counter"),
    *("human_potting_onion", "human_potting_tomato"),
    *("agent_wrong_placements", "agent_correct_placements", "agent_soups_from_middle_pot"),
)


def study(root, *, simulated):
    """A study with two games of one participant with HSP, who sat in seat 1."""
    games = {
        "participant": [0, 0],
        "layout": [LAYOUT] * 2,
        "agent": ["HSP"] * 2,
        "seat": [1, 1],
        "score": [100.0, 140.0],
        **{name: [1, 3] for name in COUNTED},
    }
    preference = {"layout": "all", "agent": "HSP", "other": "FCP", "value": 0.5}
    preference |= {"low": 0.1, "high": 0.9, "people": 1}
    content = {
        "simulated": simulated,
        "agents": ["HSP", "FCP"],
        "preferences": [preference],
        "games": games,
    }
    who = SIMULATED if simulated else PEOPLE
    stage = made_up.found("study", 0, content)
    job = made_up.keep(root, who, stage, layout=ALL_LAYOUTS)
    return Stored(made_up.results(root, (who, job), layout=ALL_LAYOUTS), (LAYOUT,))


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    """The directory with the page of a simulated study, and its index."""
    root = tmp_path_factory.mktemp("study")
    found = study(root, simulated=True)
    pages.write(found, Scope((EXPERIMENTS["study"],), "smoke"), root / "pages")
    return root / "pages"


def test_all_titles_and_captions_say_that_the_study_is_simulated(simulated):
    text = (simulated / "study" / "report.md").read_text()
    assert text.startswith("# Simulated: The study with people (")
    titles = [line for line in text.splitlines() if line.startswith("**")]
    titles.remove("**How to read this page**")
    assert titles and all(title.startswith("**Simulated: ") for title in titles)
    pictures = [line for line in text.splitlines() if line.startswith("![")]
    assert pictures and all(picture.startswith("![Simulated: ") for picture in pictures)


def test_so_do_the_index_and_the_files_beside_the_page(simulated):
    assert (
        "[Simulated: The study with people](study/report.md)"
        in (simulated / "index.md").read_text()
    )
    for path in (simulated / "study").glob("*.csv"):
        rows = made_up.columns_of(path.read_bytes())
        assert {row["simulated"] for row in rows} == {"yes"}, path.name
    for path in (simulated / "study").glob("*.tex"):
        assert r"\caption{Simulated: " in path.read_text()
    for path in (simulated / "study").glob("*.svg"):
        assert "Simulated: nobody took part" in path.read_text()


def test_with_people_nothing_says_simulated(tmp_path):
    page = show_study(study(tmp_path, simulated=False))
    assert page.titled("The study") == "The study"
    assert not any(b"imulated" in content for content in page.files.values())
    assert all(figure.get_suptitle() == "" for figure in page.figures.values())


def test_scores_have_their_deviation_over_games_and_their_figure_says_what_is_drawn(tmp_path):
    page = show_study(study(tmp_path, simulated=False))
    rows = made_up.columns_of(page.files["scores.csv"])
    cells = {(row["layout"], row["agent"], row["agent's seat"]): row for row in rows}
    row = cells[LAYOUT, "HSP", "0"]
    assert (row["score (games)"], row["paper"]) == ("120.0 ± 28.3 (2)", "158.0 ± 28.6")
    assert cells[LAYOUT, "HSP", "1"]["score (games)"] == "- (0)"
    assert page.figures["bars-score"].axes[0].get_ylabel() == "mean score of a game"
    assert page.figures["bars-onions_passed"].axes[0].get_ylabel() == "onions passed in a game"
