"""Maximum entropy population: adapts to policies that do what the others would not do."""

from collections.abc import Mapping
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from cochef.agents.networks import Network
from cochef.learning import axes
from cochef.learning.collect import Rollout
from cochef.learning.ppo import chosen_log_probs
from cochef.learning.trainer import Algorithm
from cochef.methods.parts.method import Method, PopulationSpec, Sizes, doubled, first_line
from cochef.methods.parts.pools import PoolChoice, TrainedPopulation, skill_levels


@dataclass(frozen=True)
class PopulationEntropy:
    """The reward alpha * -log(1/N sum_j pi_j(a | s)) (Zhao et al. 2023, eq. 5).

    An action that no policy of the population would take is worth most.
    """

    weight: float = 0.01

    def __call__(
        self, population: Network, rollout: Rollout
    ) -> Float[Array, "time members 2 kitchens"]:
        """The reward of every step of a rollout."""
        observations = axes.flatten_steps(rollout.observations[:-1])
        actions = axes.flatten_steps(rollout.actions)

        def probability(policy: Network) -> Float[Array, " steps"]:
            logits, _ = policy.step(observations, policy.initial_carry(len(observations)))
            return jnp.exp(chosen_log_probs(jax.nn.log_softmax(logits), actions))

        # One policy after the other: all at once would need the population's size in memory.
        mean = jax.lax.map(probability, population).mean(axis=0)
        return -self.weight * jnp.log(mean).reshape(rollout.actions.shape)


def pool(populations: Mapping[str, TrainedPopulation], sizes: Sizes, seed: int) -> list[PoolChoice]:
    """All policies at all levels of skill."""
    return skill_levels("mep", populations["mep"])


POPULATION = PopulationSpec("mep", Algorithm(intrinsic_reward=PopulationEntropy()))

METHOD = Method(
    name="mep",
    title="Maximum entropy population",
    citation="Zhao et al. 2023",
    summary=first_line(__doc__),
    populations=(POPULATION,),
    pool=pool,
    variants={"double": doubled},
)
