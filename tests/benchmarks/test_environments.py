import pytest

from cochef.benchmarks.environments import InterfaceComparison, InterfaceRates, compare
from cochef.cli.bench_tables import interfaces_table
from cochef.errors import InputError
from cochef.kitchen import layouts


def _measure(rounds):
    return compare(
        layout=layouts.get("cramped_room"),
        partner="stay",
        kitchens=3,
        rounds=rounds,
        seconds=0.0,
        python=None,
        log=print,
        observations={"compact": "compact"},
    )


def test_every_interface_is_measured_once_a_round():
    measured = _measure(rounds=2)
    assert [(entry.interface, entry.kitchens) for entry in measured.entries] == [
        ("Gymnasium", 1),
        ("PettingZoo", 1),
        ("Gymnasium, vector", 3),
        ("JaxMARL signature, vmap", 3),
    ]
    assert all(len(entry.rates) == 2 and min(entry.rates) > 0 for entry in measured.entries)
    assert measured.to_json()["entries"][0]["times_reference"] is None


def test_ratios_are_of_rates_of_the_same_round():
    own = InterfaceRates("Gymnasium", "compact", "stay", 1, (10.0, 40.0, 90.0))
    peer = InterfaceRates("overcooked_ai", "26 planes", "", 1, (10.0, 20.0, 30.0))
    comparison = InterfaceComparison("cramped_room", (own, peer))
    assert comparison.times_reference(own) == 2.0
    assert interfaces_table(comparison).row_count == 2


def test_no_rounds_are_refused():
    with pytest.raises(InputError, match="rounds is 0; it takes a whole number from 1"):
        _measure(rounds=0)
