"""Advantages, and values on a scale that fits their targets."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from cochef.pytree import pytree

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

    Nothing counts beyond the end of an episode.
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

    `weight` corrects their bias towards 0 at the beginning; it approaches 1.
    """

    mean: Float[Array, "*batch"]
    square: Float[Array, "*batch"]
    weight: Float[Array, "*batch"]

    def update(self, targets: Float[Array, "..."], decay: float) -> "ValueNormalizer":
        """After more targets."""

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
    """No targets seen yet."""
    return ValueNormalizer(jnp.zeros(()), jnp.zeros(()), jnp.zeros(()))
