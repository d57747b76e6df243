"""Recurrent layers, with gradients that are written out: the GRU and the minGRU."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key

from cochef.agents.layers import Linear

_FIRST_GAIN = 0.01  # of a minGRU's carry
_KEEP_BIAS = (1.0, 5.0)  # of a minGRU's gates: carries last from 4 to 150 steps at first


class Gru(eqx.Module):
    """A gated recurrent unit."""

    from_input: Linear
    from_carry: Linear

    def __init__(self, inputs: int, width: int, key: Key[Array, ""]) -> None:
        """Initialise the weights."""
        key_input, key_carry = jax.random.split(key)
        self.from_input = Linear(inputs, 3 * width, 1.0, key_input)
        self.from_carry = Linear(width, 3 * width, 1.0, key_carry)

    def __call__(
        self, input_gates: Float[Array, "*batch gates"], carry: Float[Array, "*batch width"]
    ) -> Float[Array, "*batch width"]:
        """The next carry; the input's share in the gates comes from `from_input`."""
        return _gru_cell(input_gates, self.from_carry(carry), carry)[0]

    def unroll(
        self,
        input_gates: Float[Array, "time rows gates"],
        episode_start: Bool[Array, "time rows"],
        carry: Float[Array, "rows width"],
    ) -> Float[Array, "time rows width"]:
        """The carry after each step; it is reset to 0 before each step that starts an episode."""
        weights = (self.from_carry.weight, self.from_carry.bias)
        return _unroll(*weights, input_gates, episode_start, carry)


class _GruParts(NamedTuple):
    """The parts of a GRU's step that its gradient needs."""

    reset: Array
    keep: Array
    candidate: Array
    new: Array  # the carry's share in the candidate


class _Residuals(NamedTuple):
    """What the forward pass of an unrolled GRU keeps for the backward pass."""

    weight: Array
    episode_start: Array
    carry: Array
    after: Array
    parts: _GruParts


def _gru_cell(input_gates: Array, carry_gates: Array, carry: Array) -> tuple[Array, _GruParts]:
    """The next carry, by the input's and the carry's share in the gates."""
    reset_in, update_in, new_in = jnp.split(input_gates, 3, -1)
    reset, update, new = jnp.split(carry_gates, 3, -1)
    reset = jax.nn.sigmoid(reset_in + reset)
    keep = jax.nn.sigmoid(update_in + update)
    candidate = jnp.tanh(new_in + reset * new)
    parts = _GruParts(reset, keep, candidate, new)
    return keep * carry + (1 - keep) * candidate, parts


def carry_before(
    carry: Float[Array, "rows width"],
    after: Float[Array, "time rows width"],
    episode_start: Bool[Array, "time rows"],
) -> Float[Array, "time rows width"]:
    """The carry before each step, by the initial one and those after each step."""
    earlier = jnp.concatenate([carry[None], after[:-1]])
    return jnp.where(episode_start[..., None], 0.0, earlier)


# The gradient is written out below: JAX's own accumulates the weights' gradient step by step, and
# one product over all steps makes an update a fifth faster.
@jax.custom_vjp
def _unroll(
    weight: Array, bias: Array, input_gates: Array, episode_start: Array, carry: Array
) -> Array:
    """The carry after each step."""
    return _forward(weight, bias, input_gates, episode_start, carry)[0]


def _forward(
    weight: Array, bias: Array, input_gates: Array, episode_start: Array, carry: Array
) -> tuple[Array, _Residuals]:
    def step(carry: Array, now: tuple[Array, Array]) -> tuple[Array, tuple[Array, _GruParts]]:
        gates, start = now
        before = jnp.where(start[:, None], 0.0, carry)
        after, parts = _gru_cell(gates, before @ weight + bias, before)
        return after, (after, parts)

    _, (after, parts) = jax.lax.scan(step, carry, (input_gates, episode_start))
    return after, _Residuals(weight, episode_start, carry, after, parts)


