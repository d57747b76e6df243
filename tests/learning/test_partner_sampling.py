"""Who plays with whom in the second stage."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from cochef.agents.network_config import NetworkConfig
from cochef.agents.networks import Network, ObservationSpec
from cochef.learning.partner_sampling import Identity, Pool, Sampling

SIGHT = ObservationSpec((5,), (1.0,) * 5)
SIZE, KITCHENS, MEMBERS = 6, 24, 2
KEYS = jax.random.split(jax.random.key(0), MEMBERS)
EVERYWHERE = jnp.ones(KITCHENS, bool)


def pool(sampling, memory=0, identity=Identity.NUMBER):
    config = NetworkConfig(hidden=(8,), memory=memory)
    fresh = jax.vmap(lambda key: Network(config, SIGHT, 3, 1.0, key))
    return Pool(fresh(jax.random.split(jax.random.key(1), SIZE)), sampling, identity)


def episodes(chosen, number, earned=lambda match: jnp.zeros_like(match.earned)):
    """Partners and seats of some episodes that end everywhere at once, and the match afterwards."""
    match, seat = partner_sampling.begin(chosen, EVERYWHERE, KEYS)
    found = []
    for episode in range(number):
        found.append((np.asarray(match.partner), np.asarray(seat)))
        ended = jnp.ones((MEMBERS, KITCHENS), bool)
        keys = jax.random.split(jax.random.key(2 + episode), MEMBERS)
        match, seat = partner_sampling.after(chosen, match, seat, earned(match), ended, EVERYWHERE, keys)
    return found, match


def test_stratified_every_partner_gets_as_many_kitchens_and_both_seats_as_often():
    found, _ = episodes(pool(Sampling.STRATIFIED), 2)
    for partner, _ in found:
        assert (np.bincount(partner[0], minlength=SIZE) == KITCHENS // SIZE).all()
    pairs = {(p, s) for partner, seat in found for p, s in zip(partner[0].tolist(), seat[0].tolist(), strict=True)}
    counts = np.zeros((SIZE, 2), int)
    for partner, seat in found:
        np.add.at(counts, (partner[0], seat[0]), 1)
    assert len(pairs) == 2 * SIZE and (counts == KITCHENS // SIZE).all()


@pytest.mark.parametrize("kitchens", [1, 2, 3, 4, 5, 7, 9, 18])
def test_stratified_with_any_number_of_kitchens_all_partners_have_both_seats_as_often(kitchens):
    chosen = pool(Sampling.STRATIFIED)
    match, seat = partner_sampling.begin(chosen, jnp.ones(kitchens, bool), KEYS)
    counts = np.zeros((SIZE, 2), int)
    for _ in range(2 * SIZE):
        np.add.at(counts, (np.asarray(match.partner[0]), np.asarray(seat[0])), 1)
        ended = jnp.ones((MEMBERS, kitchens), bool)
        match, seat = partner_sampling.after(chosen, match, seat, jnp.zeros(ended.shape), ended, ended[0], KEYS)
    assert (counts == kitchens).all()


def test_episodes_that_began_late_are_not_in_the_averages():
    chosen = pool(Sampling.STRATIFIED)
    match, seat = partner_sampling.begin(chosen, jnp.arange(KITCHENS) < SIZE, KEYS)
    ended = jnp.ones((MEMBERS, KITCHENS), bool)
    earned = jnp.where(jnp.arange(KITCHENS) < SIZE, 8.0, 0.0) * jnp.ones((MEMBERS, 1))
    match, seat = partner_sampling.after(chosen, match, seat, earned, ended, EVERYWHERE, KEYS)
    assert jnp.allclose(match.average, 8.0)
    match, _ = partner_sampling.after(chosen, match, seat, 8.0 * jnp.ones(ended.shape), ended, EVERYWHERE, KEYS)
    assert jnp.allclose(match.average, 8.0) and match.whole.all()


def test_uniform_all_partners_and_seats_come_about_as_often():
    found, _ = episodes(pool(Sampling.UNIFORM), 100)
    partner, seat = (np.concatenate([row[number].ravel() for row in found]) for number in range(2))
    share = np.bincount(partner, minlength=SIZE) / len(partner)
    assert np.abs(share - 1 / SIZE).max() < 0.03
    assert abs(seat.mean() - 0.5) < 0.03


def test_partners_and_seats_stay_until_the_episode_ends():
    chosen = pool(Sampling.UNIFORM)
    match, seat = partner_sampling.begin(chosen, EVERYWHERE, KEYS)
    ended = jnp.zeros((MEMBERS, KITCHENS), bool)
    after, same = partner_sampling.after(chosen, match, seat, jnp.ones_like(match.earned), ended, EVERYWHERE, KEYS)
    assert (after.partner == match.partner).all() and (same == seat).all()
    assert (after.earned == 1.0).all() and (after.weights == 0).all()


@pytest.mark.parametrize("memory", [0, 4])
def test_a_batched_product_gives_what_looking_up_weights_gives(memory):
    blocks, looked_up = pool(Sampling.STRATIFIED, memory), pool(Sampling.UNIFORM, memory)
    match, _ = partner_sampling.begin(blocks, EVERYWHERE, KEYS)
    views = jax.random.bernoulli(jax.random.key(3), shape=(MEMBERS, KITCHENS, 5)).astype(jnp.uint8)
    remembered = jax.random.normal(jax.random.key(4), match.memory.shape)
    match = replace(match, memory=remembered)
    one, two = (partner_sampling.act(chosen, match, views) for chosen in (blocks, looked_up))
    for left, right in zip(one, two, strict=True):
        assert jnp.allclose(left, right, atol=1e-5)
    own = jax.tree.map(lambda leaf: leaf[7 % SIZE], blocks.networks)
    logits, _ = own.step(views[1, 7], remembered[1, 7])
    assert jnp.allclose(one[0][1, 7], logits, atol=1e-5)


def test_the_average_return_with_a_partner_forgets_what_was_long_ago():
    _, match = episodes(pool(Sampling.STRATIFIED), 3, earned=lambda match: 10.0 * match.partner)
    assert jnp.allclose(match.average[0], 10.0 * jnp.arange(SIZE))
    chosen = pool(Sampling.STRATIFIED)
    match, seat = partner_sampling.begin(chosen, EVERYWHERE[:SIZE], KEYS)
    rising, weight = 0.0, 0.0
    for earned in (5.0, 7.0, 20.0):
        ended = jnp.ones((MEMBERS, SIZE), bool)
        match, seat = partner_sampling.after(chosen, match, seat, jnp.full((MEMBERS, SIZE), earned), ended, ended[0], KEYS)
        rising, weight = 0.95 * rising + 0.05 * earned, 0.95 * weight + 0.05
    assert jnp.allclose(match.average, rising / weight, rtol=1e-5)


def test_kitchens_that_do_not_count_are_not_in_the_averages():
    chosen = pool(Sampling.STRATIFIED)
    match, seat = partner_sampling.begin(chosen, EVERYWHERE, KEYS)
    ended = jnp.ones((MEMBERS, KITCHENS), bool)
    counted = jnp.arange(KITCHENS) >= SIZE
    earned = jnp.where(counted, 3.0, 1000.0) * jnp.ones((MEMBERS, 1))
    match, _ = partner_sampling.after(chosen, match, seat, earned, ended, counted, KEYS)
    assert jnp.allclose(match.average, 3.0)


def test_prioritised_chances_are_cubed_dense_ranks_of_the_inverse_return():
    average = np.array([10.0, 40.0, 10.0, 2.0, 7.0])
    inverse = 1 / average
    ranks = np.array([sorted(set(inverse)).index(value) + 1 for value in inverse]) ** 3
    assert np.allclose(partner_sampling.chances(jnp.asarray(average)), ranks / ranks.sum())


def test_prioritised_partners_that_earn_little_come_more_often():
    found, _ = episodes(pool(Sampling.PRIORITISED), 60, earned=lambda match: 10.0 * (match.partner + 1))
    partner = np.concatenate([row[0].ravel() for row in found[5:]])
    share = np.bincount(partner, minlength=SIZE) / len(partner)
    wanted = np.arange(SIZE, 0, -1) ** 3 / (np.arange(1, SIZE + 1) ** 3).sum()
    assert np.abs(share - wanted).max() < 0.05


def test_the_critic_is_told_a_number_above_0_up_to_1():
    told = pool(Sampling.UNIFORM).identities[:, 0]
    assert jnp.allclose(told, (jnp.arange(SIZE) + 2) / (SIZE + 1))
    assert pool(Sampling.UNIFORM, identity=Identity.NONE).identities.shape == (SIZE, 0)
