"""How well people are predicted, against always doing what they do most often."""

from dataclasses import dataclass

import numpy as np

from cochef.kitchen.constants import Action

_RESAMPLES = 2_000
_LEVEL = 0.95


@dataclass(frozen=True)
class BootstrapEstimate:
    """A share and its 95% interval, by a bootstrap over stretches."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class CloningReport:
    """How well the people of a layout and split are predicted, in stretches not trained on."""

    layout: str
    split: str
    examples: int
    epoch: int
    accuracy: float
    """How often the likeliest action is what the person did."""
    accuracy_of_folds: tuple[float, ...]
    majority: float
    """The accuracy of always doing what people did most often, which is to stay."""
    random: float
    gain: BootstrapEstimate
    """Accuracy over majority."""
    balanced_accuracy: BootstrapEstimate
    """The share predicted of each action, averaged over actions; the majority has 1/6."""
    weighed_accuracy: BootstrapEstimate
    """The same, for the action that is likeliest compared with how common it is."""
    acting_accuracy: float
    """Where people did something: how often it is the likeliest action other than to stay."""
    acting_majority: float
    loss: float
    """Cross entropy, in nats."""
    marginal_loss: float
    """The loss of knowing only how often people do what."""
    training_accuracy: float
    """The accuracy of the clone that is kept, on all stretches: it was trained on them."""


@dataclass(frozen=True)
class Predictions:
    """What people did, and the logits of networks that were not trained on it.

    `logits_of_kept` are those of the clone that is kept, which was.
    """

    logits: np.ndarray
    logits_of_kept: np.ndarray
    actions: np.ndarray
    stretches: np.ndarray
    folds: np.ndarray


def summarise(layout: str, split: str, epoch: int, found: Predictions) -> CloningReport:
    """How well people were predicted; the baselines know how often the same people did what."""
    done = found.actions
    often = np.bincount(done, minlength=len(Action)) / len(done)
    right = found.logits.argmax(axis=1) == done
    weighed_right = (found.logits - np.log(often)).argmax(axis=1) == done
    acted = done != Action.STAY
    acting = np.where(np.arange(len(Action)) == Action.STAY, -np.inf, found.logits).argmax(axis=1)
    log_total = np.logaddexp.reduce(found.logits, axis=1)
    most = int(often.argmax())
    total = _resampled(found, np.ones_like(right))
    correct = _resampled(found, right)
    weighed = _resampled(found, weighed_right)
    return CloningReport(
        layout=layout,
        split=split,
        examples=len(done),
        epoch=epoch,
        accuracy=float(right.mean()),
        accuracy_of_folds=tuple(
            float(right[found.folds == fold].mean()) for fold in np.unique(found.folds)
        ),
        majority=float(often[most]),
        random=1 / len(Action),
        gain=_estimate((correct.sum(axis=1) - total[:, most]) / total.sum(axis=1)),
        balanced_accuracy=_estimate((correct / total).mean(axis=1)),
        weighed_accuracy=_estimate((weighed / total).mean(axis=1)),
        acting_accuracy=float((acting == done)[acted].mean()),
        acting_majority=float(np.delete(often, Action.STAY).max() / acted.mean()),
        loss=float((log_total - found.logits[np.arange(len(done)), done]).mean()),
        marginal_loss=float(-(often * np.log(often)).sum()),
        training_accuracy=float((found.logits_of_kept.argmax(axis=1) == done).mean()),
    )


def _resampled(found: Predictions, counted: np.ndarray) -> np.ndarray:
    """Counted examples by action: [1 + resamples, actions].

    The first row is of all stretches, the others of stretches drawn with replacement.
    """
    stretches = found.stretches.max() + 1
    by_stretch = np.zeros((stretches, len(Action)))
    np.add.at(by_stretch, (found.stretches, found.actions), counted)
    draws = np.random.default_rng(0).multinomial(
        stretches, np.full(stretches, 1 / stretches), _RESAMPLES
    )
    return np.concatenate([by_stretch.sum(axis=0, keepdims=True), draws @ by_stretch])


def _estimate(values: np.ndarray) -> BootstrapEstimate:
    """The first value, with the interval of the others."""
    low, high = np.quantile(values[1:], [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])
    return BootstrapEstimate(float(values[0]), float(low), float(high))