def _backward(
    residuals: _Residuals, gradient: Array
) -> tuple[Array, Array, Array, None, Array]:  # one for each argument of `_unroll`
    """Only the carry's gradient goes step by step; gates and weights follow from it at once."""
    weight, episode_start, carry, after, parts = residuals
    before = carry_before(carry, after, episode_start)
    # Derivatives of the next carry by each gate's sum.
    by_new = (1 - parts.keep) * (1 - parts.candidate**2)
    by_update = (before - parts.candidate) * parts.keep * (1 - parts.keep)
    by_reset = by_new * parts.new * parts.reset * (1 - parts.reset)
    by_carry_gates = jnp.concatenate([by_reset, by_update, by_new * parts.reset], axis=-1)

    def step(later: Array, now: tuple[Array, ...]) -> tuple[Array, Array]:
        gradient, keep, by_carry_gates, start = now
        total = gradient + later
        earlier = total * keep + (jnp.tile(total, 3) * by_carry_gates) @ weight.T
        return jnp.where(start[:, None], 0.0, earlier), total

    steps = (gradient, parts.keep, by_carry_gates, episode_start)
    first, total = jax.lax.scan(step, jnp.zeros_like(carry), steps, reverse=True)
    carry_gates = jnp.tile(total, 3) * by_carry_gates
    input_gates = jnp.concatenate([total * by_reset, total * by_update, total * by_new], axis=-1)
    weights = jnp.einsum("trm,trg->mg", before, carry_gates)
    return weights, carry_gates.sum(axis=(0, 1)), input_gates, None, first


_unroll.defvjp(_forward, _backward)


class MinGru(eqx.Module):
    """A recurrent layer whose gates see the input alone (Feng et al. 2024), as a residual branch.

    All matrix products are outside the loop over time, which is left with a multiplication and an
    addition. The carry is added to the signal with a gain that starts small: a feed-forward network
    that gets such a layer acts as before, and learns to use its carry from there.
    """

    from_input: Linear
    gain: Float[Array, " width"]

    def __init__(self, width: int, key: Key[Array, ""]) -> None:
        """Initialise the weights; by the gates' bias some units keep for long, others do not."""
        layer = Linear(width, 2 * width, 1.0, key)
        bias = jnp.concatenate([jnp.linspace(*_KEEP_BIAS, width), jnp.zeros(width)])
        self.from_input = eqx.tree_at(lambda layer: layer.bias, layer, bias)
        self.gain = jnp.full(width, _FIRST_GAIN)

    def __call__(
        self, signal: Float[Array, "*batch width"], carry: Float[Array, "*batch width"]
    ) -> tuple[Float[Array, "*batch width"], Float[Array, "*batch width"]]:
        """The signal with the carry's share, and the next carry."""
        keep, new = self._gates(signal)
        carry = keep * carry + new
        return signal + self.gain * carry, carry

    def unroll(
        self,
        signal: Float[Array, "time rows width"],
        episode_start: Bool[Array, "time rows"],
        carry: Float[Array, "rows width"],
    ) -> tuple[Float[Array, "time rows width"], Float[Array, "time rows width"]]:
        """The signals with the carry's share, and the carry after each step."""
        keep, new = self._gates(signal)
        after = linear_recurrence(jnp.where(episode_start[..., None], 0.0, keep), new, carry)
        return signal + self.gain * after, after

    def _gates(self, signal: Float[Array, "*batch width"]) -> tuple[Array, Array]:
        """How much of the carry is kept, and what is added to it."""
        keep, candidate = jnp.split(self.from_input(signal), 2, axis=-1)
        keep = jax.nn.sigmoid(keep)
        return keep, (1 - keep) * candidate


@jax.custom_vjp
def linear_recurrence(keep: Array, new: Array, first: Array) -> Array:
    """h[t] = keep[t] * h[t-1] + new[t] along the first axis; its gradient runs backwards."""
    return _recur(keep, new, first)


def _recur(keep: Array, new: Array, first: Array, *, reverse: bool = False) -> Array:
    def step(before: Array, now: tuple[Array, Array]) -> tuple[Array, Array]:
        after = now[0] * before + now[1]
        return after, after

    return jax.lax.scan(step, first, (keep, new), reverse=reverse)[1]


def _recur_forward(
    keep: Array, new: Array, first: Array
) -> tuple[Array, tuple[Array, Array, Array]]:
    after = _recur(keep, new, first)
    return after, (keep, first, after)


def _recur_backward(
    residuals: tuple[Array, Array, Array], gradient: Array
) -> tuple[Array, Array, Array]:
    keep, first, after = residuals
    # A carry's gradient flows to the step before by how much of it was kept.
    later = jnp.concatenate([keep[1:], jnp.zeros_like(keep[:1])])
    total = _recur(later, gradient, jnp.zeros_like(first), reverse=True)
    before = jnp.concatenate([first[None], after[:-1]])
    return total * before, total, total[0] * keep[0]


linear_recurrence.defvjp(_recur_forward, _recur_backward)
