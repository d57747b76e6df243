"""The minGRU, networks that inherit layers, and critics on the actor's features."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from cochef.agents import actor_critic, storage
from cochef.agents.actor_critic import actor, observation_spec
from cochef.agents.names import load
from cochef.agents.network_config import NetworkConfig, ObservationKind, RecurrentKind
from cochef.agents.networks import Network, ObservationSpec, ValueHead, inherit
from cochef.agents.recurrent import MinGru, linear_recurrence
from cochef.errors import InputError
from cochef.kitchen import layouts
from cochef.kitchen.constants import Action
from cochef.learning.config import TrainingConfig
from cochef.learning.ppo import new_learner

TIME, ROWS, ENTRIES, ACTIONS, WIDTH, IDENTITIES = 7, 3, 6, 4, 8, 2
SPEC = ObservationSpec((ENTRIES,), (1.0,) * ENTRIES)
FEED_FORWARD = NetworkConfig(hidden=(5, WIDTH, 9))
CONFIG = replace(FEED_FORWARD, recurrent=WIDTH, recurrent_kind=RecurrentKind.MINGRU)
LAYER_NORM = replace(CONFIG, layer_norm=True)
ONE_LAYER = replace(CONFIG, hidden=(WIDTH,))


@pytest.fixture(scope="module")
def observed():
    return jax.random.randint(jax.random.key(0), (TIME, ROWS, ENTRIES), 0, 2).astype(jnp.uint8)


@pytest.fixture(scope="module")
def episode_start():
    return jax.random.bernoulli(jax.random.key(2), 0.3, (TIME, ROWS))


def trained(network):
    """With weights as after some training: no gain or bias is small."""
    leaves, tree = jax.tree.flatten(network)
    keys = jax.random.split(jax.random.key(5), len(leaves))
    noise = [
        0.5 * jax.random.normal(key, leaf.shape) for key, leaf in zip(keys, leaves, strict=True)
    ]
    return jax.tree.map(jnp.add, network, jax.tree.unflatten(tree, noise))


def mingru_actor(config=CONFIG):
    return trained(actor(config, SPEC, ACTIONS, jax.random.key(1)))


def stepped(network, observed, episode_start, carry):
    """The outputs over time, step by step, and the carry before each step."""
    outputs = []
    carries = []
    for observation, starts in zip(observed, episode_start, strict=True):
        carry = jnp.where(starts[:, None], network.initial_carry(len(starts)), carry)
        carries.append(carry)
        logits, carry = network.step(observation, carry)
        outputs.append(logits)
    return jnp.stack(outputs), jnp.stack(carries)


@pytest.mark.parametrize("config", [CONFIG, LAYER_NORM, ONE_LAYER])
def test_unrolling_is_stepping_with_a_carry_of_zero_at_every_episode_start(
    config, observed, episode_start
):
    network = mingru_actor(config)
    first = jax.random.normal(jax.random.key(3), (ROWS, WIDTH))
    outputs, before = network.unroll(observed, episode_start, first)
    expected, carries = stepped(network, observed, episode_start, first)
    assert np.allclose(outputs, expected, atol=1e-4)
    assert np.allclose(before, carries, atol=1e-4)


def test_nothing_before_an_episode_start_has_an_effect_after_it_and_something_does_without(
    observed,
):
    network = mingru_actor()
    first = jax.random.normal(jax.random.key(3), (ROWS, WIDTH))
    other = observed.at[:3].set(1 - observed[:3])
    for starts in (True, False):
        episode_start = jnp.zeros((TIME, ROWS), bool).at[3].set(starts)
        one, _ = network.unroll(observed, episode_start, first)
        another, _ = network.unroll(other, episode_start, 2 * first)
        assert np.array_equal(one[3:], another[3:]) == starts


def plain_scan(keep, new, first):
    def step(before, now):
        after = now[0] * before + now[1]
        return after, after

    return jax.lax.scan(step, first, (keep, new))[1]


@pytest.mark.parametrize("time", [1, 2, TIME])
def test_the_gradient_of_the_recurrence_is_the_one_that_jax_finds_for_a_plain_scan(time):
    keys = jax.random.split(jax.random.key(4), 4)
    keep = jax.random.uniform(keys[0], (time, ROWS, WIDTH))
    keep = keep.at[time // 2, 0].set(0.0)  # an episode starts
    new = jax.random.normal(keys[1], keep.shape)
    first = jax.random.normal(keys[2], (ROWS, WIDTH))
    weights = jax.random.normal(keys[3], keep.shape)

    def gradients(recurrence):
        def loss(*inputs):
            return (weights * jnp.sin(recurrence(*inputs))).sum()

        return jax.grad(loss, argnums=(0, 1, 2))(keep, new, first)

    assert np.array_equal(linear_recurrence(keep, new, first), plain_scan(keep, new, first))
    for found, expected in zip(gradients(linear_recurrence), gradients(plain_scan), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_gradients_of_all_parameters_are_those_of_stepping(observed, episode_start):
    network = mingru_actor()
    first = jax.random.normal(jax.random.key(3), (ROWS, WIDTH))
    weights = jax.random.normal(jax.random.key(6), (TIME, ROWS, ACTIONS))

    def gradients(run):
        def loss(network):
            return (weights * run(network)).sum()

        return jax.grad(loss)(network)

    unrolled = gradients(lambda network: network.unroll(observed, episode_start, first)[0])
    by_step = gradients(lambda network: stepped(network, observed, episode_start, first)[0])
    for found, expected in zip(jax.tree.leaves(unrolled), jax.tree.leaves(by_step), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)
        assert np.abs(found).max() > 0


def test_some_units_keep_their_carry_for_long_and_others_do_not():
    layer = MinGru(WIDTH, jax.random.key(0))
    carry = jnp.ones(WIDTH)
    for _ in range(20):
        _, carry = layer(jnp.zeros(WIDTH), carry)
    assert (np.diff(carry) > 0).all()
    assert carry[0] < 0.01
    assert carry[-1] > 0.8


@pytest.mark.parametrize("layer_norm", [False, True])
def test_a_network_with_inherited_layers_begins_with_nearly_the_logits_of_its_parent(
    layer_norm, observed, episode_start
):
    config = replace(FEED_FORWARD, layer_norm=layer_norm)
    parent = trained(actor(config, SPEC, ACTIONS, jax.random.key(7)))
    fresh = actor(replace(CONFIG, layer_norm=layer_norm), SPEC, ACTIONS, jax.random.key(8))
    child = inherit(fresh, parent)
    logits, _ = parent.unroll(observed, episode_start, parent.initial_carry(ROWS))
    begun, _ = child.unroll(observed, episode_start, child.initial_carry(ROWS))
    unlike, _ = fresh.unroll(observed, episode_start, fresh.initial_carry(ROWS))
    spread = np.std(logits)
    assert np.abs(begun - logits).max() < 0.05 * spread
    assert np.abs(begun - logits).max() > 0  # the carry has a share, from which it is learned
    assert np.abs(unlike - logits).max() > spread


def test_the_recurrent_layer_is_not_inherited(observed):
    parent = trained(actor(FEED_FORWARD, SPEC, ACTIONS, jax.random.key(7)))
    fresh = actor(CONFIG, SPEC, ACTIONS, jax.random.key(8))
    child = inherit(fresh, parent)
    assert eqx.tree_equal(child.recurrent, fresh.recurrent)
    assert eqx.tree_equal((child.layers, child.head), (parent.layers, parent.head))


def test_a_critic_that_inherits_keeps_its_head_and_what_it_makes_of_the_identity():
    parent = trained(actor(FEED_FORWARD, SPEC, ACTIONS, jax.random.key(7)))
    fresh = Network(CONFIG, SPEC, 1, 1.0, jax.random.key(8), IDENTITIES)
    child = inherit(fresh, parent)
    assert eqx.tree_equal(child.head, fresh.head)
    weight = child.layers[0].weight
    assert np.array_equal(weight[:ENTRIES], parent.layers[0].weight)
    assert np.array_equal(weight[ENTRIES:], fresh.layers[0].weight[ENTRIES:])
    assert eqx.tree_equal(child.layers[1:], parent.layers[1:])


def sharing_learner(identities=IDENTITIES):
    network = replace(CONFIG, shared_trunk=True)
    return new_learner(
        TrainingConfig(minibatches=2, network=network), SPEC, ACTIONS, jax.random.key(9), identities
    )


def test_the_value_depends_on_features_and_identity():
    head = ValueHead(WIDTH, IDENTITIES, jax.random.key(10))
    features, others = jax.random.normal(jax.random.key(11), (2, TIME, ROWS, WIDTH))
    one, two = jnp.broadcast_to(jnp.eye(IDENTITIES)[:, None, None], (2, TIME, ROWS, IDENTITIES))
    values = head(features, one)
    assert values.shape == (TIME, ROWS, 1)
    assert np.array_equal(values, head(features, one))
    assert (np.abs(values - head(others, one)) > 1e-6).all()
    assert (np.abs(values - head(features, two)) > 1e-6).all()
    both = jnp.concatenate([features, one], axis=-1)  # as one layer that sees both
    expected = head.head(jax.nn.relu(head.layer(both)))
    np.testing.assert_allclose(values, expected, rtol=1e-5, atol=1e-5)


def test_only_the_value_head_is_told_the_identity():
    learner = sharing_learner()
    alone = sharing_learner(identities=0)
    assert eqx.tree_equal(learner.actor, alone.actor)
    width = CONFIG.hidden[-1]
    assert learner.critic.layer.weight.shape == (width + IDENTITIES, width)
    assert alone.critic.layer.weight.shape == (width, width)
    assert learner.critic.initial_carry(ROWS).shape == (ROWS, 0)


def test_a_value_loss_teaches_the_shared_trunk_but_not_the_actions(observed, episode_start):
    learner = sharing_learner()
    identity = jnp.ones((TIME, ROWS, IDENTITIES))

    def loss(actor):
        carry = jnp.ones((ROWS, WIDTH))
        features, _ = actor.features(observed, episode_start, carry)
        return jnp.square(learner.critic(features, identity) - 1).mean()

    gradient = jax.grad(loss)(learner.actor)
    for leaf in jax.tree.leaves((gradient.layers, gradient.recurrent)):
        assert np.abs(leaf).max() > 0
    for leaf in jax.tree.leaves(gradient.head):
        assert (leaf == 0).all()


@pytest.mark.parametrize(
    ("hidden", "complaint"),
    [
        ((8,), "recurrent is 5 beside a layer of 8; a minGRU is as wide"),
        ((5, 4, 5), "recurrent is 5 beside a layer of 4; a minGRU is as wide"),
    ],
)
def test_a_mingru_of_another_width_than_its_layer_is_refused(hidden, complaint):
    with pytest.raises(InputError, match=complaint):
        NetworkConfig(hidden=hidden, recurrent=5, recurrent_kind=RecurrentKind.MINGRU)
    NetworkConfig(hidden=hidden, recurrent=5)  # a GRU may have any
    NetworkConfig(hidden=hidden, recurrent_kind=RecurrentKind.MINGRU)  # none at all


KITCHEN = layouts.get("cramped_room")


@pytest.mark.parametrize(
    "config",
    [
        replace(CONFIG, shared_trunk=True),
        replace(LAYER_NORM, observation=ObservationKind.GRID, channels=(3,)),
    ],
)
def test_an_agent_with_a_mingru_is_saved_and_loaded_to_the_same_bits(config, tmp_path):
    spec = observation_spec(KITCHEN, config.observation)
    network = trained(actor(config, spec, len(Action), jax.random.key(12)))
    path = tmp_path / "agent.safetensors"
    actor_critic.save(path, KITCHEN, config, network, {"made": "for tests"})
    agent = load(str(path), KITCHEN)
    assert eqx.tree_equal(agent.network, network)
    again = tmp_path / "again.safetensors"
    actor_critic.save(again, KITCHEN, config, agent.network, {"made": "for tests"})
    card, tensors = storage.read(path)
    same_card, same_tensors = storage.read(again)
    assert card == same_card
    assert {name: array.tobytes() for name, array in tensors.items()} == {
        name: array.tobytes() for name, array in same_tensors.items()
    }


def test_a_file_whose_mingru_does_not_fit_is_an_error_that_names_it(tmp_path):
    spec = observation_spec(KITCHEN, CONFIG.observation)
    network = actor(CONFIG, spec, len(Action), jax.random.key(12))
    card = actor_critic.card(actor_critic.KIND, KITCHEN, CONFIG, {})
    path = tmp_path / "odd.safetensors"
    for change, complaint in (
        ({"recurrent": 9}, "recurrent is 9 beside a layer of 8"),
        ({"recurrent_kind": "lstm"}, "recurrent_kind is 'lstm'"),
        ({"shared_trunk": 1}, "shared_trunk is 1"),
    ):
        storage.save(path, replace(card, config={**card.config, **change}), network)
        with pytest.raises(InputError, match=rf"odd\.safetensors: {complaint}"):
            load(str(path), KITCHEN)
