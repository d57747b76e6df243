"""What a step was worth: advantages, and values on a scale that fits them."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from cochef.pytree import pytree

_LEAST_VARIANCE = 1e-2


def advantages(
    rewards: Float[Array, "time *rows"],
    values: Float[Array, "time_and_last *rows"],
    ends: Bool[Array, "time *rows"],
    discount: float,
    trace: float,
) -> Float[Array, "time *rows"]:
    """Generalised advantage estimates (Schulman et al. 2016); nothing counts beyond the end of an episode."""
    going_on = 1.0 - ends

    def back(later: Array, now: tuple[Array, ...]) -> tuple[Array, Array]:
        reward, value, value_next, goes_on = now
        surprise = reward + discount * goes_on * value_next - value
        advantage = surprise + discount * trace * goes_on * later
        return advantage, advantage

    steps = (rewards, values[:-1], values[1:], going_on)
    _, found = jax.lax.scan(back, jnp.zeros_like(rewards[0]), steps, reverse=True)
    return found


@pytree
class ValueNormalizer:
    """Running mean and mean square of the targets of a critic, with the weight they rest on (1 in the long run)."""

    mean: Float[Array, "*batch"]
    square: Float[Array, "*batch"]
    weight: Float[Array, "*batch"]

    def seen(self, targets: Float[Array, "..."], decay: float) -> "ValueNormalizer":
        """After more targets."""
        blend = lambda old, new: decay * old + (1 - decay) * new  # noqa: E731
        return ValueNormalizer(
            blend(self.mean, targets.mean()), blend(self.square, (targets**2).mean()), blend(self.weight, 1.0)
        )

    def normalise(self, values: Float[Array, "*rows"]) -> Float[Array, "*rows"]:
        """In the critic's units."""
        mean, deviation = self._scale()
        return (values - mean) / deviation

    def denormalise(self, values: Float[Array, "*rows"]) -> Float[Array, "*rows"]:
        """In units of reward."""
        mean, deviation = self._scale()
        return values * deviation + mean

    def _scale(self) -> tuple[Array, Array]:
        weight = jnp.maximum(self.weight, 1e-5)
        mean, square = self.mean / weight, self.square / weight
        return mean, jnp.sqrt(jnp.maximum(square - mean**2, _LEAST_VARIANCE))


def new_value_normalizer() -> ValueNormalizer:
    """Nothing seen yet."""
    return ValueNormalizer(jnp.zeros(()), jnp.zeros(()), jnp.zeros(()))
