"""Runs: training in a directory, which resumes from its last checkpoint after an interruption.

config.json          the resolved configuration; a directory holds one run
metrics.jsonl        a line per iteration
checkpoints/         the last two checkpoints: the whole training state
snapshots/           the actors of all members, from the first update to the last
agents/              every learner at the end, as a file that `cochef evaluate` takes
"""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from cochef import interrupts
from cochef.agents import actor_critic, storage
from cochef.agents.hosting import AgentError
from cochef.errors import InputError, shown
from cochef.files import alone, read_table, write_json
from cochef.kitchen.layout import Layout
from cochef.learning import checkpoints, snapshots
from cochef.learning.config import TrainingConfig
from cochef.learning.environments import KitchenEnvironment
from cochef.learning.population import IterationMetrics, TrainState
from cochef.learning.ppo import UpdateMetrics
from cochef.learning.trainer import Trainer
from cochef.learning.writers import (
    CONFIG,
    MAX_BYTES,
    METRICS,
    SHARD,
    JsonLinesWriter,
    Log,
    MetricsWriter,
    metrics_lines,
    read_metrics,
)

CHECKPOINTS = "checkpoints"
SNAPSHOTS = "snapshots"
AGENTS = "agents"
CHECKPOINT_SECONDS = 30.0
LEARNERS = ("biased", "partner")  # names of a member's learners, where it has two

BY_LEARNER = "update_by_learner"  # in the metrics of a shard

_DIGITS = 4  # of event counts in the metrics


def train(
    trainer: Trainer,
    directory: Path,
    run_config: Mapping[str, Any],
    writers: Sequence[MetricsWriter] = (),
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
    log: Log = print,
) -> TrainState:
    """Train a population in `directory`, or resume its training; return the final state.

    `run_config` is the resolved configuration, fit for JSON; its `hidden_rewards`, if any, has the
    weights of each member's hidden reward.
    """
    with _claimed(directory, run_config):
        run = _Run(trainer, _layout(trainer), directory, run_config)
        before = metrics_lines(directory / METRICS)
        state, iterations = checkpoints.restore(directory / CHECKPOINTS, trainer, len(before), log)
        finished = iterations == trainer.config.iterations
        if finished and all(agent.path.exists() for agent in run.agents()):
            log(f"{directory}: finished already, nothing to do")
            return state
        if iterations:
            log(f"{directory}: resuming after iteration {iterations}")
        # Metrics beyond the checkpoint are dropped: those iterations are done again.
        before = before[:iterations]
        metrics_file = JsonLinesWriter(directory / METRICS, before)
        with ExitStack() as stack:
            for writer in (metrics_file, *writers):
                writer.begin(run_config)
                stack.callback(writer.end)
            recent = [json.loads(line) for line in before[-snapshots.WINDOW :]]
            state, recent = run.learn(state, recent, metrics_file, writers, checkpoint_seconds)
        run.save_agents(state, recent)
        return state


def join(
    trainer: Trainer, directory: Path, run_config: Mapping[str, Any], shards: Sequence[Path]
) -> None:
    """Write the run of a whole population from the finished runs of its shards, in order.

    The files are those of `train`. The seconds are those of all shards together.
    """
    layout = _layout(trainer)
    config = trainer.config
    skeleton = jax.eval_shape(trainer.begin)
    with _claimed(directory, run_config):
        run = _Run(trainer, layout, directory, run_config)
        lines = _joined_metrics(shards, config)
        metrics_file = JsonLinesWriter(directory / METRICS)
        metrics_file.begin(run_config)
        for line in lines:
            metrics_file.write(line)
        metrics_file.end()
        for iteration in config.snapshot_iterations:
            actors = _joined(skeleton.learners.actor, shards, SNAPSHOTS, iteration)
            recent = lines[:iteration][-snapshots.WINDOW :]
            snapshots.save(directory / SNAPSHOTS, layout, config, actors, recent)
        state = _joined(skeleton, shards, CHECKPOINTS, config.iterations)
        checkpoints.save(directory / CHECKPOINTS, layout, state, config.iterations)
        run.save_agents(state, lines[-snapshots.WINDOW :])


def _layout(trainer: Trainer) -> Layout:
    if not isinstance(trainer.environment, KitchenEnvironment):
        raise InputError(f"a run of {shown(trainer.environment)}; runs on disk are of kitchens")
    return trainer.environment.layout


def _joined(skeleton: Any, shards: Sequence[Path], folder: str, iteration: int) -> Any:  # noqa: ANN401
    """The arrays of all shards in a tree, from the files after some iteration."""
    paths = [shard / folder / f"{iteration:07}{storage.SUFFIX}" for shard in shards]
    tensors = [storage.read(path)[1] for path in paths]
    return storage.fill(skeleton, storage.by_name(tensors, np.concatenate), paths[0])


