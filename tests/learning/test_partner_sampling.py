"""Who plays with whom in the second stage."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from cochef.agents.actor_critic import TrainedAgent
from cochef.agents.agent import Random
from cochef.agents.clone_networks import CloneNetwork, CloneNetwork2019
from cochef.agents.cloned import HumanClone
from cochef.agents.modified import Mixture, Noisy, Slow
from cochef.agents.network_config import NetworkConfig, ObservationKind, RecurrentKind
from cochef.agents.networks import Network, ObservationSpec
from cochef.agents.scripted import script
from cochef.errors import InputError
from cochef.kitchen import layouts
from cochef.learning import partner_sampling
from cochef.learning.partner_sampling import (
    AgentGroup,
    NetworkGroup,
    PartnerIdentity,
    PartnerPool,
    Sampling,
    group_agents,
)

SPEC = ObservationSpec((5,), (1.0,) * 5)
SIZE = 6
KITCHENS = 24
MEMBERS = 2
KEYS = jax.random.split(jax.random.key(0), MEMBERS)
EVERYWHERE = jnp.ones(KITCHENS, bool)
ROOM = layouts.get("cramped_room")


def network(key, recurrent=0, kind=RecurrentKind.GRU):
    config = NetworkConfig(hidden=(8,), recurrent=recurrent, recurrent_kind=kind)
    return Network(config, SPEC, 3, 1.0, key)


def pool(sampling, recurrent=0, identity=PartnerIdentity.NUMBER, kind=RecurrentKind.GRU):
    keys = jax.random.split(jax.random.key(1), SIZE)
    networks = jax.vmap(lambda key: network(key, recurrent, kind))(keys)
    return PartnerPool((NetworkGroup(networks),), sampling, identity)


def no_reward(pairing):
    return jnp.zeros_like(pairing.episode_return)


def episodes(chosen, number, reward=no_reward):
    """Partners and seats of some episodes that end everywhere at once, and the pairing then."""
    pairing, seat = partner_sampling.begin(chosen, EVERYWHERE, KEYS)
    found = []
    for episode in range(number):
        found.append((np.asarray(pairing.partner), np.asarray(seat)))
        done = jnp.ones((MEMBERS, KITCHENS), bool)
        keys = jax.random.split(jax.random.key(2 + episode), MEMBERS)
        pairing, seat = partner_sampling.after_step(
            chosen, pairing, seat, reward(pairing), done, EVERYWHERE, keys
        )
    return found, pairing


def test_stratified_every_partner_gets_as_many_kitchens_and_both_seats_as_often():
    found, _ = episodes(pool(Sampling.STRATIFIED), 2)
    for partner, _ in found:
        assert (np.bincount(partner[0], minlength=SIZE) == KITCHENS // SIZE).all()
    pairs = set()
    counts = np.zeros((SIZE, 2), int)
    for partner, seat in found:
        pairs |= set(zip(partner[0].tolist(), seat[0].tolist(), strict=True))
        np.add.at(counts, (partner[0], seat[0]), 1)
    assert len(pairs) == 2 * SIZE
    assert (counts == KITCHENS // SIZE).all()


MORE_KITCHENS = (pytest.param(number, marks=pytest.mark.long) for number in (2, 3, 5, 9, 18))


# Of 6 partners: fewest kitchens, fewer with a common divisor, more without one.
@pytest.mark.parametrize("kitchens", [1, 4, 7, *MORE_KITCHENS])
def test_stratified_with_any_number_of_kitchens_all_partners_have_both_seats_as_often(kitchens):
    chosen = pool(Sampling.STRATIFIED)
    pairing, seat = partner_sampling.begin(chosen, jnp.ones(kitchens, bool), KEYS)
    counts = np.zeros((SIZE, 2), int)
    done = jnp.ones((MEMBERS, kitchens), bool)
    for _ in range(2 * SIZE):
        np.add.at(counts, (np.asarray(pairing.partner[0]), np.asarray(seat[0])), 1)
        pairing, seat = partner_sampling.after_step(
            chosen, pairing, seat, jnp.zeros(done.shape), done, done[0], KEYS
        )
    assert (counts == kitchens).all()


def test_episodes_that_began_late_are_not_in_the_averages():
    chosen = pool(Sampling.STRATIFIED)
    pairing, seat = partner_sampling.begin(chosen, jnp.arange(KITCHENS) < SIZE, KEYS)
    done = jnp.ones((MEMBERS, KITCHENS), bool)
    reward = jnp.where(jnp.arange(KITCHENS) < SIZE, 8.0, 0.0) * jnp.ones((MEMBERS, 1))
    pairing, seat = partner_sampling.after_step(
        chosen, pairing, seat, reward, done, EVERYWHERE, KEYS
    )
    assert jnp.allclose(pairing.average, 8.0)
    pairing, _ = partner_sampling.after_step(
        chosen, pairing, seat, 8.0 * jnp.ones(done.shape), done, EVERYWHERE, KEYS
    )
    assert jnp.allclose(pairing.average, 8.0)
    assert pairing.from_start.all()


def test_uniform_all_partners_and_seats_come_about_as_often():
    found, _ = episodes(pool(Sampling.UNIFORM), 100)
    partner = np.concatenate([row[0].ravel() for row in found])
    seat = np.concatenate([row[1].ravel() for row in found])
    share = np.bincount(partner, minlength=SIZE) / len(partner)
    assert np.abs(share - 1 / SIZE).max() < 0.03
    assert abs(seat.mean() - 0.5) < 0.03


def test_partners_and_seats_stay_until_the_episode_ends():
    chosen = pool(Sampling.UNIFORM)
    pairing, seat = partner_sampling.begin(chosen, EVERYWHERE, KEYS)
    done = jnp.zeros((MEMBERS, KITCHENS), bool)
    reward = jnp.ones_like(pairing.episode_return)
    after, same = partner_sampling.after_step(chosen, pairing, seat, reward, done, EVERYWHERE, KEYS)
    assert (after.partner == pairing.partner).all()
    assert (same == seat).all()
    assert (after.episode_return == 1.0).all()
    assert (after.weights == 0).all()


@pytest.mark.parametrize(
    ("recurrent", "kind"),
    [(0, RecurrentKind.GRU), (4, RecurrentKind.GRU), (8, RecurrentKind.MINGRU)],
)
def test_a_batched_product_gives_what_looking_up_weights_gives(recurrent, kind):
    blocks = pool(Sampling.STRATIFIED, recurrent, kind=kind)
    looked_up = pool(Sampling.UNIFORM, recurrent, kind=kind)
    pairing, seat = partner_sampling.begin(blocks, EVERYWHERE, KEYS)
    shape = (MEMBERS, KITCHENS, 5)
    observations = jax.random.bernoulli(jax.random.key(3), shape=shape).astype(jnp.uint8)
    (zero,) = partner_sampling.begin_carries(blocks, KEYS, KITCHENS)
    assert zero.shape == (MEMBERS, KITCHENS, recurrent)
    assert (zero == 0).all()
    carry = jax.random.normal(jax.random.key(4), zero.shape)

    def acted(chosen):
        logits, carries = partner_sampling.act(
            chosen, pairing, (carry,), observations, (), seat, KEYS
        )
        return logits, *carries

    one = acted(blocks)
    for left, right in zip(one, acted(looked_up), strict=True):
        assert jnp.allclose(left, right, atol=1e-5)
    own = jax.tree.map(lambda leaf: leaf[7 % SIZE], blocks.groups[0].networks)
    logits, next_carry = own.step(observations[1, 7], carry[1, 7])
    assert jnp.allclose(one[0][1, 7], logits, atol=1e-5)
    assert jnp.allclose(one[1][1, 7], next_carry, atol=1e-5)


def test_the_average_return_with_a_partner_forgets_what_was_long_ago():
    _, pairing = episodes(
        pool(Sampling.STRATIFIED), 3, reward=lambda pairing: 10.0 * pairing.partner
    )
    assert jnp.allclose(pairing.average[0], 10.0 * jnp.arange(SIZE))
    chosen = pool(Sampling.STRATIFIED)
    pairing, seat = partner_sampling.begin(chosen, EVERYWHERE[:SIZE], KEYS)
    done = jnp.ones((MEMBERS, SIZE), bool)
    sums = np.zeros((SIZE, 2))
    weights = np.zeros((SIZE, 2))
    for episode_return in (5.0, 7.0, 20.0, 30.0):
        met = (np.asarray(pairing.partner[0]), np.asarray(seat[0]))
        reward = jnp.full((MEMBERS, SIZE), episode_return)
        pairing, seat = partner_sampling.after_step(
            chosen, pairing, seat, reward, done, done[0], KEYS
        )
        sums[met] = 0.95 * sums[met] + 0.05 * episode_return
        weights[met] = 0.95 * weights[met] + 0.05
    assert (weights > 0).all()
    assert np.allclose(pairing.return_sums, sums, rtol=1e-5)
    assert np.allclose(pairing.weights, weights, rtol=1e-5)
    both_seats = sums.sum(axis=1) / weights.sum(axis=1)
    assert np.allclose(pairing.average, both_seats, rtol=1e-5)


def test_kitchens_that_do_not_count_are_not_in_the_averages():
    chosen = pool(Sampling.STRATIFIED)
    pairing, seat = partner_sampling.begin(chosen, EVERYWHERE, KEYS)
    done = jnp.ones((MEMBERS, KITCHENS), bool)
    counted = jnp.arange(KITCHENS) >= SIZE
    reward = jnp.where(counted, 3.0, 1000.0) * jnp.ones((MEMBERS, 1))
    pairing, _ = partner_sampling.after_step(chosen, pairing, seat, reward, done, counted, KEYS)
    assert jnp.allclose(pairing.average, 3.0)


def test_priorities_are_cubed_dense_ranks_of_the_inverse_return():
    average = np.array([10.0, 40.0, 10.0, 2.0, 7.0])
    weights = np.full(5, 0.5)
    assert np.allclose(priorities(average * weights, weights), cubed_ranks(average))


def test_pairs_not_met_yet_count_as_the_mean_of_the_others():
    average = np.array([8.0, 0.0, 40.0, 0.0, 3.0])
    weights = np.array([0.05, 0.0, 0.3, 0.0, 0.6])
    with_mean = np.where(weights > 0, average, (8 + 40 + 3) / 3)
    assert np.allclose(priorities(average * weights, weights), cubed_ranks(with_mean))


def test_before_anybody_is_met_all_pairs_are_as_likely():
    assert np.allclose(priorities(np.zeros(4), np.zeros(4)), 1 / 4)


def cubed_ranks(average):
    """Shares by the cubed dense rank of 1 / average."""
    inverse = 1 / average
    ranks = np.array([sorted(set(inverse)).index(value) + 1 for value in inverse]) ** 3
    return ranks / ranks.sum()


def priorities(return_sums, weights):
    return partner_sampling.priorities(jnp.asarray(return_sums), jnp.asarray(weights))


def test_prioritised_partners_with_a_low_return_come_more_often():
    found, _ = episodes(
        pool(Sampling.PRIORITISED), 60, reward=lambda pairing: 10.0 * (pairing.partner + 1)
    )
    partner = np.concatenate([row[0].ravel() for row in found[5:]])
    share = np.bincount(partner, minlength=SIZE) / len(partner)
    wanted = np.arange(SIZE, 0, -1) ** 3 / (np.arange(1, SIZE + 1) ** 3).sum()
    assert np.abs(share - wanted).max() < 0.05


def test_prioritised_a_seat_with_a_low_return_comes_more_often_with_the_same_partner():
    chosen = pool(Sampling.PRIORITISED)
    pairing, seat = partner_sampling.begin(chosen, EVERYWHERE, KEYS)
    done = jnp.ones((MEMBERS, KITCHENS), bool)
    counts = np.zeros((SIZE, 2))
    for episode in range(80):
        if episode >= 20:  # all pairs have been met
            np.add.at(counts, (np.asarray(pairing.partner), np.asarray(seat)), 1)
        keys = jax.random.split(jax.random.key(2 + episode), MEMBERS)
        reward = (pairing.partner + 1) * jnp.where(seat == 0, 10.0, 100.0)
        pairing, seat = partner_sampling.after_step(
            chosen, pairing, seat, reward, done, EVERYWHERE, keys
        )
    wanted = cubed_ranks(np.outer([10.0, 100.0], np.arange(1, SIZE + 1)).ravel())
    assert np.allclose(counts / counts.sum(), wanted.reshape(2, SIZE).T, atol=0.03)


def test_the_critic_is_told_a_number_above_0_up_to_1():
    identities = pool(Sampling.UNIFORM).identities[:, 0]
    assert jnp.allclose(identities, (jnp.arange(SIZE) + 2) / (SIZE + 1))
    nothing = pool(Sampling.UNIFORM, identity=PartnerIdentity.NONE).identities
    assert nothing.shape == (SIZE, 0)
    one_hot = pool(Sampling.UNIFORM, identity=PartnerIdentity.ONE_HOT).identities
    assert (one_hot == jnp.eye(SIZE)).all()


def trained(number, recurrent=0, observation=ObservationKind.COMPACT, greedy=False):
    own = network(jax.random.key(number), recurrent)
    return TrainedAgent(own, ROOM, observation, greedy=greedy)


def test_neighbours_of_one_network_shape_are_stacked_and_the_order_is_kept():
    agents = [
        trained(0),
        trained(1),
        Random(),
        trained(2),
        trained(3, recurrent=4),
        trained(4, greedy=True),
        trained(5, observation=ObservationKind.GRID),
    ]
    groups = group_agents(agents, ObservationKind.COMPACT)
    assert [type(group) for group in groups] == [
        NetworkGroup,
        AgentGroup,
        NetworkGroup,
        NetworkGroup,
        AgentGroup,
        AgentGroup,
    ]
    assert [group.size for group in groups] == [2, 1, 1, 1, 1, 1]
    assert PartnerPool(groups).size == len(agents)
    for number in range(2):
        stacked = jax.tree.map(lambda leaf, number=number: leaf[number], groups[0].networks)
        own = agents[number].network
        assert jax.tree.all(jax.tree.map(np.array_equal, stacked, own))


SCRIPT = script("onion_placement", ROOM)
CLONE = HumanClone(CloneNetwork((4,), jax.random.key(0)), ROOM)
CLONE_2019 = HumanClone(CloneNetwork2019((4,), jax.random.key(0)), ROOM)


@pytest.mark.parametrize(
    "agent",
    [
        SCRIPT,
        CLONE,
        Noisy(SCRIPT, 0.5),
        Slow(Noisy(CLONE, 0.1), 3),
        Mixture((Random(), CLONE), (0.5, 0.5)),
        Mixture((CLONE_2019, CLONE_2019), (0.5, 0.5)),
        Mixture((Random(), Slow(SCRIPT, 1)), (0.9, 0.1)),
    ],
    ids=["script", "clone", "noisy", "slow noisy", "mixture", "2019", "mixture with slow"],
)
def test_what_evaluates_agents_does_not_train_them_in_any_disguise(agent):
    complaint = (
        f"^{type(agent).__name__} in a pool for training; scripts and human models are the "
        "evaluation's partners, and an agent that was trained with them would be measured on "
        "what it has seen$"
    )
    with pytest.raises(InputError, match=complaint):
        group_agents([trained(0), agent], ObservationKind.COMPACT)


def test_other_agents_train_as_they_are_or_changed():
    agents = [Noisy(Random(), 0.5), Slow(trained(0), 2)]
    groups = group_agents(agents, ObservationKind.COMPACT)
    assert [group.agent for group in groups] == agents
