"""Behaviour cloning on the smallest half of the games, for a few epochs."""

import equinox as eqx
import numpy as np
import pytest

from cochef.agents import cloned, storage
from cochef.agents.names import load
from cochef.errors import InputError
from cochef.human.games import Split, games
from cochef.kitchen import layouts
from cochef.kitchen.constants import Action
from cochef.learning.cloning import CloningConfig, clone, examples, save

KITCHEN = layouts.get("forced_coordination")
CONFIG = CloningConfig(epochs=4, seeds=2)


@pytest.fixture(scope="module")
def seen():
    return examples(KITCHEN, Split.TEST, CONFIG, seed=0)


@pytest.fixture(scope="module")
def cloned_people():
    return clone(KITCHEN, Split.TEST, CONFIG, seed=0)


def test_examples_are_everything_that_both_people_of_every_game_did(seen):
    done = np.concatenate([game.actions.ravel() for game in games("forced_coordination", Split.TEST)])
    total = int(seen.total)
    assert total == len(done)
    assert np.array_equal(np.bincount(seen.actions[:total]), np.bincount(done))
    assert (seen.actions[total:] == -1).all()


def test_some_stretches_are_kept_for_validation_and_which_ones_follows_from_the_seed(seen):
    assert int(seen.training) / int(seen.total) == pytest.approx(1 - CONFIG.validation, abs=0.05)
    again, other = (examples(KITCHEN, Split.TEST, CONFIG, seed) for seed in (0, 1))
    assert eqx.tree_equal(again, seen)
    assert not np.array_equal(other.actions, seen.actions)


def test_people_are_predicted_better_than_by_what_they_do_most_often(cloned_people):
    _, report = cloned_people
    assert report.acting_accuracy > report.acting_majority + 0.1
    assert report.loss < report.marginal_loss - 0.1
    assert report.accuracy > 2 * report.random
    assert report.majority == pytest.approx(0.6, abs=0.05)  # people mostly stay


def test_the_report_says_which_seed_and_epoch_were_kept(cloned_people):
    _, report = cloned_people
    assert (report.layout, report.split, report.random) == ("forced_coordination", "test", 1 / len(Action))
    assert report.examples == 14_448
    assert 0 <= report.seed < CONFIG.seeds
    assert 0 <= report.epoch < CONFIG.epochs
    assert len(report.accuracy_of_seeds) == CONFIG.seeds
    assert report.accuracy_of_seeds[report.seed] == report.accuracy


def test_cloning_again_gives_the_same_clone(cloned_people):
    assert eqx.tree_equal(clone(KITCHEN, Split.TEST, CONFIG, seed=0)[0], cloned_people[0])


def test_a_saved_clone_is_an_agent_of_its_kitchen_that_says_how_it_was_made(cloned_people, tmp_path):
    network, report = cloned_people
    path = tmp_path / "clone.safetensors"
    save(path, KITCHEN, network, CONFIG, report)
    assert eqx.tree_equal(load(str(path), KITCHEN), cloned.Clone(network, KITCHEN))
    about = storage.read(path)[0].about
    assert about["report"]["acting_accuracy"] == report.acting_accuracy
    assert about["config"]["epochs"] == CONFIG.epochs


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"epochs": 0}, "epochs is 0; it takes a whole number from 1"),
        ({"seeds": -1}, "seeds is -1; it takes a whole number from 1"),
        ({"validation": 1.0}, "validation is 1.0; it takes a number between 0 and 1"),
        ({"learning_rate": 0.0}, "learning_rate is 0.0; it takes a number between 0 and 1"),
        ({"hidden": ()}, r"hidden is \(\); it takes 1 to 8 layer sizes from 1 to 4096"),
    ],
)
def test_settings_that_nothing_can_be_learned_with_are_an_error(wrong, complaint):
    with pytest.raises(InputError, match=complaint):
        CloningConfig(**wrong)
