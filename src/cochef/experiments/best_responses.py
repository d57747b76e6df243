"""Best responses to evaluation partners: what an agent could at most get with each of them.

This is the only place where anybody is trained with a script or a human model. The result measures
others and is no agent itself: its file is of a kind of its own, which neither the loader of agents
nor a pool takes, and it never ships. A best response begins as a task policy, with the network of
adaptive agents; of several training seeds the one with the highest return in training is taken, and
measured in new episodes. Training may miss the best there is, so that an agent may still be better.
"""

import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from cochef.agents import actor_critic, names, storage
from cochef.agents.actor_critic import TrainedAgent
from cochef.errors import InputError, shown
from cochef.evaluation import crossplay
from cochef.evaluation.crossplay import Player
from cochef.experiments import pools
from cochef.experiments.jobs import JobContext
from cochef.experiments.stages import agent_path, as_json, check_parents
from cochef.files import write_whole
from cochef.kitchen.constants import SEATS
from cochef.kitchen.layout import Layout
from cochef.learning import runs
from cochef.learning.config import TrainingConfig
from cochef.learning.partner_sampling import AgentGroup, PartnerIdentity, PartnerPool
from cochef.learning.reward_config import RewardConfig, by_label
from cochef.learning.trainer import Trainer
from cochef.methods.parts.second_stage import adaptive_agents
from cochef.validation import whole_number

KIND = "best-response"
FILE = f"best_response{storage.SUFFIX}"
RESULT = "bound.json"

_TRAINING = "training"  # the folder of the run, which is deleted in the end
WINDOW = 10  # iterations at the end of training by which a seed is chosen


@dataclass(frozen=True)
class TrainBestResponse:
    """Train a best response to an evaluation partner; input: `parents`, whom it begins as."""

    layout: Layout
    partner: str
    rewards: RewardConfig
    training: TrainingConfig
    seeds: int
    """Best responses that are trained, which differ in their random numbers alone."""
    episodes: int
    """Episodes in either seat."""
    seed: int
    kind: str = "bound"
    version: int = 2

    def __post_init__(self) -> None:
        """Refuse what cannot be measured."""
        whole_number(self.seeds, "seeds", 1)
        whole_number(self.episodes, "episodes", 2)
        allowed = crossplay.unseen_partners(self.layout)
        if self.partner not in allowed:
            raise InputError(
                f"a best response to {shown(self.partner)}; "
                f"the evaluation's partners are: {', '.join(allowed)}"
            )

    @property
    def config(self) -> Mapping[str, Any]:
        """All settings; the partner is its name and the checksums of its files."""
        return as_json(
            {
                "layout": self.layout.fingerprint,
                "partner": self.partner,
                "partner_sha256": names.checksums(self.partner),
                "training": asdict(self.training),
                "shaping": by_label(self.rewards.adaptive_shaping),
                "shaping_end": self.rewards.adaptive_shaping_end,
                "members": self.seeds,
                "episodes": self.episodes,
                "seed": self.seed,
            }
        )

    def trainer(self, parents: Path) -> Trainer:
        """Best responses that begin as policies of a population, ready to learn."""
        check_parents(parents, self.training.network)
        partner = names.load(self.partner, self.layout)
        shaping = replace(self.training.shaping, end=self.rewards.adaptive_shaping_end)
        return adaptive_agents(
            self.layout,
            self.rewards,
            replace(self.training, shaping=shaping),
            # A pool made by `group_agents` refuses evaluation partners; this one is of one alone.
            PartnerPool((AgentGroup(partner),), identity=PartnerIdentity.NONE),
            self.seeds,
            self.seed,
            pools.PopulationFiles(parents, self.layout).parents(self.seeds),
        )

    def run(self, context: JobContext) -> None:
        """Train, or resume training; then measure, and keep the best response as what it is."""
        path = context.directory / FILE
        if not path.exists():
            self._train(context, path)
        scores = self._scores(load(path, self.layout))
        content = {
            "partner": self.partner,
            "scores": {str(seat): scores[seat].tolist() for seat in range(SEATS)},
        }
        write_whole(context.directory / RESULT, (json.dumps(content) + "\n").encode())

    def _train(self, context: JobContext, path: Path) -> None:
        directory = context.directory / _TRAINING
        # What `cochef status` and the progress of a training read.
        run_config = {**self.config, "population": KIND}
        trainer = self.trainer(context.inputs["parents"])
        runs.train(trainer, directory, run_config, context.writers, log=context.log)
        returns = runs.mean_of_last(directory, "task_return", WINDOW)
        best = int(returns.argmax())
        card, tensors = storage.read(Path(f"{agent_path(directory, best)}{storage.SUFFIX}"))
        metadata = {
            "partner": self.partner,
            "partner_sha256": names.checksums(self.partner),
            "returns_in_training": np.round(returns, 2).tolist(),
            "member": best,
        }
        storage.save(path, replace(card, kind=KIND, metadata=metadata), tensors)
        # The run's own files are agents like any others, which somebody could take for such.
        shutil.rmtree(directory)

    def _scores(self, agent: TrainedAgent) -> dict[int, np.ndarray]:
        """The scores of all episodes, by the seat of the best response."""
        found = crossplay.evaluate(
            self.layout,
            [Player(KIND, KIND, agent=agent)],
            [Player(self.partner, self.partner)],
            episodes=self.episodes,
            seed=self.seed,
        )
        return {seat: found["score"][found["seat"] == seat] for seat in range(SEATS)}


def load(path: Path, layout: Layout) -> TrainedAgent:
    """The best response in a file, for measuring; no other loader takes it."""
    card, tensors = storage.read_kind(path, KIND, layout, f"it takes a {KIND}")
    return actor_critic.build(card, tensors, layout, path, greedy=False)


@dataclass(frozen=True)
class ReturnBound:
    """What a best response gets with a partner: the scores of its episodes, by seat."""

    partner: str
    scores: Mapping[int, np.ndarray]

    @property
    def mean(self) -> float:
        """The mean over both seats."""
        return float(np.mean([self.scores[seat].mean() for seat in range(SEATS)]))

    @property
    def error(self) -> float:
        """The standard error of the mean, over episodes."""
        variances = [
            self.scores[seat].var(ddof=1) / len(self.scores[seat]) for seat in range(SEATS)
        ]
        return float(np.sqrt(sum(variances))) / SEATS

    @property
    def episodes(self) -> int:
        """How many episodes there are."""
        return sum(len(self.scores[seat]) for seat in range(SEATS))


def parse(content: Mapping[str, Any]) -> ReturnBound:
    """The bound in the content of a result's file."""
    scores = {seat: np.array(content["scores"][str(seat)], float) for seat in range(SEATS)}
    return ReturnBound(str(content["partner"]), scores)
