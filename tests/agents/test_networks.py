"""Networks on both kinds of observations, with and without a recurrent layer."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from cochef.agents.actor_critic import ACTION_SCALE, actor, observation_spec, observe
from cochef.agents.layers import orthogonal
from cochef.agents.network_config import NetworkConfig, ObservationKind, RecurrentKind
from cochef.agents.networks import Network, ObservationSpec, inherit
from cochef.agents.recurrent import MinGru
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
# With layers of different widths on both sides of a minGRU.
MINGRU = NetworkConfig(hidden=(8, 6, 7), recurrent=6, recurrent_kind=RecurrentKind.MINGRU)
RECURRENT = {
    "GRU": SMALL[ObservationKind.COMPACT],
    "GRU on a grid": SMALL[ObservationKind.GRID],
    "minGRU": MINGRU,
    "minGRU on a grid": replace(
        SMALL[ObservationKind.GRID], recurrent=8, recurrent_kind=RecurrentKind.MINGRU
    ),
}


@pytest.fixture(scope="module", params=RECURRENT)
def recurrent(request):
    """The config of a recurrent network, and an actor that makes use of its carry."""
    config = RECURRENT[request.param]
    network = actor(
        config, observation_spec(LAYOUT, config.observation), len(Action), jax.random.key(1)
    )
    return config, with_gain(network, 1.0)


def with_gain(network, gain):
    """The network with another gain of its minGRU's carry, if it has one."""
    if not isinstance(network.recurrent, MinGru):
        return network
    gains = jnp.full_like(network.recurrent.gain, gain)
    return eqx.tree_at(lambda network: network.recurrent.gain, network, gains)


@pytest.fixture(scope="module")
def states():
    """Random states of a layout, kitchens last."""
    keys = jax.random.split(jax.random.key(0), TIME * ROWS)
    return jax.vmap(lambda key: random_state(LAYOUT, key), out_axes=-1)(keys)


def observations(kind, states):
    """What seat 0 observes: time, rows, observation."""
    observed = jnp.moveaxis(observe(LAYOUT, kind, states)[0], -1, 0)
    return observed.reshape(TIME, ROWS, *observed.shape[1:])


def test_unrolling_is_stepping_with_a_carry_of_zero_at_every_episode_start(recurrent, states):
    config, network = recurrent
    observed = observations(config.observation, states)
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


def test_nothing_from_before_an_episodes_start_is_carried_into_it(recurrent, states):
    config, network = recurrent
    observed = observations(config.observation, states)
    start = 3
    episode_start = jnp.zeros((TIME, ROWS), bool).at[start].set(True)
    others = observed.at[:start].set(observed[-start:])
    carries = jax.random.normal(jax.random.key(3), (2, ROWS, network.carry_width))
    one, before = network.unroll(observed, episode_start, carries[0])
    other, _ = network.unroll(others, episode_start, carries[1])
    assert np.array_equal(one[start:], other[start:])
    assert not np.allclose(one[:start], other[:start], atol=1e-4)
    assert (before[start] == 0).all()
    assert (before[start + 1] != 0).any()


def test_a_mingru_stands_beside_the_last_dense_layer_but_one():
    assert MINGRU.recurrent_after == 1
    one_layer = NetworkConfig(hidden=(8,), recurrent=8, recurrent_kind=RecurrentKind.MINGRU)
    assert one_layer.recurrent_after == 0


def test_the_gates_of_a_mingru_see_the_input_alone():
    layer = MinGru(6, jax.random.key(11))
    signal = jax.random.normal(jax.random.key(12), (6,))
    carries = jax.random.normal(jax.random.key(13), (3, 6))
    after = jnp.stack([layer(signal, carry)[1] for carry in carries])
    keep = jax.nn.sigmoid(layer.from_input(signal)[:6])
    # By the same gates, whatever is carried: differences between carries shrink by what is kept.
    assert np.allclose(after[1:] - after[0], keep * (carries[1:] - carries[0]), atol=1e-5)


def parent_of(config, seed=20):
    """A feed-forward actor with the same layers, which has opinions; and who begins as it."""
    spec = observation_spec(LAYOUT, config.observation)
    parent = actor(replace(config, recurrent=0), spec, len(Action), jax.random.key(seed))
    louder = eqx.tree_at(lambda network: network.head.weight, parent, 300 * parent.head.weight)
    return louder, actor(config, spec, len(Action), jax.random.key(seed + 1))


def policies(network, observed):
    episode_start = jnp.zeros(observed.shape[:2], bool).at[0].set(True)
    logits, _ = network.unroll(observed, episode_start, network.initial_carry(ROWS))
    return jax.nn.softmax(logits)


def test_a_network_with_a_mingru_on_a_grid_that_inherits_acts_nearly_as_its_parent(states):
    config = RECURRENT["minGRU on a grid"]
    parent, fresh = parent_of(config)
    observed = observations(config.observation, states)
    wanted = policies(parent, observed)
    assert np.abs(policies(fresh, observed) - wanted).max() > 0.2
    child = inherit(fresh, parent)
    distance = np.abs(policies(child, observed) - wanted)
    assert 0 < distance.max() < 0.02
    assert np.abs(policies(with_gain(child, 1.0), observed) - wanted).max() > 0.05


def test_a_feed_forward_network_that_inherits_is_its_parent(states):
    config = NetworkConfig(hidden=(8, 8))
    parent, fresh = parent_of(config)
    assert eqx.tree_equal(inherit(fresh, parent), parent)


def test_a_critic_on_a_grid_inherits_layers_and_keeps_its_head_and_what_its_parent_lacks():
    config = RECURRENT["minGRU on a grid"]
    parent, _ = parent_of(config)
    spec = observation_spec(LAYOUT, config.observation)
    critic = Network(config, spec, 1, 1.0, jax.random.key(22), identities=3)
    child = inherit(critic, parent)

    def first(network):
        return network.convolutions[0].kernel

    seen = first(parent).shape[-2]
    assert first(child).shape == first(critic).shape
    assert first(critic).shape[-2] == 2 * seen + 3
    assert np.array_equal(first(child)[..., :seen, :], first(parent))
    assert np.array_equal(first(child)[..., seen:, :], first(critic)[..., seen:, :])
    assert np.array_equal(child.layers[-1].bias, parent.layers[-1].bias)
    assert eqx.tree_equal((child.head, child.recurrent), (critic.head, critic.recurrent))


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
