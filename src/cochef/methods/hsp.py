"""Hidden-utility self-play, first stage: biased policies pi_w, each with a partner pi_a that gets used to it.

pi_w maximises w . (its own events) + w_order * (the task's reward), with weights drawn from the sets C_j (section 5.2
of the paper); pi_a maximises the task's reward. Which seat pi_w has is drawn for every episode.
"""

from enum import Enum

import jax
import jax.numpy as jnp
import numpy as np

from cochef.kitchen.constants import Event
from cochef.kitchen.layout import Layout
from cochef.learning.collect import Seating
from cochef.learning.config import TrainingConfig
from cochef.learning.environments import KitchenEnvironment
from cochef.learning.reward_config import ORDER, RewardConfig, as_vector
from cochef.learning.trainer import Recipe, Trainer, Utility
from cochef.methods import selfplay

RECIPE = Recipe(Seating.PAIR)
BIASED, PARTNER = range(2)  # the roles


class BiasedShaping(Enum):
    """What helps the biased policy to learn; without a word its partner has a helping reward that fades."""

    NONE = "none"
    """Nothing, as the paper says."""
    ANNEALED = "annealed"
    """The same as its partner."""
    CONSTANT = "constant"
    """A helping reward that does not fade, for both, as in the released code."""


def draw(rewards: RewardConfig, members: int, seed: int) -> np.ndarray:
    """Hidden rewards of the members: weights of the events, then of the task. A row follows from seed and number."""
    weights = np.zeros((members, len(Event) + 1), np.float32)
    columns = {event.label: int(event) for event in Event} | {ORDER: len(Event)}
    for member in range(members):
        generator = np.random.default_rng([seed, member])
        for name in sorted(rewards.hidden):
            weights[member, columns[name]] = generator.choice(rewards.hidden[name])
    return weights


def population(
    layout: Layout,
    rewards: RewardConfig,
    config: TrainingConfig,
    members: int,
    seed: int,
    shaping: BiasedShaping = BiasedShaping.NONE,
) -> Trainer:
    """Biased policies and their partners."""
    weights = jnp.asarray(draw(rewards, members, seed))
    task = selfplay.task(rewards, members)
    helping = jnp.asarray(as_vector(rewards.shaping))
    constant = helping if shaping is BiasedShaping.CONSTANT else 0.0
    annealed = helping if shaping is BiasedShaping.ANNEALED else 0.0
    utility = Utility(
        events=task.events.at[:, BIASED].set(weights[:, :-1]) + constant,
        order=task.order.at[:, BIASED].set(weights[:, -1]),
        shaping=task.shaping.at[:, BIASED].set(annealed) * (shaping is not BiasedShaping.CONSTANT),
    )
    return Trainer(KitchenEnvironment(layout, config.network.eyes), RECIPE, config, utility, jax.random.key(seed))
