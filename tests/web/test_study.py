"""Study files: what is read from them, and what is said about mistakes."""

import hashlib
import json
import re
import subprocess
import sys
from dataclasses import replace
from importlib import resources
from pathlib import Path
from unittest.mock import patch

import pytest

from cochef import methods
from cochef.agents import names, shipped, storage
from cochef.errors import InputError
from cochef.kitchen import layouts
from cochef.web import stand_ins, study
from tests.web.serving import PATIENCE
from tests.web.study_file import SCRIPT, STAND_IN, with_stand_ins, write_study

PAPER = (resources.files("cochef.web") / "studies" / "paper.toml").read_text("utf-8")
STANDING_IN = with_stand_ins(PAPER)


def paper_with(agent):
    """The paper's study with another agent as FCP in coordination_ring."""
    before, ring, after = PAPER.partition("[layouts.coordination_ring]")
    return before + ring + re.sub('FCP = ".*"', f'FCP = "{agent}"', after, count=1)


def test_the_shipped_study_is_the_papers_and_all_its_agents_load():
    paper = study.shipped("paper")
    assert len(paper.layouts) * paper.numbers.participants_per_layout == 60
    assert paper.games_each == 24
    assert paper.numbers.agent_acts_once_in == 8
    assert study.check_agents(paper) == 20


def test_a_study_is_the_same_after_storing_its_configuration():
    paper = study.shipped("paper")
    again = study.from_configuration(json.loads(paper.configuration_text))
    assert again == paper
    assert again.configuration_hash == paper.configuration_hash


def test_new_words_keep_the_design_and_change_the_configuration():
    paper = study.shipped("paper")
    reworded = study.parse(PAPER.replace("about 45 minutes", "an hour"), "other")
    assert reworded.design_hash == paper.design_hash
    assert reworded.configuration_hash != paper.configuration_hash
    other = study.parse(paper_with("random"), "other")
    assert other.design_hash != paper.design_hash


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("least = 18", "least = 16"),
        ("most = 120", "most = 99"),
        ('"non-binary", "another"]', '"another"]'),
        ('kind = "number"\nleast = 18\nmost = 120', 'kind = "text"'),
    ],
)
def test_another_way_to_answer_a_question_is_another_design(old, new):
    assert old in PAPER
    assert (
        study.parse(PAPER.replace(old, new), "other").design_hash
        != study.shipped("paper").design_hash
    )


def test_a_question_may_be_worded_anew():
    reworded = study.parse(PAPER.replace("How old are you?", "What is your age?"), "other")
    assert reworded.design_hash == study.shipped("paper").design_hash


@pytest.mark.parametrize(
    "name", ["{}", "{}.safetensors", "{}@idle=3", "0.5*random+0.5*{}@noise=0.1"]
)
def test_an_agent_file_that_changes_is_another_design_however_it_is_named(tmp_path, name):
    file = tmp_path / "mine.safetensors"
    file.write_bytes(b"one agent")
    loaded = name.format(tmp_path / "mine")
    text = paper_with(loaded)
    before = study.parse(text, "mine")
    assert before.design_hash == study.parse(text, "mine").design_hash
    assert before.configuration["agent_files"][loaded] == [hashlib.sha256(b"one agent").hexdigest()]
    file.write_bytes(b"another agent")
    after = study.parse(text, "mine")
    assert after.design_hash != before.design_hash
    assert after.configuration_hash != before.configuration_hash


def test_the_configuration_has_a_checksum_of_every_file_that_is_loaded():
    paper = study.shipped("paper")
    loaded = {name for agents in paper.layouts.values() for name in agents.values()}
    assert paper.configuration["agent_files"].keys() == {
        name for name in loaded if names.files(name)
    }
    assert "hsp:distant_tomato" in paper.configuration["agent_files"]


