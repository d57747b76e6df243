"""Pools on disk list their members, and refuse files that are not theirs."""

import json
from pathlib import Path

import jax
import numpy as np
import pytest

from cochef.agents import actor_critic, pool, shipped, storage
from cochef.agents.network_config import NetworkConfig, ObservationKind
from cochef.agents.pool import Member
from cochef.errors import InputError
from cochef.experiments.pools import make
from cochef.kitchen import layouts
from cochef.kitchen.constants import Action
from cochef.learning.partner_sampling import group_agents

LAYOUT = layouts.get("cramped_room")
SMALL = NetworkConfig(hidden=(4,))


def policy(path, number, config=SMALL, layout=LAYOUT):
    spec = actor_critic.observation_spec(layout, config.observation)
    network = actor_critic.actor(config, spec, len(Action), jax.random.key(number))
    actor_critic.save(path, layout, config, network, {})
    return storage.read(path)


def member(name, number=0):
    return Member(name, "mep", "abc", number, "final", 12.5, {"delivery": 1.5}, {"delivery": -10.0})


@pytest.fixture
def made(tmp_path):
    entries = [
        (member(f"mep-{number:02}", number), policy(tmp_path / "agent", number))
        for number in range(3)
    ]
    return pool.write(tmp_path / "pool", LAYOUT, entries)


def test_a_pool_is_read_as_it_was_written(made):
    found = pool.read(made.directory)
    assert found.members == made.members
    assert found.layout == LAYOUT
    assert [one.member for one in found.members] == [0, 1, 2]


def test_the_policies_of_a_pool_are_stacked_in_its_order(made):
    (group,) = group_agents(made.agents(), ObservationKind.COMPACT)
    for number, one in enumerate(made.members):
        own = made.load(one).network
        assert np.array_equal(group.networks.layers[0].weight[number], own.layers[0].weight)


def test_pools_are_merged_and_names_stay_different(made, tmp_path):
    both = make(tmp_path / "both", [made.directory, made.directory])
    assert [one.name for one in both.members][:4] == ["mep-00", "mep-01", "mep-02", "mep-00-2"]
    (group,) = group_agents(pool.read(tmp_path / "both").agents(), ObservationKind.COMPACT)
    assert group.size == 6


def test_pools_of_different_layouts_are_not_merged(made, tmp_path):
    ring = layouts.get("coordination_ring")
    other = pool.write(
        tmp_path / "ring", ring, [(member("x"), policy(tmp_path / "a", 0, layout=ring))]
    )
    with pytest.raises(InputError, match="made for another layout than cramped_room"):
        make(tmp_path / "both", [made.directory, other.directory])


def test_a_pool_takes_agent_files_and_sees_what_they_do_in_self_play(made, tmp_path):
    first = made.path(made.members[0])
    both = make(tmp_path / "both", [first, first.with_suffix(""), made.directory], episodes=2)
    assert [one.name for one in both.members] == [
        "mep-00",
        "mep-01",
        "mep-02",
        "mep-00-2",
        "mep-00-3",
    ]
    added = both.members[-1]
    assert (added.population, added.level, added.hidden_reward) == ("file", "final", None)
    assert added.events
    assert np.array_equal(
        both.load(added).network.head.weight, made.load(made.members[0]).network.head.weight
    )


def test_a_pool_takes_no_clones_and_no_code(tmp_path):
    clone = shipped.path("human-clone", "cramped_room")
    with pytest.raises(InputError, match="a file of kind 'clone'; a pool takes trained policies"):
        make(tmp_path / "pool", [clone])
    with pytest.raises(InputError, match="cannot be read"):
        make(tmp_path / "pool", [Path("tests.agents.own_agents:Walker")])


def test_policies_of_another_form_are_a_group_of_their_own(tmp_path):
    entries = [
        (member("a"), policy(tmp_path / "a", 0)),
        (member("b"), policy(tmp_path / "b", 0, NetworkConfig())),
    ]
    files = pool.write(tmp_path / "pool", LAYOUT, entries)
    groups = group_agents(files.agents(), ObservationKind.COMPACT)
    assert [group.size for group in groups] == [1, 1]


def test_nobody_or_the_same_name_twice_makes_no_pool(tmp_path):
    with pytest.raises(InputError, match="nobody in it"):
        pool.write(tmp_path / "pool", LAYOUT, [])
    entry = (member("a"), policy(tmp_path / "a", 0))
    with pytest.raises(InputError, match="'a' twice"):
        pool.write(tmp_path / "pool", LAYOUT, [entry, entry])


def test_a_policy_that_was_exchanged_is_found_out(made, tmp_path):
    other = tmp_path / "agent"
    policy(other, 77)
    made.path(made.members[1]).write_bytes(other.read_bytes())
    with pytest.raises(InputError, match=r"not the file that pool\.json lists"):
        made.agents()


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda table: table.update(members=[]), "it takes a list"),
        (lambda table: table.update(members=[{"name": "x"}]), "it takes a table with name"),
        (lambda table: table["members"][0].update(name="../x"), "name is '../x'"),
        (lambda table: table["members"][0].update(task_return="much"), "task_return is 'much'"),
        (
            lambda table: table["members"][0].update(events={"delivery": None}),
            "events.delivery is None",
        ),
        (lambda table: table["members"][0].update(member=1.5), "member is 1.5"),
        (lambda table: table.update(fingerprint="0"), "another layout"),
        (lambda table: table.update(layout="nowhere"), "nowhere"),
        (lambda table: table.pop("layout"), "not the index of a pool"),
    ],
)
def test_a_damaged_index_is_refused_with_what_is_wrong(made, change, complaint):
    path = made.directory / pool.INDEX
    table = json.loads(path.read_text())
    change(table)
    path.write_text(json.dumps(table))
    with pytest.raises(InputError, match=complaint) as refused:
        pool.read(made.directory)
    assert str(path) in str(refused.value)


@pytest.mark.parametrize("content", [b"", b"[]", b"null", b"{", b"\xff", b"[" * 100_000])
def test_an_index_that_is_no_table_is_refused(made, content):
    (made.directory / pool.INDEX).write_bytes(content)
    with pytest.raises(InputError, match=r"pool\.json"):
        pool.read(made.directory)


def test_a_directory_without_a_pool_is_refused(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        pool.read(tmp_path)
