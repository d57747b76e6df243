"""Stages that only the reproduction needs; each writes small files, which are its result."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxtyping import Float
from PIL import Image

from cochef.agents import pool, scripted
from cochef.agents.names import checksums, load
from cochef.evaluation import crossplay, human_likeness
from cochef.evaluation.crossplay import Player
from cochef.evaluation.statistics import event_difference
from cochef.experiments.jobs import JobContext
from cochef.experiments.stages import agent_path
from cochef.files import write_whole
from cochef.human.games import games
from cochef.kitchen import render
from cochef.kitchen.constants import SEATS
from cochef.kitchen.events import counted_events
from cochef.kitchen.layout import Layout
from cochef.learning.writers import read_metrics
from cochef.rollout import record

CROSS_PLAY = "crossplay.json"
CURVE = "curve.json"
DIFFERENCE = "difference.json"
LIKENESS = "likeness.json"

MOST_POINTS = 200  # of a learning curve
AT_END = 0.05  # share of a learning curve over which returns at the end are averaged
_STRIP = 6  # pictures of a film strip
_FILM_STEPS = 200
_TILE = 40


@dataclass(frozen=True)
class ReadCurve:
    """Keep the learning curve of some agents; input: `agents`."""

    layout: Layout
    kind: str = "curve"
    version: int = 1

    @property
    def config(self) -> Mapping[str, Any]:
        """All settings."""
        return {"layout": self.layout.fingerprint, "most_points": MOST_POINTS}

    def run(self, context: JobContext) -> None:
        """Average neighbouring iterations, so that the curve has few points."""
        lines = read_metrics(context.inputs["agents"])
        steps = np.array([line["steps"] for line in lines])
        returns = np.array([line["task_return"] for line in lines], float)
        parts = np.array_split(np.arange(len(lines)), min(MOST_POINTS, len(lines)))
        curve = {
            "steps": [int(steps[part[-1]]) for part in parts],
            "task_return": [np.round(returns[part].mean(axis=0), 2).tolist() for part in parts],
        }
        write_json(context.directory / CURVE, curve)


def returns_at_end(curve: Mapping[str, Any]) -> Float[np.ndarray, " agents"]:
    """The mean return of every agent at the end of a learning curve."""
    returns = np.array(curve["task_return"], float)
    points = max(1, round(AT_END * len(returns)))
    return returns[-points:].mean(axis=0)


@dataclass(frozen=True)
class CompareEvents:
    """Event differences of biased and scripted policies with the adaptive agents.

    Inputs: `pool`, `agents`. Every biased policy of the pool and every script plays with each
    agent; c_k is taken over the union of both (the paper's table 6).
    """

    layout: Layout
    agents: int
    episodes: int
    seed: int
    kind: str = "difference"
    version: int = 1

    @property
    def config(self) -> Mapping[str, Any]:
        """All settings."""
        return {
            "layout": self.layout.fingerprint,
            "scripts": list(scripted.names_for(self.layout)),
            "agents": self.agents,
            "episodes": self.episodes,
            "seed": self.seed,
        }

    def run(self, context: JobContext) -> None:
        """Play, count events, and compare."""
        files = pool.read(context.inputs["pool"], self.layout)
        biased = [member for member in files.members if member.hidden_reward is not None]
        partners = [Player(one.name, str(files.path(one))) for one in biased]
        scripts = [f"script:{name}" for name in scripted.names_for(self.layout)]
        partners += [Player(name, name) for name in scripts]
        agents = [
            Player("agents", str(agent_path(context.inputs["agents"], number)), number)
            for number in range(self.agents)
        ]
        found = crossplay.evaluate(
            self.layout, agents, partners, episodes=self.episodes, seed=self.seed
        )
        events = [event.label for event in counted_events(self.layout)]
        counts = []
        for player in partners:
            rows = found.where(found["partner"] == player.label)
            counts.append([float(rows[f"partner_{event}"].mean()) for event in events])
        differences = event_difference(np.array(counts))
        write_json(
            context.directory / DIFFERENCE,
            {
                "events": events,
                "policies": [player.label for player in partners],
                "biased": [True] * len(biased) + [False] * len(scripts),
                "counts": np.round(counts, 4).tolist(),
                "differences": np.round(differences, 6).tolist(),
                "scores": [
                    float(found.where(found["partner"] == player.label)["score"].mean())
                    for player in partners
                ],
            },
        )


@dataclass(frozen=True)
class PlayAcross:
    """Let the first agents of methods play with each other; inputs: their `agents` by method."""

    layout: Layout
    episodes: int
    seed: int
    kind: str = "crossplay"
    version: int = 1

    @property
    def config(self) -> Mapping[str, Any]:
        """All settings."""
        return {"layout": self.layout.fingerprint, "episodes": self.episodes, "seed": self.seed}

    def run(self, context: JobContext) -> None:
        """Play, and keep the mean score of every pair, the first in seat 0 or 1."""
        players = [
            Player(method, str(agent_path(directory)))
            for method, directory in context.inputs.items()
        ]
        found = crossplay.evaluate(
            self.layout, players, players, episodes=self.episodes, seed=self.seed
        )
        rows = []
        for agent, partner, played in found.pairs():
            for seat in range(SEATS):
                score = float(played.where(played["seat"] == seat)["score"].mean())
                rows.append({"agent": agent, "partner": partner, "seat": seat, "score": score})
        write_json(context.directory / CROSS_PLAY, {"pairs": rows})


@dataclass(frozen=True)
class MakeFilm:
    """Film an agent with a copy of itself and with a partner; input: `agents`."""

    method: str
    layout: Layout
    partner: str
    seed: int
    kind: str = "film"
    version: int = 1

    @property
    def config(self) -> Mapping[str, Any]:
        """All settings."""
        return {
            "method": self.method,
            "layout": self.layout.fingerprint,
            "partner": self.partner,
            "seed": self.seed,
        }

    def run(self, context: JobContext) -> None:
        """Write a strip of pictures and a film of both pairs."""
        agent = str(agent_path(context.inputs["agents"]))
        for name, partner in (("itself", agent), ("partner", self.partner)):
            pictures = _pictures(self.layout, agent, partner, self.seed)
            render.save_png(_strip(pictures), context.directory / f"{name}.png")
            render.save_gif(pictures, context.directory / f"{name}.gif")


def _pictures(layout: Layout, agent: str, partner: str, seed: int) -> list[Image.Image]:
    agents = (load(agent, layout), load(partner, layout))
    moments = list(render.moments(record(layout, agents, jax.random.key(seed), 1)))
    return [
        render.render_state(
            layout,
            moment.state,
            score=moment.score,
            next_actions=moment.next_actions,
            tile_size=_TILE,
        )
        for moment in moments[: _FILM_STEPS + 1]
    ]


def _strip(pictures: Sequence[Image.Image]) -> Image.Image:
    """Pictures at equal distances in time, side by side."""
    places = np.linspace(0, len(pictures) - 1, _STRIP).round().astype(int)
    chosen = [pictures[place] for place in places]
    width, height = chosen[0].size
    strip = Image.new("RGB", (width * len(chosen), height))
    for number, picture in enumerate(chosen):
        strip.paste(picture, (number * width, 0))
    return strip


@dataclass(frozen=True)
class CompareLikeness:
    """How people and a kind of model of them divide the work in a layout; no inputs."""

    layout: Layout
    model: str
    episodes: int
    seed: int
    kind: str = "likeness"
    version: int = 2

    @property
    def config(self) -> Mapping[str, Any]:
        """All settings."""
        return {
            "layout": self.layout.fingerprint,
            "model": checksums(f"{self.model}:{self.layout.name}"),
            "games": len(games(self.layout.name)),
            "episodes": self.episodes,
            "seed": self.seed,
        }

    def run(self, context: JobContext) -> None:
        """Replay the people's games, and let the model play with itself."""
        found = human_likeness.compare(
            self.layout, self.model, episodes=self.episodes, seed=self.seed
        )
        table = asdict(found)
        for who in ("people", "models"):
            for share in ("cooking", "delivery"):
                table[who][share] = np.round(table[who][share], 4).tolist()
        write_json(context.directory / LIKENESS, table)


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a result as JSON."""
    write_whole(path, (json.dumps(content) + "\n").encode())