def test_the_files_of_an_agent_are_those_that_the_loader_reads(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    proxy = shipped.path("human-proxy", "coordination_ring")
    ring = layouts.get("coordination_ring")
    odd = tmp_path / "0.5*odd+name@idle=3.safetensors"
    odd.write_bytes(proxy.read_bytes())
    clone = "human-clone:coordination_ring@idle=2"
    mixed = f"0.3*human-proxy:coordination_ring+0.5*script:delivery+0.2*{clone}"
    wanted = {
        "human-proxy:coordination_ring": [proxy],
        "human-clone:coordination_ring@noise=0.1,idle=3": [
            shipped.path("human-clone", "coordination_ring")
        ],
        mixed: [proxy, shipped.path("human-clone", "coordination_ring")],
        odd.name: [Path(odd.name)],
        odd.name.removesuffix(".safetensors"): [Path(odd.name)],
        "script:delivery": [],
        "stay": [],
    }
    for name, paths in wanted.items():
        with patch.object(storage, "read", wraps=storage.read) as reading:
            names.load(name, ring)
        assert [call.args[0] for call in reading.call_args_list] == paths == names.files(name)


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('name = "paper"', "", "no name; a study has a name and a title"),
        ('title = "', 'titel = "', "unknown key 'titel' in the study; allowed: name, title"),
        (
            "repeats = 3",
            "repeats = 0",
            "numbers.repeats is 0; it takes a whole number from 1 to 50",
        ),
        (
            "games_least = 12",
            "games_least = 25",
            "exclusions.games_least is 25; everybody plays 24 games",
        ),
        ("idle_share_most = 0.9", "idle_share_most = 2", "it takes a number from 0 to 1"),
        (
            "warmup_ticks_least = 200",
            "warmup_ticks_least = 700",
            "numbers.warmup_ticks_least is 700; a free game has only 600 ticks",
        ),
        ("repeats = 3", "repeats = 2.5", "numbers.repeats is 2.5; it takes a whole number"),
        (
            "ticks_per_second = 8",
            "ticks_per_second = nan",
            "numbers.ticks_per_second is nan; it takes a number",
        ),
        (
            "repeats = 3",
            "repeat = 3",
            "unknown key 'repeat' in numbers; allowed: participants_per_layout",
        ),
        ('"FCP", "TrajDiv"]', '"FCP", "FCP"]', "every label once"),
        (
            '"FCP", "TrajDiv"]',
            '"FCP", "TrajDiv", "SP"]',
            "layouts.asymmetric_advantages has no agent 'SP'",
        ),
        ("[layouts.many_orders]", "[layouts.nowhere]", "unknown layout 'nowhere'"),
        ('"cramped_room"', '"cramped"', "unknown layout 'cramped'"),
        (
            'kind = "number"',
            'kind = "date"',
            "the kind of question 'age' is 'date'; allowed: choice, number, text",
        ),
        (
            "least = 18",
            "least = 200",
            "question 'age' takes from 200 to 120; give whole numbers in order",
        ),
        ('id = "gender"', 'id = "age"', "two questions have the same id"),
        (
            'id = "gender"',
            'id = "=cmd"',
            "a question's id is '=cmd'; it takes letters, digits and _",
        ),
        ("[texts]", "[text]", "unknown key 'text' in the study"),
        ("thanks = ", "danke = ", "unknown key 'danke' in texts"),
        ("[numbers]", "numbers", "not a TOML file"),
    ],
)
def test_a_mistake_in_a_study_file_is_named(old, new, complaint):
    assert old in PAPER
    with pytest.raises(InputError) as error:
        study.parse(PAPER.replace(old, new), "mine.toml")
    assert str(error.value).startswith("mine.toml: ")
    assert complaint in str(error.value)


def test_two_layouts_of_one_name_are_refused(tmp_path):
    own = tmp_path / "coordination_ring.toml"
    own.write_text(layouts.to_toml(layouts.get("cramped_room")), "utf-8")
    complaint = "are both called 'coordination_ring'; rename one of the files"
    with pytest.raises(InputError, match=f"mine: coordination_ring and {own} {complaint}"):
        study.parse(PAPER.replace("[layouts.many_orders]", f"[layouts.'{own}']"), "mine")
    with pytest.raises(InputError, match=f"mine: coordination_ring and {own} {complaint}"):
        study.parse(PAPER.replace('"cramped_room"', f"'{own}'"), "mine")


