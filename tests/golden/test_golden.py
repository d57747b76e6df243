"""The golden playthroughs hold: the same actions give the same text."""

import pytest

from cochef.kitchen import layouts
from cochef.kitchen.constants import Action
from tests.golden.record import FOLDER, RefusedError, check_against_reference
from tests.golden.transcript import read_actions, transcript
from tests.reference.engine import Engine, ReferenceOutcome

FILES = sorted(FOLDER.glob("*.txt"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_actions_of_a_playthrough_give_its_text_again(path):
    text = path.read_text("utf-8")
    assert transcript(*read_actions(text)) == text


def test_the_playthroughs_deliver_soups_in_both_kinds_of_kitchen():
    told = {path.stem: path.read_text("utf-8") for path in FILES}
    assert {layouts.get(name).cooking.value for name in told} == {"automatic", "manual"}
    assert all("delivery" in text and "earns" in text for text in told.values())


def test_an_episode_that_the_reference_plays_otherwise_is_refused(monkeypatch):
    step = Engine.step

    def generous(self, state, actions):
        after, outcome = step(self, state, actions)
        return after, ReferenceOutcome(outcome.events, (1, 0))

    monkeypatch.setattr(Engine, "step", generous)
    with pytest.raises(RefusedError, match="step 1: reward is"):
        check_against_reference(layouts.get("cramped_room"), [(Action.STAY, Action.STAY)])
