"""Agents by name: what the grammar allows, and what it says about the rest."""

import random

import equinox as eqx
import jax
import pytest

from cochef.agents import cloned, storage
from cochef.agents.agent import Agent, Random, Stay
from cochef.agents.clone_networks import CloneNetwork
from cochef.agents.modified import Mixture, Noisy, Slow
from cochef.agents.names import load
from cochef.agents.scripted import Scripted
from cochef.errors import InputError
from cochef.kitchen import layouts

ROOM = layouts.get("cramped_room")


@pytest.fixture
def agent_file(tmp_path):
    """An agent of the room, saved where the path is full of the grammar's own signs."""
    path = tmp_path / "0.5*a+b@c=1;d" / "agent.safetensors"
    network = CloneNetwork((4,), jax.random.key(0))
    storage.save(path, cloned.card(ROOM, (4,), {}), network)
    return path


def test_plain_names_give_the_agents_they_name():
    assert load("random", ROOM) == Random()
    assert load(" stay ", ROOM) == Stay()
    scripted = load("script:delivery", ROOM)
    assert isinstance(scripted, Scripted)
    assert scripted.script.name == "delivery"


def test_changes_are_made_from_left_to_right():
    clumsy = load("stay@noise=0.25,idle=3", ROOM)
    assert isinstance(clumsy, Slow)
    assert isinstance(clumsy.agent, Noisy)
    assert (clumsy.idle, clumsy.agent.noise, clumsy.agent.agent) == (3, 0.25, Stay())


def test_weights_of_a_mixture_need_not_sum_to_one():
    mixture = load("3*script:delivery + 1*random@noise=1", ROOM)
    assert isinstance(mixture, Mixture)
    assert mixture.weights == (0.75, 0.25)
    assert isinstance(mixture.agents[1], Noisy)


def test_a_path_is_an_agent_with_or_without_its_ending_whatever_signs_it_holds(agent_file):
    whole = load(str(agent_file), ROOM)
    assert isinstance(whole, cloned.HumanClone)
    for name in (agent_file.with_suffix(""), f" {agent_file} "):
        assert eqx.tree_equal(load(str(name), ROOM), whole)


def test_an_agent_file_can_be_changed_and_mixed_as_any_agent(agent_file, tmp_path):
    path = agent_file.rename(tmp_path / "me@work.safetensors")
    slow, mixture = load(f"{path}@idle=2", ROOM), load(f"1*{path}+1*stay", ROOM)
    assert isinstance(slow, Slow)
    assert eqx.tree_equal(slow.agent, load(str(path), ROOM))
    assert eqx.tree_equal(mixture.agents[0], slow.agent)


def test_greedy_reaches_the_networks(agent_file):
    assert load(str(agent_file), ROOM, greedy=True).greedy
    assert not load(str(agent_file), ROOM).greedy


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("nobody", "unknown agent 'nobody'; known: random, stay, script:NAME, KIND:LAYOUT"),
        ("", "unknown agent ''; known: "),
        ("@noise=1", "unknown agent ''; known: "),
        ("script:nobody", "unknown script 'nobody'; known: onion_placement, "),
        ("script:tomato_everywhere", "script 'tomato_everywhere' makes no sense in cramped_room"),
        (
            "human-proxy:nowhere",
            "no human-proxy for 'nowhere' ships; there are: asymmetric_advantages, ",
        ),
        ("human-clone", "write human-clone:LAYOUT; there are: asymmetric_advantages, "),
        ("human-clone:many_orders", "no human-clone for 'many_orders' ships; there are: "),
        (
            "human-proxy:coordination_ring",
            "this agent was made for coordination_ring, not for cramped_room",
        ),
        (
            "human-2019:cramped_room#5",
            "'human-2019:cramped_room' has no #5; there are: 0, 1, 2, 3, 4",
        ),
        (
            "human-2019:cramped_room#",
            "'human-2019:cramped_room' has no #; there are: 0, 1, 2, 3, 4",
        ),
        ("human-proxy:cramped_room#0", "'human-proxy:cramped_room' is one agent; it takes no #0"),
        ("stay@speed=3", "unknown change 'speed=3' of an agent; allowed: noise=0..1, idle=0..100"),
        ("stay@", "unknown change '' of an agent; allowed: "),
        ("stay@noise", "noise is ''; it takes a number from 0 to 1"),
        ("stay@noise=2", "noise is '2'; it takes a number from 0 to 1"),
        ("stay@noise=nan", "noise is 'nan'; it takes a number from 0 to 1"),
        ("stay@noise=much", "noise is 'much'; it takes a number from 0 to 1"),
        ("stay@idle=-1", "idle is '-1'; it takes a number from 0 to 100"),
        ("stay@idle=1.5", "idle is '1.5'; it takes a whole number of steps"),
        ("stay+random", "'stay' has no weight; a mixture is 0.3*NAME+0.7*NAME"),
        ("0.5*stay+random", "'random' has no weight; a mixture is "),
        ("0.5*stay+", "'' has no weight; a mixture is "),
        ("many*stay+1*random", "a weight is 'many'; it takes a number from 1e-06 to 1e+06"),
        ("0*stay+1*random", "a weight is '0'; it takes a number from "),
        ("1*2*stay", "unknown agent '2*stay'"),
        (
            "missing.safetensors",
            "missing.safetensors: cannot be read \\(No such file or directory\\)",
        ),
        (
            "\0.safetensors",
            "cannot be read \\(embedded null byte\\); give the path of an agent file",
        ),
        ("x" * 5_000, "unknown agent 'xxxx"),
        ("x" * 5_000 + ".safetensors", "cannot be read \\(File name too long\\)"),
    ],
)
def test_a_name_that_names_nobody_is_an_error_that_says_why(name, complaint):
    with pytest.raises(InputError, match=complaint.replace("*", "\\*").replace("+", "\\+")):
        load(name, ROOM)


def test_a_directory_is_no_agent(tmp_path):
    with pytest.raises(InputError, match="unknown agent"):
        load(str(tmp_path), ROOM)


def test_any_text_is_an_agent_or_an_error():
    chance = random.Random(0)
    parts = [
        "random",
        "stay",
        "script:",
        "delivery",
        "human-proxy:",
        "human-2019:",
        "#",
        "cramped_room",
        "@",
        "noise=",
        "idle=",
        ",",
        "+",
    ]
    parts += [
        "*",
        "0.5",
        "1",
        "-",
        ".safetensors",
        "/",
        "..",
        "=",
        ";",
        " ",
        "\0",
        "\n",
        "é",
        "9" * 400,
    ]
    for _ in range(2_000):
        name = "".join(chance.choices(parts, k=chance.randrange(1, 8)))
        try:
            assert isinstance(load(name, ROOM), Agent)
        except InputError as error:
            assert len(str(error)) < 3_000
