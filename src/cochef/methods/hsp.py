"""Hidden-utility self-play: adapts to biased policies, each with a hidden reward of its own.

First stage: pi_w maximises the hidden reward R_w = w . (its own events) + w_order * (task reward),
with weights drawn from the sets C_j (section 5.2 of the paper, appendix E.2). It plays with pi_a, a
second learner that maximises the task reward R_t and so adapts to it (section 5.1). Which seat pi_w
has is drawn for every episode. Policy filtering keeps the pi_w that behave differently (section
5.2, algorithm 1), and some of MEP's policies join them: half of the pool (section 5.3).

`weights`, `draw` and `hidden_rewards` are the first stage, `pool` is the pool, and the three
functions after it are variants of the pool. Algorithm 2 as a whole is the graph of jobs in
`experiments/pipeline.py`.
"""

from collections.abc import Mapping

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool

from cochef.kitchen.events import Event
from cochef.learning.population import Algorithm, RewardWeights
from cochef.learning.reward_config import ORDER, RewardConfig, as_vector
from cochef.learning.roles import TWO_LEARNERS
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
from cochef.methods.parts.pools import (
    DrawSeed,
    PoolChoice,
    TrainedPopulation,
    most_diverse,
    skill_levels,
)

# The role of pi_w; role 1 is pi_a's. It is also pi_w's number among the two learners of a member,
# and a pool takes the first learner, so that pi_a never joins one.
BIASED = 0

# The shaped reward of pi_w while it learns. The paper uses none when it trains biased policies
# (appendix E.3), which leaves pi_a open; the authors' code gives both players a constant one. Here
# "none" and "annealed" are about pi_w, and pi_a has an annealed one like every policy with the task
# reward; "constant" is the authors' code, for both.
BIASED_SHAPING = ("none", "annealed", "constant")

_INGREDIENTS = (Event.PICKUP_ONION_FROM_DISPENSER, Event.PICKUP_TOMATO_FROM_DISPENSER)

# The entries of phi, and so of w: the events, and last the order reward, which is the task reward.
WEIGHT_NAMES = (*(event.label for event in Event), ORDER)


def draw(rewards: RewardConfig, members: int, seed: DrawSeed) -> np.ndarray:
    """Draw w [members, events and order reward]: each w_j uniformly from C_j, 0 without a set.

    A member's row follows from the seed and its number alone. A w of zeros is kept.
    """
    weights = np.zeros((members, len(WEIGHT_NAMES)), np.float32)
    columns = {name: number for number, name in enumerate(WEIGHT_NAMES)}
    for member in range(members):
        generator = np.random.default_rng([*seed, member])
        # Sorted, so that the order in a file of rewards does not change what is drawn.
        for name in sorted(rewards.hidden):
            weights[member, columns[name]] = generator.choice(rewards.hidden[name])
    return weights


def hidden_rewards(rewards: RewardConfig, members: int, seed: DrawSeed) -> list[dict[str, float]]:
    """The hidden rewards by name, without events of no weight.

    The order reward is named with a weight of 0, too: that pi_w does not care about the score.
    """
    tables = []
    for row in draw(rewards, members, seed):
        named = zip(WEIGHT_NAMES, row.tolist(), strict=True)
        tables.append({name: weight for name, weight in named if weight or name == ORDER})
    return tables


def weights(rewards: RewardConfig, members: int, seed: DrawSeed, options: Options) -> RewardWeights:
    """The hidden reward R_w for pi_w, the task reward R_t for pi_a, and shaping by the option."""
    hidden = jnp.asarray(draw(rewards, members, seed))
    task = task_weights(rewards, members, seed, options)
    shaping = jnp.asarray(as_vector(rewards.shaping))
    biased_shaping = options["biased_shaping"]
    constant = shaping if biased_shaping == "constant" else 0.0
    annealed = shaping if biased_shaping == "annealed" else 0.0
    # Only `shaping` is annealed by the trainer; what stays is added to the weights of events.
    return RewardWeights(
        events=task.events.at[:, BIASED].set(hidden[:, :-1]) + constant,
        task=task.task.at[:, BIASED].set(hidden[:, -1]),
        shaping=task.shaping.at[:, BIASED].set(annealed) * (biased_shaping != "constant"),
    )


def begins_as_cook(weights: RewardWeights) -> Bool[Array, "pairs 2"]:
    """pi_a always begins as a policy that cooks; pi_w if orders are all that it could cook for.

    That is, if orders have a weight in its hidden reward and ingredients have none above 0. Such a
    pi_w hardly finds soups and deliveries from scratch. One that is rewarded for ingredients finds
    them by itself; as a cook it would cling to the recipe that the cook knows.
    """
    paid = (weights.events[:, BIASED, jnp.array(_INGREDIENTS)] > 0).any(axis=1)
    biased = (weights.task[:, BIASED] > 0) & ~paid
    return jnp.stack([biased, jnp.ones_like(biased)], axis=1)


def pool(
    populations: Mapping[str, TrainedPopulation], sizes: Sizes, seed: DrawSeed
) -> list[PoolChoice]:
    """The biased policies that the filter keeps, and three levels of the first of MEP's policies.

    18 + 6 x 3 = 36 in the paper (appendix E.1).
    """
    chosen = most_diverse("biased", populations["biased"], sizes["kept"], seed)
    if sizes["mep"]:
        chosen += skill_levels("mep", populations["mep"], sizes["mep"])
    return chosen


def without_filter(sizes: Sizes) -> Sizes:
    """All biased policies, and MEP's: "HSP w.o. Filtering" (section 6.2), 36 + 18 = 54."""
    return {**sizes, "kept": None}


def without_mep(sizes: Sizes) -> Sizes:
    """All biased policies and nobody else: "HSP w.o. MEP" (section 6.2), 36."""
    return {**sizes, "kept": None, "mep": 0}


def doubled_pool(sizes: Sizes) -> Sizes:
    """Twice as many kept policies and MEP policies, but no more biased policies are trained.

    The paper doubles the pools of its baselines only; with its sizes this one keeps all 36 biased
    policies, so that nothing is filtered.
    """
    twice = doubled(sizes)
    biased = sizes["biased"]
    kept = twice["kept"]
    assert biased is not None
    return {**twice, "biased": biased, "kept": None if kept is None else min(kept, biased)}


POPULATION = PopulationSpec(
    name="biased",
    algorithm=Algorithm(TWO_LEARNERS),
    size=Size("biased", full=36, small=24, tiny=4),
    weights=weights,
    options={"biased_shaping": BIASED_SHAPING},
    parents=mep.POPULATION.name,
    begins_as_parent=begins_as_cook,
    transfer_steps=0.8,
    hidden_rewards=hidden_rewards,
)

METHOD = Method(
    name="hsp",
    title="Hidden-utility self-play",
    citation="Yu et al. 2023",
    summary=first_line(__doc__),
    populations=(POPULATION, mep.POPULATION),
    pool=pool,
    parents=mep.POPULATION.name,
    # "kept" is the paper's K. "mep" has the name of a population: where it is 0, none is trained.
    pool_sizes=(Size("kept", full=18, small=12, tiny=3), Size("mep", full=6, small=4, tiny=1)),
    limits={"kept": "biased", "mep": "policies"},
    variants={"no-filter": without_filter, "no-mep": without_mep, "double": doubled_pool},
)
