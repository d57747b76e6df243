"""Limits on how often something may happen: token buckets, one for each key."""

import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

MOST_KEYS = 10_000  # that are remembered; of more, the one that was used longest ago is forgotten
_NETWORK_BITS = 64  # of an IPv6 address: one customer usually has them all

Clock = Callable[[], float]
T = TypeVar("T")


class Remembered(Generic[T]):
    """One object for each key, made when the key is first used."""

    def __init__(self, make: Callable[[], T]) -> None:
        """No key has been seen yet."""
        self._make = make
        self._found: OrderedDict[Hashable, T] = OrderedDict()

    def __contains__(self, key: Hashable) -> bool:
        """Whether a key is remembered."""
        return key in self._found

    def __getitem__(self, key: Hashable) -> T:
        """The object of a key."""
        if key not in self._found:
            if len(self._found) >= MOST_KEYS:
                self._found.popitem(last=False)
            self._found[key] = self._make()
        self._found.move_to_end(key)
        return self._found[key]


class TokenBucket:
    """Fills at `rate` a second up to `burst`; whatever happens takes from it."""

    def __init__(self, rate: float, burst: float, clock: Clock = time.monotonic) -> None:
        """The bucket is full."""
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._left = burst
        self._filled = clock()

    @property
    def left(self) -> float:
        """How much may happen now."""
        now = self._clock()
        self._left = min(self._burst, self._left + (now - self._filled) * self._rate)
        self._filled = now
        return self._left

    def take(self, amount: int = 1) -> bool:
        """Take so much; False, and nothing is taken, where less is left."""
        if self.left < amount:
            return False
        self._left -= amount
        return True


class Throttle:
    """A token bucket for each key, such as an address."""

    def __init__(self, rate: float, burst: float, clock: Clock = time.monotonic) -> None:
        """No key has been seen yet."""
        self._buckets = Remembered(lambda: TokenBucket(rate, burst, clock))

    def take(self, key: Hashable) -> bool:
        """Count one more of a key; False where there were too many of late."""
        return self._buckets[key].take()

    def is_empty(self, key: Hashable) -> bool:
        """Whether there were too many of a key of late; counts nothing."""
        return key in self._buckets and self._buckets[key].left < 1


def network_of(host: str | None) -> str:
    """The address by which a client is counted; of IPv6 its network, which one client has whole."""
    try:
        address = ipaddress.ip_address(host or "")
    except ValueError:
        return host or ""
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((address, _NETWORK_BITS), strict=False))
