"""Behaviour cloning on the smallest half of the games, for a few epochs."""

import equinox as eqx
import jax
import numpy as np
import pytest

from cochef.agents import cloned, storage
from cochef.agents.names import load
from cochef.errors import InputError
from cochef.human.games import Split, games
from cochef.kitchen import layouts
from cochef.kitchen.constants import Action
from cochef.learning.cloning import CloningConfig, clone, examples, save
from cochef.learning.cloning_report import (
    BootstrapEstimate,
    CloningReport,
    Predictions,
    summarise,
)

LAYOUT = layouts.get("forced_coordination")
# An average over fewer steps than by default, as there are few.
CONFIG = CloningConfig(epochs=4, folds=3, averaging=0.98)


@pytest.fixture(scope="module")
def data():
    return examples(LAYOUT, Split.TEST, CONFIG, seed=0)


@pytest.fixture(scope="module")
def cloned_people():
    return clone(LAYOUT, Split.TEST, CONFIG, seed=0)


def test_examples_are_everything_that_both_people_of_every_game_did(data):
    done = np.concatenate(
        [game.actions.ravel() for game in games("forced_coordination", Split.TEST)]
    )
    assert np.array_equal(data.actions[: len(done)], done)
    assert (data.folds[: len(done)] >= 0).all()
    assert (data.actions[len(done) :] == -1).all()
    assert (data.folds[len(done) :] == -1).all()


def test_a_stretch_of_both_people_is_in_one_fold_and_which_one_follows_from_the_seed(data):
    stretches, folds = np.asarray(data.stretches), np.asarray(data.folds)
    assert np.array_equal(np.unique(folds), [-1, 0, 1, 2])
    assert len(np.unique(np.stack([stretches, folds]), axis=1).T) == len(np.unique(stretches))
    assert np.bincount(stretches[stretches >= 0]).max() == 2 * CONFIG.stretch
    shares = np.bincount(folds[folds >= 0]) / (folds >= 0).sum()
    assert shares == pytest.approx(1 / CONFIG.folds, abs=0.05)
    again, other = (examples(LAYOUT, Split.TEST, CONFIG, seed) for seed in (0, 1))
    assert eqx.tree_equal(again, data)
    assert not np.array_equal(other.folds, data.folds)


def test_people_are_predicted_better_than_by_what_they_do_most_often(cloned_people):
    _, report = cloned_people
    assert report.acting_accuracy > report.acting_majority + 0.1
    assert report.loss < report.marginal_loss - 0.1
    assert report.weighed_accuracy.low > 2 / len(Action)
    assert report.accuracy > 2 * report.random
    assert report.majority == pytest.approx(0.596, abs=0.001)  # people mostly stay


def test_the_report_says_what_was_kept_and_how_sure_it_is(cloned_people):
    _, report = cloned_people
    assert (report.layout, report.split, report.random) == (
        "forced_coordination",
        "test",
        1 / len(Action),
    )
    assert report.examples == 14_448
    assert 0 <= report.epoch < CONFIG.epochs
    assert len(report.accuracy_of_folds) == CONFIG.folds
    assert np.mean(report.accuracy_of_folds) == pytest.approx(report.accuracy, abs=0.01)
    assert report.gain.value == pytest.approx(report.accuracy - report.majority)
    for estimate in (report.gain, report.balanced_accuracy, report.weighed_accuracy):
        assert estimate.low < estimate.value < estimate.high < estimate.low + 0.1


def test_the_clone_that_is_kept_takes_features_as_they_are(cloned_people, data):
    network, report = cloned_people
    right = np.asarray(jax.vmap(network)(data.features).argmax(axis=1) == data.actions)[
        : report.examples
    ]
    assert right.mean() == pytest.approx(report.training_accuracy, abs=1e-3)


def test_who_always_stays_gains_nothing_and_who_is_always_right_gains_the_rest():
    done = np.tile(np.arange(len(Action)).repeat([1, 1, 1, 1, 5, 1]), 30)
    stretches = np.arange(len(done)) // 10

    def reported(predicted: np.ndarray) -> CloningReport:
        logits = np.log(np.eye(len(Action))[predicted] + 0.01)
        return summarise(
            "any", "test", 0, Predictions(logits, logits, done, stretches, stretches % 2)
        )

    stays, knows = reported(np.full_like(done, Action.STAY)), reported(done)
    assert stays.gain == BootstrapEstimate(0.0, 0.0, 0.0)
    assert stays.balanced_accuracy.value == pytest.approx(1 / len(Action))
    assert knows.gain.value == pytest.approx(0.5)
    assert (
        knows.balanced_accuracy.value == knows.weighed_accuracy.value == knows.acting_accuracy == 1
    )


def test_cloning_again_gives_the_same_clone(cloned_people):
    assert eqx.tree_equal(clone(LAYOUT, Split.TEST, CONFIG, seed=0)[0], cloned_people[0])


def test_a_saved_clone_is_an_agent_of_its_layout_that_says_how_it_was_made(cloned_people, tmp_path):
    network, report = cloned_people
    path = tmp_path / "clone.safetensors"
    save(path, LAYOUT, network, CONFIG, report)
    assert eqx.tree_equal(load(str(path), LAYOUT), cloned.HumanClone(network, LAYOUT))
    metadata = storage.read(path)[0].metadata
    assert metadata["report"]["acting_accuracy"] == report.acting_accuracy
    assert metadata["config"]["epochs"] == CONFIG.epochs


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"epochs": 0}, "epochs is 0; it takes a whole number from 1"),
        ({"folds": 1}, "folds is 1; it takes a whole number from 2"),
        ({"weight_decay": -0.1}, "weight_decay is -0.1; it takes a number from 0 to below 1"),
        ({"dropout": 1.0}, "dropout is 1.0; it takes a number from 0 to below 1"),
        ({"learning_rate": 0.0}, "learning_rate is 0.0; it takes a number between 0 and 1"),
        ({"hidden": ()}, r"hidden is \(\); it takes 1 to 8 layer sizes from 1 to 4096"),
    ],
)
def test_settings_that_nothing_can_be_learned_with_are_an_error(wrong, complaint):
    with pytest.raises(InputError, match=complaint):
        CloningConfig(**wrong)
