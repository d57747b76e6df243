"""Random numbers for kitchens in bulk: Threefry-2x32 with 13 rounds, unrolled.

JAX's own generator takes 20 rounds in a loop, which a CPU runs one kitchen at a time; there it
would take most of a rollout's time. 13 rounds are the fewest that pass BigCrush (Salmon et al.,
"Parallel random numbers: as easy as 1, 2, 3", SC 2011). Unrolled, they fuse into the vector
operations around them.
"""

import math

import jax
import jax.numpy as jnp
from jax.extend.random import define_prng_impl
from jaxtyping import Array, Key, UInt, UInt32

_ROTATIONS = (13, 15, 26, 6, 17, 29, 16, 24)
_ROUNDS = 13
_PARITY = 0x1BD11BDA

Word = UInt32[Array, ""]
Words = tuple[UInt32[Array, "*shape"], UInt32[Array, "*shape"]]


def _hash(key: tuple[Word, Word], counter: Words) -> Words:
    """Two random words for each key and counter."""
    schedule = (*key, key[0] ^ key[1] ^ jnp.uint32(_PARITY))
    x, y = counter[0] + schedule[0], counter[1] + schedule[1]
    for done in range(_ROUNDS):
        turn = _ROTATIONS[done % len(_ROTATIONS)]
        x = x + y
        y = ((y << turn) | (y >> (32 - turn))) ^ x
        if done % 4 == 3:
            injection = done // 4 + 1
            x = x + schedule[injection % 3]
            y = y + schedule[(injection + 1) % 3] + jnp.uint32(injection)
    return x, y


def _words(key: UInt32[Array, "2"], counter: UInt32[Array, "*shape"], purpose: int) -> Words:
    return _hash((key[0], key[1]), (counter, jnp.full_like(counter, purpose)))


def _seed(seed: Array) -> UInt32[Array, "2"]:
    return jnp.stack([jnp.uint32(0), seed.astype(jnp.uint32)])


def _split(key: UInt32[Array, "2"], shape: tuple[int, ...]) -> UInt32[Array, "*shape 2"]:
    return jnp.stack(
        _words(key, jnp.arange(math.prod(shape), dtype=jnp.uint32).reshape(shape), 1), axis=-1
    )


def _fold_in(key: UInt32[Array, "2"], data: Array) -> UInt32[Array, "2"]:
    return jnp.stack(_words(key, data.astype(jnp.uint32), 2))


def _random_bits(
    key: UInt32[Array, "2"], bit_width: int, shape: tuple[int, ...]
) -> UInt[Array, "*shape"]:
    low, high = _words(key, jnp.arange(math.prod(shape), dtype=jnp.uint32).reshape(shape), 3)
    if bit_width == 64:
        return (high.astype(jnp.uint64) << 32) | low.astype(jnp.uint64)
    return (low >> (32 - bit_width)).astype(jnp.dtype(f"uint{bit_width}"))


FAST = define_prng_impl(
    key_shape=(2,),
    seed=_seed,
    split=_split,
    random_bits=_random_bits,
    fold_in=_fold_in,  # pyright: ignore[reportArgumentType]  (its stub says int; it gives an array)
    name="threefry2x32_13",
    tag="tf13",
)


def fast(key: Key[Array, ""]) -> Key[Array, ""]:
    """A key of the fast generator that follows from any key."""
    return jax.random.wrap_key_data(jax.random.bits(key, (2,), jnp.uint32), impl=FAST)
