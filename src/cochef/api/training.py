"""Training, pools, and what comes out of them."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cochef import runtime
from cochef.agents import pool as pool_files
from cochef.agents import shipped_pools
from cochef.agents.agent import Agent
from cochef.agents.pool import PoolFiles
from cochef.api.playing import AgentLike, LayoutLike, load
from cochef.api.playing import layout as to_layout
from cochef.errors import InputError
from cochef.experiments import pipeline, pools, stages
from cochef.experiments.jobs import JobContext
from cochef.experiments.presets import PRESETS
from cochef.kitchen.layout import Layout
from cochef.learning import reward_config, runs
from cochef.learning.critics import Critic, load_critic
from cochef.learning.further import read_origin
from cochef.validation import known

_LOG = logging.getLogger("cochef")


@dataclass(frozen=True)
class TrainedRun:
    """A finished training in its directory."""

    directory: Path
    layout: Layout

    @property
    def paths(self) -> list[Path]:
        """The agent files, in the order of the members."""
        return sorted((self.directory / runs.AGENTS).glob("*.safetensors"))

    def agent(self, number: int = 0, *, greedy: bool = False) -> Agent:
        """One of the agents."""
        paths = self.paths
        if not 0 <= number < len(paths):
            raise InputError(f"no agent {number} in {self.directory}; it has {len(paths)}")
        return load(paths[number], self.layout, greedy=greedy)

    def critic(self, member: int = 0, learner: int = 0) -> Critic:
        """The critic of a member's learner, from the last checkpoint."""
        return load_critic(self.directory, self.layout, member, learner)


def train(
    method: str,
    layout: LayoutLike,
    *,
    out: str | Path,
    preset: str = "laptop",
    steps: int | None = None,
    members: int | None = None,
    seed: int = 0,
    start: str | Path | None = None,
) -> TrainedRun:
    """Train a method's population in a directory, or resume its training.

    With `start`, an agent file, the directory of a run or KIND:LAYOUT that ships, that is trained
    further.
    """
    runtime.use_all_cores()
    place = to_layout(layout)
    stage = pipeline.population(method, place, preset, seed, members, steps)
    inputs = {}
    if start is not None:
        stage = stage.further(read_origin(Path(start), place), keep_members=members is not None)
        inputs["from"] = Path(start)
    stage.run(JobContext(Path(out), inputs, log=_LOG.info))
    return TrainedRun(Path(out), place)


def train_with_pool(
    pool: str | Path | PoolFiles,
    *,
    out: str | Path,
    preset: str = "laptop",
    steps: int | None = None,
    seed: int = 0,
    start: str | Path | None = None,
    own: Mapping[str, AgentLike] | None = None,
) -> TrainedRun:
    """Train agents that adapt to a pool, or resume their training.

    With `start`, as for `train`, those agents are trained further. `own` are own agents that join
    the pool, by name.
    """
    runtime.use_all_cores()
    files = pool if isinstance(pool, PoolFiles) else open_pool(pool)
    place = files.layout
    known(preset, "preset", PRESETS)
    stage = stages.TrainAgents(
        place,
        PRESETS[preset].second_stage,
        reward_config.shipped(place),
        seed,
        own={name: load(agent, place) for name, agent in (own or {}).items()},
    )
    if steps is not None:
        stage = stage.lasting(steps)
    inputs = {"pool": files.directory}
    if start is not None:
        stage = stage.further(read_origin(Path(start), place))
        inputs["from"] = Path(start)
    stage.run(JobContext(Path(out), inputs, log=_LOG.info))
    return TrainedRun(Path(out), place)


def make_pool(
    out: str | Path, sources: Sequence[str | Path], layout: LayoutLike | None = None
) -> PoolFiles:
    """Write a pool of agent files, of everybody in finished runs, and of everybody in pools."""
    place = None if layout is None else to_layout(layout)
    return pools.make(Path(out), [_located(source) for source in sources], place)


def open_pool(directory: str | Path, layout: LayoutLike | None = None) -> PoolFiles:
    """The pool in a directory, or one that ships (`hsp:distant_tomato`).

    A layout that does not ship must be given.
    """
    return pool_files.read(_located(directory), None if layout is None else to_layout(layout))


def _located(source: str | Path) -> Path:
    return shipped_pools.located(Path(source), runtime.cache_directory("pools"))
