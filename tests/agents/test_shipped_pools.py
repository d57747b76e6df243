"""Pools that ship: small, whole, and used by their names."""

from pathlib import Path

import jax
import numpy as np
import pytest

from cochef.agents import actor_critic, pool, shipped_pools, storage
from cochef.agents.network_config import NetworkConfig
from cochef.agents.pool import Member
from cochef.errors import InputError
from cochef.kitchen import layouts
from cochef.kitchen.constants import Action

LAYOUT = layouts.get("cramped_room")
CONFIG = NetworkConfig(hidden=(8,), shared_trunk=True)


def policy(number, config=CONFIG):
    """A policy with fresh weights, as the content of its file."""
    spec = actor_critic.observation_spec(LAYOUT, config.observation)
    network = actor_critic.actor(config, spec, len(Action), jax.random.key(number))
    tensors = {
        jax.tree_util.keystr(path, simple=True, separator="."): np.asarray(leaf)
        for path, leaf in jax.tree_util.tree_leaves_with_path(network)
    }
    return actor_critic.card(actor_critic.KIND, LAYOUT, config, {}), tensors


def member(number):
    return Member(
        name=f"mep-{number:02}-final",
        population="mep",
        run="abc",
        member=number,
        level="final",
        task_return=12.5 * number,
        events={"delivery": 2.0},
        hidden_reward={"order": 1.0} if number == 2 else None,
    )


@pytest.fixture
def packed(tmp_path):
    """Two pools that share policy 1, packed."""
    pools = {
        method: pool.write(tmp_path / method, LAYOUT, [(member(n), policy(n)) for n in numbers])
        for method, numbers in {"hsp": (2, 1), "mep": (0, 1)}.items()
    }
    path = tmp_path / "cramped_room.safetensors"
    shipped_pools.pack(path, LAYOUT, pools, {"preset": "smoke", "seed": 3})
    return path


def test_an_unpacked_pool_has_the_same_members_and_nearly_the_same_weights(packed, tmp_path):
    files = shipped_pools.unpack(packed, "hsp", tmp_path / "unpacked")
    read = pool.read(tmp_path / "unpacked")
    assert read.members == files.members
    for number, found in zip((2, 1), read.members, strict=True):
        described = vars(found) | {"sha256": ""}
        assert described == vars(member(number))
        card, tensors = read.read(found)
        assert card.metadata == {"precision": "half"}
        _, expected = policy(number)
        for name, array in tensors.items():
            assert array.dtype == expected[name].dtype
            assert array == pytest.approx(expected[name], rel=1e-3, abs=1e-6)
    assert len(read.agents()) == 2


def test_what_pools_share_is_stored_once_and_in_half_precision(packed):
    card, tensors = storage.read(packed)
    assert list(card.metadata["pools"]) == ["hsp", "mep"]
    assert (card.metadata["preset"], card.metadata["seed"]) == ("smoke", 3)
    assert {array.shape[0] for array in tensors.values()} == {3}
    assert {array.dtype for array in tensors.values()} == {np.dtype(np.float16)}


def test_a_pool_that_is_not_there_is_named_with_those_that_are(packed, tmp_path):
    with pytest.raises(
        InputError, match=r"no pool of 'fcp' for cramped_room ships; .*there are: hsp, mep"
    ):
        shipped_pools.unpack(packed, "fcp", tmp_path / "unpacked")
    path = tmp_path / "agent.safetensors"
    actor_critic.save(path, LAYOUT, CONFIG, pool.read(tmp_path / "mep").agents()[0].network, {})
    with pytest.raises(InputError, match="a file of kind 'trained'; it takes pools"):
        shipped_pools.unpack(path, "mep", tmp_path / "unpacked")


def test_policies_of_different_networks_are_not_packed(tmp_path):
    other = policy(1, NetworkConfig(hidden=(9,), shared_trunk=True))
    mixed = pool.write(tmp_path / "mixed", LAYOUT, [(member(0), policy(0)), (member(1), other)])
    with pytest.raises(InputError, match="different networks"):
        shipped_pools.pack(tmp_path / "x.safetensors", LAYOUT, {"hsp": mixed}, {})


def test_a_path_is_left_alone_and_an_unknown_name_is_refused(tmp_path):
    assert shipped_pools.located(tmp_path, tmp_path) == tmp_path
    assert shipped_pools.located(tmp_path / "a:b", tmp_path) == tmp_path / "a:b"
    with pytest.raises(InputError, match=r"no pool 'hsp:nowhere'; .*give a directory, or one of"):
        shipped_pools.located(Path("hsp:nowhere"), tmp_path)


@pytest.mark.parametrize("name", [name for name in shipped_pools.names() if "hsp:" in name])
def test_pools_that_ship_are_whole(name, tmp_path):
    directory = shipped_pools.located(Path(name), tmp_path)
    files = pool.read(directory)
    biased = [member for member in files.members if member.hidden_reward is not None]
    assert len(files.members) == 2 * len(biased) == 36
    assert len(files.agents()) == 36
    assert shipped_pools.located(Path(name), tmp_path) == directory
