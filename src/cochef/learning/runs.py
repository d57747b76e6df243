"""Training on disk: a directory that says all about a run, and can be gone on with after any end.

config.json          the resolved configuration; a directory holds one run
metrics.jsonl        a line an iteration
checkpoints/         all that changes while the population learns, after so many iterations; the last two
snapshots/           the actors of all members, from the first update to the last
agents/              every learner at the end, as a file that `cochef evaluate` takes
"""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import jax
import numpy as np

from cochef.agents import actor_critic, storage
from cochef.errors import InputError, shown
from cochef.files import alone, read_limited, write_whole
from cochef.kitchen.layout import Layout
from cochef.learning import checkpoints, snapshots
from cochef.learning.checkpoints import Tell
from cochef.learning.config import TrainingConfig
from cochef.learning.environments import KitchenEnvironment
from cochef.learning.ppo import Update
from cochef.learning.trainer import Progress, Trainer, Training
from cochef.learning.writers import JsonLinesWriter, MetricsWriter

CONFIG, METRICS = "config.json", "metrics.jsonl"
CHECKPOINTS, SNAPSHOTS, AGENTS = "checkpoints", "snapshots", "agents"
CHECKPOINT_SECONDS = 30.0
LEARNERS = ("biased", "partner")  # where a member has two
MAX_BYTES = 1024**3

_DIGITS = 4  # of event counts in the metrics


def train(
    trainer: Trainer,
    directory: Path,
    about: Mapping[str, Any],
    sinks: Sequence[MetricsWriter] = (),
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
    tell: Tell = print,
) -> Training:
    """The population at the end of its training, all of it in `directory`; goes on where an earlier attempt ended.

    `about` is the resolved configuration, fit for JSON; its `hidden`, if any, says what each member secretly wants.
    """
    if not isinstance(trainer.game, KitchenEnvironment):
        raise InputError(f"a run of {shown(trainer.game)}; runs on disk are of kitchens")
    with _claimed(directory, about):
        run = _Run(trainer, trainer.game.layout, directory, about)
        before = _lines(directory / METRICS)
        training, done = checkpoints.restore(directory / CHECKPOINTS, trainer, len(before), tell)
        if done == trainer.config.iterations and all(path.exists() for path, *_ in run.agents()):
            tell(f"{directory}: finished already, nothing to do")
            return training
        if done:
            tell(f"{directory}: going on after iteration {done}")
        log = JsonLinesWriter(directory / METRICS, before[:done])
        with ExitStack() as stack:
            for sink in (log, *sinks):
                sink.begin(about)
                stack.callback(sink.end)
            recent = [json.loads(line) for line in before[:done][-snapshots.WINDOW :]]
            training, recent = run.learn(training, done, recent, log, sinks, checkpoint_seconds)
        run.save_agents(training, recent)
        return training


@dataclass(frozen=True)
class _Run:
    """A run whose directory is claimed."""

    trainer: Trainer
    layout: Layout
    directory: Path
    about: Mapping[str, Any]

    @property
    def config(self) -> TrainingConfig:
        return self.trainer.config

    def learn(
        self,
        training: Training,
        done: int,
        recent: list[dict[str, Any]],
        log: JsonLinesWriter,
        sinks: Sequence[MetricsWriter],
        checkpoint_seconds: float,
    ) -> tuple[Training, list[dict[str, Any]]]:
        """The population at the end, and the last lines of metrics."""
        earlier = recent[-1]["seconds"] if recent else 0.0
        started = saved = time.monotonic()
        for number in range(done + 1, self.config.iterations + 1):
            training, progress = self.trainer.iterate(training, number - 1)
            line = describe(progress, number, self.config)
            line["seconds"] = round(earlier + time.monotonic() - started, 3)
            for sink in (log, *sinks):
                sink.write(line)
            recent = [*recent, line][-snapshots.WINDOW :]
            last = number == self.config.iterations
            due = last or time.monotonic() - saved >= checkpoint_seconds
            if due:
                log.keep()
                saved = time.monotonic()
            self.save(training, recent, checkpoint=due)
        return training, recent

    def save(self, training: Training, recent: Sequence[Mapping[str, Any]], *, checkpoint: bool) -> None:
        """Write what is due after the iteration of the last line, if its numbers are finite."""
        number = recent[-1]["iteration"]
        snapshot = number in self.config.snapshot_iterations
        if not (snapshot or checkpoint):
            return
        found = jax.device_get(training)
        checkpoints.check_finite(found, number)
        if snapshot:
            snapshots.save(self.directory / SNAPSHOTS, self.layout, self.config, found.learners.actor, recent)
        if checkpoint:
            checkpoints.save(self.directory / CHECKPOINTS, self.layout, found, number)

    def agents(self) -> Iterator[tuple[Path, int, int]]:
        """The file of every agent, its member and its learner."""
        for member in range(self.trainer.utility.order.shape[0]):
            for learner in range(self.trainer.recipe.seating.learners):
                name = (
                    f"{member:02}" if self.trainer.recipe.seating.learners == 1 else f"{member:02}-{LEARNERS[learner]}"
                )
                yield self.directory / AGENTS / f"{name}{storage.SUFFIX}", member, learner

    def save_agents(self, training: Training, recent: Sequence[Mapping[str, Any]]) -> None:
        """Write every learner as an agent of its own."""
        actors = jax.device_get(training.learners.actor)
        returns = snapshots.returns(self.config, recent)
        known = {name: self.about[name] for name in ("method", "preset", "seed") if name in self.about}
        for path, member, learner in self.agents():
            about = known | {"member": member, "return": returns[member]}
            if self.trainer.recipe.seating.learners > 1:
                about |= {"learner": LEARNERS[learner]}
            if "hidden" in self.about:
                about |= {"hidden": self.about["hidden"][member]}
            network = jax.tree.map(lambda leaf, member=member, learner=learner: leaf[member, learner], actors)
            actor_critic.save(path, self.layout, self.config.network, network, about)


