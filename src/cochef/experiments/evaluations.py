"""The stage that evaluates a method's agents."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cochef.agents.names import checksums
from cochef.evaluation import crossplay, records
from cochef.experiments.jobs import JobContext
from cochef.experiments.stages import agent_path
from cochef.kitchen.layout import Layout
from cochef.validation import whole_number


@dataclass(frozen=True)
class EvaluateAgents:
    """Evaluate agents with partners that nobody was trained with; input: `agents`."""

    method: str
    layout: Layout
    agents: int
    """How many agents of the run are evaluated, from the first."""
    episodes: int
    seed: int
    kind: str = "evaluation"
    version: int = 3

    def __post_init__(self) -> None:
        """Refuse to evaluate nobody."""
        whole_number(self.agents, "agents", 1)

    @property
    def config(self) -> Mapping[str, Any]:
        """All settings."""
        partners = crossplay.unseen_partners(self.layout)
        return {
            "method": self.method,
            "layout": self.layout.fingerprint,
            "agents": self.agents,
            "partners": {name: checksums(name) for name in partners},
            "episodes": self.episodes,
            "seed": self.seed,
        }

    def run(self, context: JobContext) -> None:
        """Play, and record every episode."""
        directory = context.inputs["agents"]
        agents = [
            crossplay.Player(self.method, str(agent_path(directory, number)), number, self.seed)
            for number in range(self.agents)
        ]
        partners = crossplay.players(crossplay.unseen_partners(self.layout))
        found = crossplay.evaluate(
            self.layout, agents, partners, episodes=self.episodes, seed=self.seed
        )
        manifest = crossplay.manifest(
            self.layout, agents, partners, self.episodes, self.seed, greedy=False
        )
        # The manifest names agents by method and number, wherever the run's directory was.
        for player in manifest["agents"]:
            player["name"] = f"{self.method}/{player['seed']:02}"
        records.write(context.directory, found, manifest)