def test_a_label_that_names_a_method_needs_an_agent_of_that_method():
    strict = STANDING_IN.replace(STAND_IN, "")
    with pytest.raises(
        InputError,
        match="in asymmetric_advantages, 'MEP' names the method mep, which did not make "
        f"'{SCRIPT}'; give an agent of that method",
    ):
        study.check_agents(study.parse(strict, "mine"))
    honest = strict.replace("MEP", "A").replace("TrajDiv", "B")
    assert study.check_agents(study.parse(honest, "mine")) == 20
    with pytest.raises(InputError, match="stand_in is 'yes'; it takes true or false"):
        study.parse(STANDING_IN.replace(STAND_IN, 'stand_in = "yes"'), "mine")


@pytest.fixture
def standing_in(tmp_path):
    """The path of a study with stand-ins that says so, and of the same that does not."""
    says = write_study(tmp_path / "says.toml")
    silent = tmp_path / "silent.toml"
    silent.write_text(Path(says).read_text("utf-8").replace(STAND_IN, ""), "utf-8")
    return says, str(silent)


@pytest.mark.parametrize("command", [("check",), ("check", "--json"), ("serve", "--port", 0)])
def test_commands_refuse_a_label_of_a_method_that_did_not_make_the_agent(
    cochef, standing_in, tmp_path, monkeypatch, command
):
    monkeypatch.chdir(tmp_path)
    code, text = cochef("study", *command, standing_in[1])
    assert code == 2
    assert "'HSP' names the method hsp, which did not make 'human-proxy:" in text
    assert not list(tmp_path.glob("study.db*"))


def test_checking_a_study_lists_its_stand_ins(cochef, standing_in):
    code, text = cochef("study", "check", standing_in[0])
    assert code == 0
    lines = [line for line in text.splitlines() if line.startswith("stand-in: ")]
    assert len(lines) == 8
    assert (
        "stand-in: in coordination_ring, 'FCP' names the method fcp, which did not make 'random'"
    ) in lines


def test_checking_a_study_as_json_lists_its_layouts_and_stand_ins(cochef, standing_in):
    code, text = cochef("study", "check", standing_in[0], "--json")
    found = json.loads(text)
    assert code == 0
    assert [one["layout"] for one in found["layouts"]] == [
        "coordination_ring",
        "asymmetric_advantages",
    ]
    assert found["layouts"][0]["TrajDiv"] == "stay"
    assert len(found["stand_ins"]) == 8
    assert {
        "layout": "coordination_ring",
        "label": "FCP",
        "loaded": "random",
        "method": "fcp",
    } in found["stand_ins"]