def describe(progress: Progress, number: int, config: TrainingConfig) -> dict[str, Any]:
    """What is told about an iteration; complains about members with numbers that are not finite.

    task and reward are mean returns of an episode, per member, and per role; events are mean counts of an episode, per
    member, role and event; partners, if there is a pool, are average returns with each of it, per member; update is
    averaged over the learners of all members.
    """
    found: Progress = jax.device_get(progress)
    checkpoints.check_finite(found, number)
    line = {
        "iteration": number,
        "steps": number * config.steps_per_iteration,
        "task": found.task.tolist(),
        "reward": found.reward.tolist(),
        "events": np.round(found.events.astype(float), _DIGITS).tolist(),
        "update": {entry.name: float(getattr(found.update, entry.name).mean()) for entry in fields(Update)},
    }
    if found.partners is not None:
        line["partners"] = np.round(found.partners.astype(float), _DIGITS).tolist()
    return line


def metrics(directory: Path) -> list[dict[str, Any]]:
    """What a run told about its iterations."""
    return [json.loads(line) for line in _lines(directory / METRICS)]


def configuration(directory: Path) -> dict[str, Any]:
    """The resolved configuration of the run in a directory."""
    path = directory / CONFIG
    content = read_limited(path, MAX_BYTES, "the configuration of a run")
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not JSON ({error}); take it from a backup, or train in another directory") from error
    if not isinstance(found, dict):
        raise InputError(f"{path}: {shown(found)}; it takes a table")
    return found


@contextmanager
def _claimed(directory: Path, about: Mapping[str, Any]) -> Iterator[None]:
    """The directory is ours alone, can be written to, and belongs to this configuration."""
    with alone(directory, "trains"):
        for partial in directory.rglob(".*.part"):  # of a process that was killed while writing
            partial.unlink(missing_ok=True)
        text = json.dumps(about, indent=1) + "\n"
        if (directory / CONFIG).exists():
            _check_same(configuration(directory), json.loads(text), directory)
        else:
            write_whole(directory / CONFIG, text.encode())
        yield


def _check_same(there: Mapping[str, Any], ours: Mapping[str, Any], directory: Path) -> None:
    old, new = _flat(there), _flat(ours)
    for name in [*old, *new]:
        if old.get(name) != new.get(name) or (name in old) != (name in new):
            values = [shown(table[name]) if name in table else "nothing" for table in (old, new)]
            raise InputError(
                f"{directory}: holds a run with {name} {values[0]}, not {values[1]}; take another directory"
            )


def _flat(entry: object, name: str = "") -> dict[str, object]:
    """All values in nested tables by their dotted names."""
    if not isinstance(entry, Mapping):
        return {name: entry}
    inner = [_flat(value, f"{name}.{key}" if name else key) for key, value in entry.items()]
    return {key: value for table in inner for key, value in table.items()}


def _lines(path: Path) -> list[str]:
    """The whole lines of a file, if it is there, up to the first that is not what it should be."""
    if not path.exists():
        return []
    good = []
    text = read_limited(path, MAX_BYTES, "the metrics of a run").decode(errors="replace")
    for number, line in enumerate(text.splitlines(keepends=True), start=1):
        try:
            whole = line.endswith("\n") and json.loads(line)["iteration"] == number
        except (ValueError, KeyError, TypeError, RecursionError):
            whole = False
        if not whole:
            break
        good.append(line)
    return good
