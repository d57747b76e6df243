"""Hidden-utility self-play: adapts to biased policies, each with a hidden reward of its own.

First stage: pi_w maximises w . (its own events) + w_order * (task reward), with weights drawn from
the sets C_j (section 5.2 of the paper). It plays with pi_a, a second learner that maximises the
task reward and so adapts to it. Which seat pi_w has is drawn for every episode. The filter keeps
the pi_w that behave differently (section 5.3), and some of MEP's policies join them.
"""

from collections.abc import Mapping

import jax.numpy as jnp
import numpy as np

from cochef.kitchen.events import Event
from cochef.learning.reward_config import ORDER, RewardConfig, as_vector
from cochef.learning.roles import TWO_LEARNERS
from cochef.learning.trainer import Algorithm, RewardWeights
from cochef.methods import mep
from cochef.methods.parts.method import (
    Method,
    Options,
    PopulationSpec,
    Size,
    Sizes,
    doubled,
    first_line,
    task_weights,
)
from cochef.methods.parts.pools import PoolChoice, TrainedPopulation, most_diverse, skill_levels

BIASED = 0  # the role of pi_w; role 1 is pi_a's

# What shapes pi_w while it learns. The paper gives it nothing, and pi_a an annealed shaped reward;
# the released code gives both a constant one.
BIASED_SHAPING = ("none", "annealed", "constant")

WEIGHT_NAMES = (*(event.label for event in Event), ORDER)


def draw(rewards: RewardConfig, members: int, seed: int) -> np.ndarray:
    """Hidden rewards [members, events and task]: a row follows from seed and member alone."""
    weights = np.zeros((members, len(WEIGHT_NAMES)), np.float32)
    columns = {name: number for number, name in enumerate(WEIGHT_NAMES)}
    for member in range(members):
        generator = np.random.default_rng([seed, member])
        for name in sorted(rewards.hidden):
            weights[member, columns[name]] = generator.choice(rewards.hidden[name])
    return weights


def hidden_rewards(rewards: RewardConfig, members: int, seed: int) -> list[dict[str, float]]:
    """The hidden rewards by name, without events of no weight."""
    tables = []
    for row in draw(rewards, members, seed):
        named = zip(WEIGHT_NAMES, row.tolist(), strict=True)
        tables.append({name: weight for name, weight in named if weight or name == ORDER})
    return tables


def weights(rewards: RewardConfig, members: int, seed: int, options: Options) -> RewardWeights:
    """The hidden reward for pi_w, the task reward for pi_a, and shaping as the option says."""
    hidden = jnp.asarray(draw(rewards, members, seed))
    task = task_weights(rewards, members, seed, options)
    shaping = jnp.asarray(as_vector(rewards.shaping))
    biased_shaping = options["biased_shaping"]
    constant = shaping if biased_shaping == "constant" else 0.0
    annealed = shaping if biased_shaping == "annealed" else 0.0
    return RewardWeights(
        events=task.events.at[:, BIASED].set(hidden[:, :-1]) + constant,
        task=task.task.at[:, BIASED].set(hidden[:, -1]),
        shaping=task.shaping.at[:, BIASED].set(annealed) * (biased_shaping != "constant"),
    )


def pool(populations: Mapping[str, TrainedPopulation], sizes: Sizes, seed: int) -> list[PoolChoice]:
    """The biased policies that behave differently, and three levels of some of MEP's policies."""
    chosen = most_diverse("biased", populations["biased"], sizes["kept"], seed)
    if sizes["mep"]:
        chosen += skill_levels("mep", populations["mep"], sizes["mep"])
    return chosen


def without_filter(sizes: Sizes) -> Sizes:
    """All biased policies."""
    return {**sizes, "kept": None}


def without_mep(sizes: Sizes) -> Sizes:
    """All biased policies and nobody else."""
    return {**sizes, "kept": None, "mep": 0}


def doubled_pool(sizes: Sizes) -> Sizes:
    """Twice as many of each, but no more biased policies than there are."""
    twice = doubled(sizes)
    biased = sizes["biased"]
    kept = twice["kept"]
    assert biased is not None
    return {**twice, "biased": biased, "kept": None if kept is None else min(kept, biased)}


POPULATION = PopulationSpec(
    name="biased",
    algorithm=Algorithm(TWO_LEARNERS),
    size=Size("biased", full=36, half=18, tiny=4),
    weights=weights,
    options={"biased_shaping": BIASED_SHAPING},
    hidden_rewards=hidden_rewards,
)

METHOD = Method(
    name="hsp",
    title="Hidden-utility self-play",
    citation="Yu et al. 2023",
    summary=first_line(__doc__),
    populations=(POPULATION, mep.POPULATION),
    pool=pool,
    pool_sizes=(Size("kept", full=18, half=9, tiny=3), Size("mep", full=6, half=3, tiny=1)),
    limits={"kept": "biased", "mep": "policies"},
    variants={"no-filter": without_filter, "no-mep": without_mep, "double": doubled_pool},
)
