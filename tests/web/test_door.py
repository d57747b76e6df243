"""The door: which connections of which address are let in."""

import pytest

from cochef.web.door import Door, DoorLimits

LIMITS = DoorLimits()


class Hand:
    """A clock that is set by hand."""

    seconds = 0.0

    def __call__(self):
        return self.seconds


@pytest.fixture
def clock():
    return Hand()


@pytest.fixture
def door(clock):
    return Door(LIMITS, proxies=("10.0.0.9",), clock=clock)


def knock(door, address, times):
    """How many connections of an address are let in; they stay open."""
    return sum(door.enter(address) for _ in range(times))


def come_and_go(door, address, times):
    """How many connections of an address are let in; each has closed before the next one comes."""
    let_in = 0
    for _ in range(times):
        if door.enter(address):
            let_in += 1
            door.leave(address)
    return let_in


def test_an_address_has_at_most_256_connections_open(door):
    assert knock(door, "10.0.0.1", 400) == 256
    assert door.open == 256
    door.leave("10.0.0.1")
    assert knock(door, "10.0.0.1", 2) == 1


def test_an_address_that_has_all_its_connections_keeps_nobody_else_out(door):
    knock(door, "10.0.0.1", 400)
    assert knock(door, "10.0.0.2", 1) == 1


def test_an_address_opens_300_connections_at_once_and_then_30_a_second(door, clock):
    assert come_and_go(door, "10.0.0.1", 1_000) == 300
    for _ in range(3):
        clock.seconds += 1.0
        assert come_and_go(door, "10.0.0.1", 1_000) == 30
    clock.seconds += 3_600.0
    assert come_and_go(door, "10.0.0.1", 1_000) == 300
    assert come_and_go(door, "10.0.0.2", 1_000) == 300


def test_a_connection_that_is_refused_at_a_full_address_costs_it_no_new_one(door):
    knock(door, "10.0.0.1", 10_000)
    for _ in range(256):
        door.leave("10.0.0.1")
    assert knock(door, "10.0.0.1", 1_000) == 300 - 256


def test_all_addresses_together_have_at_most_1000_connections(door):
    for number in range(10):
        knock(door, f"10.0.1.{number}", 100)
    assert door.open == 1_000
    assert knock(door, "10.0.0.1", 1) == knock(door, "10.0.0.9", 1) == 0
    door.leave("10.0.1.0")
    assert knock(door, "10.0.0.1", 1) == 1


def test_a_trusted_proxy_brings_as_many_connections_as_the_server_takes(door):
    assert knock(door, "10.0.0.9", 2_000) == 1_000
