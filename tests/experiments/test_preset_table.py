"""Presets side by side: what differs, and why."""

import json

import pytest

from cochef.errors import InputError
from cochef.experiments.preset_table import REASONS, differences, reason


def test_every_difference_between_laptop_and_paper_has_its_reason():
    found = differences("laptop", "paper")
    assert {"first_stage.total_steps", "begin"} <= {difference.name for difference in found}
    assert [difference.name for difference in found if not difference.reason] == []


def test_every_reason_is_one_of_a_difference():
    used = {reason(difference.name) for difference in differences("laptop", "paper")}
    assert [name for name, text in REASONS.items() if text not in used] == []


def test_a_preset_does_not_differ_from_itself():
    assert differences("paper", "paper") == []


def test_an_unknown_preset_is_refused():
    with pytest.raises(InputError, match="unknown preset 'large'; known: smoke, quick"):
        differences("large", "paper")


def test_the_command_prints_them_as_json(cochef):
    code, output = cochef("presets", "--json")
    assert code == 0
    by_name = {row["name"]: row for row in json.loads(output)}
    assert by_name["begin"]["values"] == ["transfer", "scratch"]
