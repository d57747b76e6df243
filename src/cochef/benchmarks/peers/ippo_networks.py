"""The networks of JaxMARL's IPPO, feed-forward and recurrent."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Key, Shaped

IppoParams = Any  # a tree of arrays
IppoCarry = Any  # what a recurrent network keeps from step to step, rows first; else empty

_HIDDEN = 64  # of the feed-forward network
_RECURRENT = 128
_FILTERS = ((128, 1), (128, 1), (8, 1), (16, 3), (32, 3), (32, 3))  # with their sizes


@dataclass(frozen=True)
class IppoNetwork:
    """How parameters begin, and how observations become the logits of actions and values.

    `apply` takes the observations of some steps, and where episodes start.
    """

    init: Callable[[Key[Array, ""], Shaped[Array, "rows *observation"]], IppoParams]
    initial_carry: Callable[[int], IppoCarry]
    apply: Callable[
        [IppoParams, IppoCarry, Shaped[Array, "T rows *observation"], Bool[Array, "T rows"]],
        tuple[IppoCarry, Float[Array, "T rows actions"], Float[Array, "T rows"]],
    ]
    is_recurrent: bool


def feed_forward(actions: int) -> IppoNetwork:
    """An actor and a critic apart on flattened planes; orthogonal weights, no bias at first."""
    linen = importlib.import_module("flax.linen")

    def layers(outputs: int, last_scale: float) -> Any:  # noqa: ANN401
        first = _dense(_HIDDEN, np.sqrt(2))
        second = _dense(_HIDDEN, np.sqrt(2))
        last = _dense(outputs, last_scale)
        return linen.Sequential([first, linen.tanh, second, linen.tanh, last])

    actor = layers(actions, 0.01)
    critic = layers(1, 1.0)

    def init(key: Key[Array, ""], observations: Shaped[Array, "rows *observation"]) -> IppoParams:
        key_actor, key_critic = jax.random.split(key)
        flat = observations.reshape(len(observations), -1)
        return actor.init(key_actor, flat), critic.init(key_critic, flat)

    def initial_carry(_: int) -> IppoCarry:
        return ()

    def apply(
        params: IppoParams,
        carry: IppoCarry,
        observations: Shaped[Array, "T rows *observation"],
        _: Bool[Array, "T rows"],
    ) -> tuple[IppoCarry, Array, Array]:
        actor_params, critic_params = params
        flat = observations.reshape(*observations.shape[:2], -1)
        values = critic.apply(critic_params, flat)[..., 0]
        return carry, actor.apply(actor_params, flat), values

    return IppoNetwork(init, initial_carry, apply, is_recurrent=False)


def recurrent(actions: int) -> IppoNetwork:
    """Convolutions, a GRU of 128, and an actor and a critic of 128 units on top of it."""
    linen = importlib.import_module("flax.linen")
    convolutions: list[Any] = []
    for features, size in _FILTERS:
        scale = jax.nn.initializers.orthogonal(np.sqrt(2))
        convolutions += [linen.Conv(features, (size, size), kernel_init=scale), linen.relu]
    convolved = linen.Sequential(convolutions)
    embed = linen.Sequential([_dense(_RECURRENT, np.sqrt(2)), linen.relu, linen.LayerNorm()])
    cell = linen.GRUCell(_RECURRENT)
    actor = linen.Sequential([_dense(_RECURRENT, 2.0), linen.relu, _dense(actions, 0.01)])
    critic = linen.Sequential([_dense(_RECURRENT, 2.0), linen.relu, _dense(1, 1.0)])

    def init(key: Key[Array, ""], observations: Shaped[Array, "rows *observation"]) -> IppoParams:
        keys = jax.random.split(key, 5)
        seen, filter_params = convolved.init_with_output(keys[0], observations.astype(jnp.float32))
        flat = seen.reshape(len(seen), -1)
        embedded, embed_params = embed.init_with_output(keys[1], flat)
        cell_params = cell.init(keys[2], initial_carry(len(embedded)), embedded)
        heads = (actor.init(keys[3], embedded), critic.init(keys[4], embedded))
        return filter_params, embed_params, cell_params, *heads

    def initial_carry(rows: int) -> Float[Array, "rows carry"]:
        return jnp.zeros((rows, _RECURRENT))

    def apply(
        params: IppoParams,
        carry: IppoCarry,
        observations: Shaped[Array, "T rows *observation"],
        episode_start: Bool[Array, "T rows"],
    ) -> tuple[IppoCarry, Array, Array]:
        filter_params, embed_params, cell_params, actor_params, critic_params = params
        seen = convolved.apply(filter_params, observations.astype(jnp.float32))
        flat = seen.reshape(*observations.shape[:2], -1)
        embedded = embed.apply(embed_params, flat)

        def one(carry: Array, now: tuple[Array, Array]) -> tuple[Array, Array]:
            one_embedded, starts = now
            carry = jnp.where(starts[:, None], 0.0, carry)
            return cell.apply(cell_params, carry, one_embedded)

        carry, hidden = jax.lax.scan(one, carry, (embedded, episode_start))
        values = critic.apply(critic_params, hidden)[..., 0]
        return carry, actor.apply(actor_params, hidden), values

    return IppoNetwork(init, initial_carry, apply, is_recurrent=True)


def _dense(size: int, scale: float) -> Any:  # noqa: ANN401
    linen = importlib.import_module("flax.linen")
    return linen.Dense(size, kernel_init=jax.nn.initializers.orthogonal(scale))