def _joined_metrics(shards: Sequence[Path], config: TrainingConfig) -> list[dict[str, Any]]:
    """The metrics of a whole population, a line per iteration."""
    metrics = [list(map(json.loads, metrics_lines(shard / METRICS))) for shard in shards]
    for shard, lines in zip(shards, metrics, strict=True):
        if len(lines) != config.iterations:
            raise InputError(
                f"{shard}: metrics of {len(lines)} iterations, not of {config.iterations}; "
                "delete its directory, and it is trained again"
            )
    return [_joined_line(lines) for lines in zip(*metrics, strict=True)]


def _joined_line(lines: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    joined = {name: lines[0][name] for name in ("iteration", "steps")}
    for name in ("task_return", "objective_return", "events"):
        joined[name] = _all_members(lines, name)
    update = [line[BY_LEARNER] for line in lines]
    joined["update"] = {name: _mean(_all_members(update, name)) for name in update[0]}
    if "partner_returns" in lines[0]:
        joined["partner_returns"] = _all_members(lines, "partner_returns")
    joined["seconds"] = round(sum(line["seconds"] for line in lines), 3)
    return joined


def _all_members(tables: Sequence[Mapping[str, Any]], name: str) -> list[Any]:
    """What all shards have under a name, shard by shard."""
    return [row for table in tables for row in table[name]]


def _mean(rows: Any) -> float:  # noqa: ANN401
    """The mean of what learners have, in the precision in which it was computed."""
    return float(np.asarray(rows, np.float32).mean())


class _AgentPath(NamedTuple):
    """The agent file of a learner."""

    path: Path
    member: int
    learner: int


@dataclass(frozen=True)
class _Run:
    """A run whose directory is claimed."""

    trainer: Trainer
    layout: Layout
    directory: Path
    run_config: Mapping[str, Any]

    @property
    def config(self) -> TrainingConfig:
        return self.trainer.config

    def learn(
        self,
        state: TrainState,
        recent: list[dict[str, Any]],
        metrics_file: JsonLinesWriter,
        writers: Sequence[MetricsWriter],
        checkpoint_seconds: float,
    ) -> tuple[TrainState, list[dict[str, Any]]]:
        """Do the iterations after those of `recent`; the final state and the last metrics.

        After Ctrl-C it does the iteration to its end, saves, and raises a KeyboardInterrupt.
        """
        first = 1 + recent[-1]["iteration"] if recent else 1
        seconds_before = recent[-1]["seconds"] if recent else 0.0
        started = saved = time.monotonic()
        interruption: interrupts.Deferral | None = None
        with ExitStack() as stack:
            for number in range(first, self.config.iterations + 1):
                # Iterations count from 1 in files and from 0 in the trainer.
                state, metrics = self._iterate(state, number, recent, metrics_file)
                by_learner = SHARD in self.run_config
                line = metrics_line(metrics, number, self.config, by_learner=by_learner)
                # While the first one is compiled there is nothing to save.
                interruption = interruption or stack.enter_context(interrupts.deferred())
                line["seconds"] = round(seconds_before + time.monotonic() - started, 3)
                for writer in (metrics_file, *writers):
                    writer.write(line)
                recent = [*recent, line][-snapshots.WINDOW :]
                last = number == self.config.iterations
                leaving = interruption.requested and not last
                due = last or leaving or time.monotonic() - saved >= checkpoint_seconds
                if due:
                    # A checkpoint cannot be used without the metrics of all iterations before it.
                    metrics_file.sync()
                    saved = time.monotonic()
                self.save(state, recent, checkpoint=due)
                if leaving:
                    raise KeyboardInterrupt
        return state, recent

    def _iterate(
        self,
        state: TrainState,
        number: int,
        recent: list[dict[str, Any]],
        metrics_file: JsonLinesWriter,
    ) -> tuple[TrainState, IterationMetrics]:
        """An iteration; if an own agent fails, what was learned before it is saved."""
        try:
            return self.trainer.iterate(state, number - 1)
        except AgentError:
            if recent:
                metrics_file.sync()
                self.save(state, recent, checkpoint=True)
            raise

    def save(
        self, state: TrainState, recent: Sequence[Mapping[str, Any]], *, checkpoint: bool
    ) -> None:
        """Write the snapshot and checkpoint that are due, if all their numbers are finite."""
        number = recent[-1]["iteration"]
        snapshot = number in self.config.snapshot_iterations
        if not (snapshot or checkpoint):
            return
        state = jax.device_get(state)
        checkpoints.check_finite(state, number)
        if snapshot:
            actors = state.learners.actor
            snapshots.save(self.directory / SNAPSHOTS, self.layout, self.config, actors, recent)
        if checkpoint:
            checkpoints.save(self.directory / CHECKPOINTS, self.layout, state, number)

    def agents(self) -> Iterator[_AgentPath]:
        """The agent files of all learners."""
        learners = self.trainer.algorithm.roles.learners
        for member in range(self.trainer.members):
            for learner in range(learners):
                name = f"{member:02}" if learners == 1 else f"{member:02}-{LEARNERS[learner]}"
                path = self.directory / AGENTS / f"{name}{storage.SUFFIX}"
                yield _AgentPath(path, member, learner)

    def save_agents(self, state: TrainState, recent: Sequence[Mapping[str, Any]]) -> None:
        """Write the agent files of all learners."""
        actors = jax.device_get(state.learners.actor)
        returns = snapshots.recent_returns(self.config, recent)
        origin = {
            name: self.run_config[name]
            for name in ("population", "seed")
            if name in self.run_config
        }
        hidden_rewards = self.run_config.get("hidden_rewards")
        for path, member, learner in self.agents():
            metadata = origin | {"member": member, "task_return": returns[member]}
            if self.trainer.algorithm.roles.learners > 1:
                metadata |= {"learner": LEARNERS[learner]}
            if hidden_rewards:
                metadata |= {"hidden_reward": hidden_rewards[member]}
            network = jax.tree.map(lambda leaf, at=(member, learner): leaf[at], actors)
            actor_critic.save(path, self.layout, self.config.network, network, metadata)


def metrics_line(
    metrics: IterationMetrics, iteration: int, config: TrainingConfig, *, by_learner: bool = False
) -> dict[str, Any]:
    """The metrics of an iteration for JSON; an error if a member's are not finite.

    task_return [members], objective_return (all rewards) [members, roles] and events [members,
    roles, events] are means of an episode; partner_returns [members, partners], if there is a pool,
    are moving averages; update is averaged over the learners of all members. A shard also has the
    update's metrics `by_learner`, for the average over all shards.
    """
    found: IterationMetrics = jax.device_get(metrics)
    checkpoints.check_finite(found, iteration)
    update = {entry.name: getattr(found.update, entry.name) for entry in fields(UpdateMetrics)}
    line = {
        "iteration": iteration,
        "steps": iteration * config.steps_per_iteration,
        "task_return": found.task_return.tolist(),
        "objective_return": found.objective_return.tolist(),
        "events": np.round(found.events.astype(float), _DIGITS).tolist(),
        "update": {name: _mean(values) for name, values in update.items()},
    }
    if by_learner:
        line[BY_LEARNER] = {name: values.tolist() for name, values in update.items()}
    if found.partner_returns is not None:
        line["partner_returns"] = np.round(found.partner_returns.astype(float), _DIGITS).tolist()
    return line


def mean_of_last(directory: Path, name: str, iterations: int) -> np.ndarray:
    """What the metrics of a run say under a name, as the mean over its last iterations."""
    return np.mean([line[name] for line in read_metrics(directory)[-iterations:]], axis=0)


def read_config(directory: Path) -> dict[str, Any]:
    """The resolved configuration of the run in a directory."""
    remedy = "take it from a backup, or train in another directory"
    return read_table(directory / CONFIG, MAX_BYTES, "the configuration of a run", remedy)


@contextmanager
def _claimed(directory: Path, run_config: Mapping[str, Any]) -> Iterator[None]:
    """Lock the directory; raise an error if it holds a run with another configuration."""
    with alone(directory, "trains"):
        for partial in directory.rglob(".*.part"):  # of a process that was killed while writing
            partial.unlink(missing_ok=True)
        if (directory / CONFIG).exists():
            ours = json.loads(json.dumps(run_config))
            _check_same(read_config(directory), ours, directory)
        else:
            write_json(directory / CONFIG, run_config)
        yield


def _check_same(there: Mapping[str, Any], ours: Mapping[str, Any], directory: Path) -> None:
    old = _flat(there)
    new = _flat(ours)
    for name in [*old, *new]:
        if old.get(name) != new.get(name) or (name in old) != (name in new):
            values = [shown(table[name]) if name in table else "nothing" for table in (old, new)]
            raise InputError(
                f"{directory}: holds a run with {name} {values[0]}, not {values[1]}; "
                "take another directory"
            )


def _flat(entry: object, name: str = "") -> dict[str, object]:
    """All values in nested tables by their dotted names."""
    if not isinstance(entry, Mapping):
        return {name: entry}
    flat: dict[str, object] = {}
    for key, value in entry.items():
        flat |= _flat(value, f"{name}.{key}" if name else key)
    return flat
