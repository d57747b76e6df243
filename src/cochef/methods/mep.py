"""Maximum entropy population: adapts to policies that do what the others would not do.

Maximum entropy population-based training. Its policies learn together, each in self-play, with a
bonus for population entropy. The second stage is that of all methods, without MEP's prioritised
sampling of partners, which the HSP paper found not helpful (appendix D.2).
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from cochef.agents.networks import Network
from cochef.learning import axes
from cochef.learning.collect import Rollout
from cochef.learning.population import Algorithm
from cochef.learning.ppo import chosen_log_probs
from cochef.methods.parts.method import Method, PopulationSpec, doubled, first_line
from cochef.methods.parts.pools import all_levels


@dataclass(frozen=True)
class PopulationEntropy:
    """The reward alpha * -log(1/N sum_j pi_j(a | s)) (Zhao et al. 2023, eq. 5).

    pi_j are the N policies of the population; averaged over them, the reward in a state is alpha
    times the entropy of their mean policy. An action that few of them would take is worth most.
    """

    weight: float = 0.01
    """alpha, the HSP paper's population entropy coefficient."""

    def __call__(
        self, population: Network, rollout: Rollout
    ) -> Float[Array, "time members 2 kitchens"]:
        """The bonus of every action in a rollout; both roles get it, as one policy plays both."""
        observations = axes.flatten_steps(rollout.observations[:-1])
        actions = axes.flatten_steps(rollout.actions)

        def probability(policy: Network) -> Float[Array, " steps"]:
            # The carry is empty: policies of a first stage are feed-forward (section 5.3, HSP).
            logits, _ = policy.step(observations, policy.initial_carry(len(observations)))
            return jnp.exp(chosen_log_probs(jax.nn.log_softmax(logits), actions))

        # One policy after the other: all at once would take N times the memory.
        mean_probability = jax.lax.map(probability, population).mean(axis=0)
        return -self.weight * axes.split_steps(jnp.log(mean_probability), rollout.actions)


POPULATION = PopulationSpec("mep", Algorithm(intrinsic_reward=PopulationEntropy()))

METHOD = Method(
    name="mep",
    title="Maximum entropy population-based training",
    citation="Zhao et al. 2023",
    summary=first_line(__doc__),
    populations=(POPULATION,),
    pool=all_levels,
    variants={"double": doubled},
)