def test_serving_a_study_lists_its_stand_ins(standing_in, tmp_path):
    """The database cannot be used, so that nothing is served."""
    command = [sys.executable, "-c", "from cochef.cli.main import main; main()", "study", "serve"]
    served = subprocess.run(
        [*command, standing_in[0], "--port", "0", "--database", f"sqlite:///{tmp_path}"],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (served.returncode, served.stdout.count("stand-in: in ")) == (2, 8)
    assert "cannot be used" in served.stderr


def test_labels_of_the_shipped_study_are_backed_by_agents_of_their_methods_where_these_ship():
    paper = study.shipped("paper")
    for layout, agents in paper.layouts.items():
        for label, loaded in agents.items():
            (method,) = stand_ins.named_methods(label)
            if layout in shipped.layouts_of(method):
                assert loaded == f"{method}:{layout}"
    assert paper.stand_in == bool(stand_ins.find(paper.layouts))


def test_an_agent_that_ships_says_by_which_method_it_was_made():
    for method in methods.names():
        for layout in shipped.layouts_of(method):
            assert not stand_ins.find({layout: {method: f"{method}:{layout}"}})


@pytest.mark.parametrize(
    ("label", "loaded", "stands_in"),
    [
        ("HSP", "hsp:coordination_ring", False),
        ("our hsp-2", "hsp:coordination_ring", False),
        ("FCP", "hsp:coordination_ring", True),
        ("HSP", "hsp:coordination_ring@noise=0.5", True),
        ("HSP", "0.5*hsp:coordination_ring+0.5*random", True),
        ("HSP", "script:delivery", True),
        ("HSP", "nowhere.safetensors", True),
        ("a script", "script:delivery", False),
        ("spicy", "random", False),
    ],
)
def test_an_agent_stands_in_for_a_method_unless_its_card_says_that_it_was_made_by_it(
    label, loaded, stands_in
):
    found = stand_ins.find({"coordination_ring": {label: loaded}})
    assert bool(found) == stands_in


def test_a_member_of_a_population_is_an_agent_of_a_method_without_a_second_stage(tmp_path):
    card, tensors = storage.read(shipped.path("hsp", "coordination_ring"))
    path = tmp_path / "00.safetensors"
    name = methods.get("sp").population.name
    storage.save(path, replace(card, metadata={"population": name}), tensors)
    assert not stand_ins.find({"coordination_ring": {"SP": str(path)}})
    assert stand_ins.find({"coordination_ring": {"HSP": str(path)}})


def test_stand_ins_are_part_of_the_stored_configuration():
    stored = json.loads(study.parse(STANDING_IN, "mine").configuration_text)["stand_ins"]
    assert len(stored) == 10
    assert {one["label"] for one in stored} == {"MEP", "TrajDiv"}


def test_who_is_to_be_contacted_must_be_filled_in():
    with pytest.raises(InputError, match="contact is empty; say who answers"):
        study.check_contact(study.shipped("paper"))
    study.check_contact(study.parse(PAPER.replace('contact = ""', 'contact = "Ada"'), "mine"))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("games_least = 12", "games_least = 11"),
        ("game_ticks = 600", "game_ticks = 599"),
        ("ticks_per_second = 8", "ticks_per_second = 9"),
        ("agent_acts_once_in = 8", "agent_acts_once_in = 7"),
    ],
)
def test_what_the_analysis_leaves_out_and_how_games_go_are_part_of_the_design(old, new):
    assert old in PAPER
    changed = study.parse(PAPER.replace(old, new), "other")
    assert changed.design_hash != study.shipped("paper").design_hash


def test_an_agent_that_cannot_be_loaded_is_named_with_its_layout():
    broken = study.parse(paper_with("script:tomato_placement"), "mine")
    with pytest.raises(
        InputError,
        match="agent 'FCP' in coordination_ring: script 'tomato_placement' makes no sense",
    ):
        study.check_agents(broken)


def test_a_file_that_is_no_text_or_not_there_is_an_error(tmp_path):
    (tmp_path / "noise.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="byte 0 is not UTF-8"):
        study.get(str(tmp_path / "noise.toml"))
    with pytest.raises(InputError, match="cannot be read"):
        study.get(str(tmp_path / "missing.toml"))
    with pytest.raises(InputError, match="no study 'papers' ships; there are: paper"):
        study.get("papers")


def test_numbers_can_be_changed_for_a_trial_within_what_is_allowed():
    changed = study.with_numbers(study.shipped("paper"), ["game_ticks=40", "ticks_per_second=2.5"])
    assert (
        changed.numbers.game_ticks,
        changed.numbers.ticks_per_second,
        changed.numbers.repeats,
    ) == (40, 2.5, 3)
    for change in ("game_ticks=2.5", "game_ticks=-1", "speed=1", "game_ticks"):
        with pytest.raises(
            InputError, match=r"it takes a whole number|unknown key 'speed'|give NAME=NUMBER"
        ):
            study.with_numbers(changed, [change])
