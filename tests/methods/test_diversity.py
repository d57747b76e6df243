"""The filter that keeps the behaviourally distinct policies."""

import itertools

import numpy as np
import pytest

from cochef.errors import InputError
from cochef.kitchen import layouts
from cochef.methods.parts.method import draw_seed
from cochef.methods.parts.pools import event_diversity, select


def counts(seed, policies=9, events=4):
    return np.random.default_rng(seed).gamma(1.0, 5.0, (policies, events))


def naive_diversity(table, members):
    """ED as in the paper: the sum over i, j in S and events k of c_k |EC_k(i) - EC_k(j)|."""
    total = 0.0
    for i in members:
        for j in members:
            for k in range(table.shape[1]):
                most = max(table[i2, k] for i2 in range(len(table)))
                total += abs(table[i, k] - table[j, k]) / most if most else 0.0
    return total


def naive_selection(table, keep, first):
    chosen = [first]
    while len(chosen) < keep:
        rest = [i for i in range(len(table)) if i not in chosen]
        chosen.append(max(rest, key=lambda i: (round(naive_diversity(table, [*chosen, i]), 9), -i)))
    return chosen


@pytest.mark.parametrize("seed", range(20))
def test_every_choice_is_the_one_of_a_naive_implementation_of_the_papers_algorithm(seed):
    table = counts(seed)
    chosen = select(table, 5, (seed,))
    assert chosen.tolist() == naive_selection(table, 5, int(chosen[0]))
    assert event_diversity(table, chosen) == pytest.approx(naive_diversity(table, chosen))


@pytest.mark.parametrize("seed", range(20))
def test_the_selection_is_at_least_half_as_diverse_as_the_best_of_all_sets(seed):
    table = counts(seed)
    sets = itertools.combinations(range(len(table)), 4)
    best = max(event_diversity(table, np.array(some)) for some in sets)
    assert event_diversity(table, select(table, 4, (seed,))) >= best / 2


def test_the_seed_decides_who_is_first_and_nothing_else_does():
    table = counts(0, policies=36)
    assert np.array_equal(select(table, 18, (7,)), select(table, 18, (7,)))
    assert len({int(select(table, 1, (seed,))[0]) for seed in range(50)}) > 10


def test_the_first_member_differs_between_layouts_at_the_same_seed():
    table = counts(0, policies=36)

    def firsts(name):
        seeds = [draw_seed(layouts.get(name), seed) for seed in range(100)]
        return np.array([select(table, 1, seed)[0] for seed in seeds])

    names = ("asymmetric_advantages", "coordination_ring", "counter_circuit")
    for one, other in itertools.combinations(map(firsts, names), 2):
        assert one[0] != other[0]
        assert (one == other).mean() < 0.1  # a 36th by chance


def test_nobody_is_chosen_twice_and_all_can_be_kept():
    table = counts(1)
    assert sorted(select(table, len(table), (0,))) == list(range(len(table)))


def test_an_event_that_nobody_causes_changes_nothing():
    table = counts(2)
    wider = np.concatenate([table, np.zeros((len(table), 1))], axis=1)
    assert np.array_equal(select(table, 5, (3,)), select(wider, 5, (3,)))


@pytest.mark.parametrize("keep", [0, -1, 10])
def test_keeping_none_or_more_than_there_are_is_an_error(keep):
    with pytest.raises(InputError, match="keep is"):
        select(counts(0), keep, (0,))
