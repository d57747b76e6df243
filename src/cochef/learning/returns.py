"""Generalised advantage estimation and value normalisation."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from cochef.pytree import pytree

# As in MAPPO: neither rare rewards nor the first targets make the scale of values explode.
_LEAST_VARIANCE = 1e-2
_LEAST_WEIGHT = 1e-5


def estimate_advantages(
    rewards: Float[Array, "time *rows"],
    values: Float[Array, "time_and_last *rows"],
    done: Bool[Array, "time *rows"],
    discount: float,
    gae_lambda: float,
) -> Float[Array, "time *rows"]:
    """Generalised advantage estimation (Schulman et al. 2016).

    `values` has one step more, to bootstrap from where a rollout breaks off. The end of an episode
    is terminal, also at the horizon: agents observe how much time is left.
    """

    def backwards(
        next_advantage: Array, now: tuple[Array, Array, Array, Array]
    ) -> tuple[Array, Array]:
        reward, value, next_value, not_done = now
        td_error = reward + discount * not_done * next_value - value
        advantage = td_error + discount * gae_lambda * not_done * next_advantage
        return advantage, advantage

    steps = (rewards, values[:-1], values[1:], 1.0 - done)
    _, advantages = jax.lax.scan(backwards, jnp.zeros_like(rewards[0]), steps, reverse=True)
    return advantages


@pytree
class ValueNormalizer:
    """Running mean and mean square of a critic's targets (value normalisation of MAPPO).

    `weight` corrects their bias towards 0 at the beginning, as in Adam; it approaches 1.
    """

    mean: Float[Array, "*batch"]
    square: Float[Array, "*batch"]
    weight: Float[Array, "*batch"]

    def update(self, targets: Float[Array, "..."], decay: float) -> "ValueNormalizer":
        """The normalizer after a batch of targets."""

        def blend(old: Array, new: Array | float) -> Array:
            return decay * old + (1 - decay) * new

        return ValueNormalizer(
            blend(self.mean, targets.mean()),
            blend(self.square, (targets**2).mean()),
            blend(self.weight, 1.0),
        )

    def normalize(self, values: Float[Array, "*rows"]) -> Float[Array, "*rows"]:
        """From units of reward to the critic's units."""
        mean, deviation = self._scale()
        return (values - mean) / deviation

    def denormalize(self, values: Float[Array, "*rows"]) -> Float[Array, "*rows"]:
        """From the critic's units to units of reward."""
        mean, deviation = self._scale()
        return values * deviation + mean

    def _scale(self) -> tuple[Array, Array]:
        weight = jnp.maximum(self.weight, _LEAST_WEIGHT)
        mean = self.mean / weight
        square = self.square / weight
        return mean, jnp.sqrt(jnp.maximum(square - mean**2, _LEAST_VARIANCE))


def new_value_normalizer() -> ValueNormalizer:
    """A normalizer that has seen no targets."""
    return ValueNormalizer(jnp.zeros(()), jnp.zeros(()), jnp.zeros(()))
