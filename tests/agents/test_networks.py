"""Networks on both kinds of observations, with and without a recurrent layer."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from cochef.agents.actor_critic import ACTION_SCALE, actor, observation_spec, observe
from cochef.agents.network_config import NetworkConfig, ObservationKind
from cochef.agents.networks import Network, ObservationSpec, orthogonal
from cochef.kitchen import layouts
from cochef.kitchen.constants import Action
from cochef.kitchen.observation import PLANES
from cochef.kitchen.random_states import random_state

LAYOUT = layouts.get("cramped_room")
TIME, ROWS = 7, 3
SMALL = {
    ObservationKind.COMPACT: NetworkConfig(hidden=(8,), recurrent=5),
    ObservationKind.GRID: NetworkConfig(
        ObservationKind.GRID, channels=(4, 3), hidden=(8,), layer_norm=True, recurrent=5
    ),
}


@pytest.fixture(scope="module")
def states():
    """Random states of a layout, kitchens last."""
    keys = jax.random.split(jax.random.key(0), TIME * ROWS)
    return jax.vmap(lambda key: random_state(LAYOUT, key), out_axes=-1)(keys)


def observations(kind, states):
    """What seat 0 observes: time, rows, observation."""
    observed = jnp.moveaxis(observe(LAYOUT, kind, states)[0], -1, 0)
    return observed.reshape(TIME, ROWS, *observed.shape[1:])


@pytest.mark.parametrize("kind", ObservationKind)
def test_unrolling_is_stepping_with_a_carry_of_zero_at_every_episode_start(kind, states):
    network = actor(SMALL[kind], observation_spec(LAYOUT, kind), len(Action), jax.random.key(1))
    observed = observations(kind, states)
    episode_start = jax.random.bernoulli(jax.random.key(2), 0.3, (TIME, ROWS))
    carry = first = jax.random.normal(jax.random.key(3), (ROWS, network.carry_width))
    outputs, before = network.unroll(observed, episode_start, first)
    for step in range(TIME):
        carry = jnp.where(episode_start[step][:, None], network.initial_carry(ROWS), carry)
        assert np.allclose(before[step], carry, atol=1e-5)
        logits, carry = network.step(observed[step], carry)
        assert np.allclose(outputs[step], logits, atol=1e-5)
    assert not np.allclose(
        outputs, network.unroll(observed, jnp.zeros_like(episode_start), first)[0], atol=1e-4
    )


def test_gradients_through_the_carry_are_those_of_stepping(states):
    network = actor(
        SMALL[ObservationKind.COMPACT],
        observation_spec(LAYOUT, ObservationKind.COMPACT),
        len(Action),
        jax.random.key(1),
    )
    network = jax.tree.map(
        lambda leaf: leaf + 0.1 * jax.random.normal(jax.random.key(5), leaf.shape), network
    )
    observed = observations(ObservationKind.COMPACT, states)
    episode_start = jax.random.bernoulli(jax.random.key(2), 0.2, (TIME, ROWS))
    weights = jax.random.normal(jax.random.key(4), (TIME, ROWS, len(Action)))

    def unrolled(network, carry):
        return (weights * network.unroll(observed, episode_start, carry)[0]).sum()

    def stepped(network, carry):
        total = 0.0
        for step in range(TIME):
            carry = jnp.where(episode_start[step][:, None], 0.0, carry)
            logits, carry = network.step(observed[step], carry)
            total += (weights[step] * logits).sum()
        return total

    carry = jax.random.normal(jax.random.key(3), (ROWS, network.carry_width))
    found, wanted = (
        jax.grad(function, argnums=(0, 1))(network, carry) for function in (unrolled, stepped)
    )
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        assert np.abs(other).max() > 1e-3
        assert np.allclose(one, other, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("kind", ObservationKind)
def test_a_network_takes_observations_with_any_axes_in_front(kind, states):
    network = actor(SMALL[kind], observation_spec(LAYOUT, kind), len(Action), jax.random.key(1))
    observed = observations(kind, states)
    together, _ = network.step(observed, network.initial_carry(TIME, ROWS))
    alone, _ = network.step(observed[2, 1], network.initial_carry())
    assert together.shape == (TIME, ROWS, len(Action))
    assert np.allclose(together[2, 1], alone, atol=1e-5)


def test_the_papers_network_has_the_papers_shapes():
    config = NetworkConfig(ObservationKind.GRID, hidden=(64, 64, 64), layer_norm=True, recurrent=64)
    spec = observation_spec(LAYOUT, ObservationKind.GRID)
    shapes = eqx.filter_eval_shape(actor, config, spec, len(Action), jax.random.key(0))
    kernels = [convolution.kernel.shape for convolution in shapes.convolutions]
    assert kernels == [(3, 3, 26, 32), (3, 3, 32, 64), (3, 3, 64, 32)]
    flat = LAYOUT.height * LAYOUT.width * 32
    assert [layer.weight.shape for layer in shapes.layers] == [(flat, 64), (64, 64), (64, 64)]
    assert [norm.scale.shape for norm in shapes.norms] == [(64,)] * 3
    assert shapes.recurrent.from_carry.weight.shape == (64, 3 * 64)
    assert shapes.head.weight.shape == (64, len(Action))


@pytest.mark.parametrize(("rows", "columns"), [(5, 9), (9, 5), (6, 6)])
def test_fresh_weights_are_orthogonal_and_of_the_scale_asked_for(rows, columns):
    weights = orthogonal(jax.random.key(4), rows, columns, 1.5)
    weights = weights if rows <= columns else weights.T
    assert np.allclose(weights @ weights.T, 1.5**2 * np.eye(min(rows, columns)), atol=1e-5)


def test_hidden_layers_begin_at_root_two_and_heads_at_their_own_scale():
    spec = ObservationSpec((4,), (1.0,) * 4)
    policy = actor(NetworkConfig(hidden=(8, 8)), spec, 6, jax.random.key(5))
    critic = Network(NetworkConfig(hidden=(8, 8)), spec, 1, 1.0, jax.random.key(6))
    for network, scale in ((policy, ACTION_SCALE), (critic, 1.0)):
        sizes = [
            np.linalg.svd(layer.weight, compute_uv=False)
            for layer in (*network.layers, network.head)
        ]
        for found, wanted in zip(sizes, (np.sqrt(2), np.sqrt(2), scale), strict=True):
            assert np.allclose(found, wanted, rtol=1e-4)


def test_compact_observations_are_scaled_by_their_peaks():
    config, key = NetworkConfig(hidden=(8,)), jax.random.key(7)
    plain, scaled = (
        actor(config, ObservationSpec((3,), peaks), 2, key)
        for peaks in ((1.0,) * 3, (1.0, 10.0, 5.0))
    )
    one, _ = plain.step(jnp.array([1, 2, 3], jnp.uint8), plain.initial_carry())
    other, _ = scaled.step(jnp.array([1, 20, 15], jnp.uint8), scaled.initial_carry())
    assert np.allclose(one, other, atol=1e-6)


def test_a_critic_on_the_grid_also_observes_it_as_the_partner_does(states):
    spec = observation_spec(LAYOUT, ObservationKind.GRID)
    critic = Network(SMALL[ObservationKind.GRID], spec, 1, 1.0, jax.random.key(8))
    kernel = critic.convolutions[0].kernel
    assert kernel.shape[2] == 2 * PLANES

    def first(network):
        return network.convolutions[0].kernel

    own, partners = kernel[:, :, :PLANES], jnp.zeros_like(kernel[:, :, :PLANES])
    by_own = eqx.tree_at(first, critic, jnp.concatenate([own, partners], axis=2))
    by_partners = eqx.tree_at(first, critic, jnp.concatenate([partners, own], axis=2))
    left, right = jnp.moveaxis(observe(LAYOUT, ObservationKind.GRID, states), -1, 1)
    carry = critic.initial_carry(TIME * ROWS)
    assert np.allclose(by_own.step(right, carry)[0], by_partners.step(left, carry)[0], atol=1e-5)
    assert not np.allclose(by_own.step(left, carry)[0], by_partners.step(left, carry)[0], atol=1e-2)


@pytest.mark.parametrize("kind", ObservationKind)
def test_a_critic_may_be_given_the_partners_identity(kind, states):
    critic = Network(
        SMALL[kind], observation_spec(LAYOUT, kind), 1, 1.0, jax.random.key(9), identities=1
    )
    observed, carry = observations(kind, states), critic.initial_carry(TIME, ROWS)
    values = [
        critic.step(observed, carry, jnp.full((TIME, ROWS, 1), identity))[0]
        for identity in (0.0, 0.0, 1.0)
    ]
    assert np.array_equal(values[0], values[1])
    assert (jnp.abs(values[0] - values[2]) > 1e-6).all()
