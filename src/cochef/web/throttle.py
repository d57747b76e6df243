"""Limits on how often something may happen: token buckets, one for each key."""

import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable

MOST_KEYS = 10_000  # of a throttle; of more, the one that was used longest ago is forgotten
_NETWORK_BITS = 64  # of an IPv6 address: one customer usually has them all

Clock = Callable[[], float]


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
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._buckets: OrderedDict[Hashable, TokenBucket] = OrderedDict()

    def take(self, key: Hashable) -> bool:
        """Count one more of a key; False where there were too many of late."""
        return self._bucket(key).take()

    def is_empty(self, key: Hashable) -> bool:
        """Whether there were too many of a key of late; counts nothing."""
        return key in self._buckets and self._buckets[key].left < 1

    def _bucket(self, key: Hashable) -> TokenBucket:
        if key not in self._buckets:
            if len(self._buckets) >= MOST_KEYS:
                self._buckets.popitem(last=False)
            self._buckets[key] = TokenBucket(self._rate, self._burst, self._clock)
        self._buckets.move_to_end(key)
        return self._buckets[key]


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
