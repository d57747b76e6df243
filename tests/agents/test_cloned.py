"""Clones of people: the stuck rule, and those that ship with the package."""

import re
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from cochef.agents import cloned, shipped, storage
from cochef.agents.names import load
from cochef.human.games import Split, games
from cochef.kitchen import layouts
from cochef.kitchen.constants import Action
from cochef.kitchen.text import from_json
from cochef.randomness import fast
from cochef.rollout import play_episodes

ROOM = layouts.get("cramped_room")
PLAYED = (
    "asymmetric_advantages",
    "coordination_ring",
    "counter_circuit",
    "cramped_room",
    "forced_coordination",
)
DOCS = Path(__file__).parents[2] / "docs" / "partners.md"
N, S, E, W, STAY, USE = Action
HERE, TURNED, ELSEWHERE = (
    from_json(ROOM, {"chefs": [[2, 2, "S", None], chef], "t": 0})
    for chef in ([1, 1, "W", None], [1, 1, "N", None], [3, 1, "W", None])
)


def constant_network(log_odds):
    """A network that gives the same log-odds for all inputs."""
    blank = jax.tree.map(jnp.zeros_like, cloned.CloneNetwork((4,), jax.random.key(0)))
    return eqx.tree_at(
        lambda network: network.biases[-1], blank, jnp.asarray(log_odds, jnp.float32)
    )


@jax.jit
def _play(agent, states, key):
    def step(carry, inputs):
        action, carry = agent.act(inputs[0], 1, carry, inputs[1])
        return carry, action

    steps = states.time.shape[0]
    return jax.lax.scan(step, agent.begin(key), (states, jax.random.split(key, steps)))[1]


def play(agent, states, rounds=1):
    stacked = jax.tree.map(lambda *leaves: np.concatenate([np.stack(leaves)] * rounds), *states)
    return np.asarray(_play(agent, stacked, fast(jax.random.key(0)))).tolist()


LOG_ODDS = {USE: 6.0, STAY: 5.0, W: 4.0, E: 3.0, S: 2.0, N: 1.0}
EAGER = cloned.HumanClone(
    constant_network([LOG_ODDS[action] for action in Action]), ROOM, greedy=True
)


def test_a_clone_on_the_spot_of_its_last_three_states_does_not_do_what_it_did_there():
    # Three times in vain, then the next likely, until the likeliest is none of the last three.
    assert play(EAGER, [HERE] * 9) == [USE, USE, USE, STAY, W, E, USE, STAY, W]


def test_another_facing_or_place_is_another_spot():
    assert play(EAGER, [HERE, HERE, TURNED] * 3) == [USE] * 9
    assert play(EAGER, [HERE, HERE, ELSEWHERE] * 3) == [USE] * 9
    assert play(EAGER, [HERE] * 3 + [TURNED] + [HERE] * 5)[:8] == [USE] * 7 + [STAY]


def test_a_clone_samples_by_its_probabilities_unless_it_is_greedy():
    log_odds = np.log([0.4, 0.3, 0.1, 0.1, 0.05, 0.05])
    actions = play(
        cloned.HumanClone(constant_network(log_odds), ROOM), [HERE, TURNED], rounds=1_000
    )
    shares = np.bincount(actions, minlength=len(Action)) / len(actions)
    assert shares == pytest.approx(np.exp(log_odds), abs=0.05)


@pytest.mark.parametrize("kind", shipped.CLONES)
def test_a_clone_ships_for_every_layout_that_people_played(kind):
    assert shipped.layouts_of(kind) == PLAYED
    for name in PLAYED:
        agent = load(f"{kind}:{name}", layouts.get(name))
        assert isinstance(agent, cloned.HumanClone)
        assert shipped.path(kind, name).stat().st_size < 100_000


@pytest.mark.parametrize("name", PLAYED)
@pytest.mark.parametrize(
    ("kind", "split"), [("human-proxy", Split.TEST), ("human-clone", Split.TRAIN)]
)
def test_a_shipped_clone_says_how_it_was_made_and_is_clearly_better_than_its_baselines(
    kind, split, name
):
    card, _ = storage.read(shipped.path(kind, name))
    report, config = card.metadata["report"], card.metadata["config"]
    assert (report["layout"], report["split"]) == (name, split.value)
    assert report["examples"] == 2 * sum(len(game.actions) for game in games(name, split))
    assert tuple(config["hidden"]) == tuple(card.config["hidden"])
    assert report["acting_accuracy"] > 2 * report["acting_majority"]
    assert report["accuracy"] > 3 * report["random"]
    assert report["loss"] < report["marginal_loss"] - 0.2
    assert (
        min(report["balanced_accuracy"]["low"], report["weighed_accuracy"]["low"])
        > report["random"]
    )
    gain = "{value:+.1f} [{low:+.1f}, {high:+.1f}]".format_map(
        {k: 100 * v for k, v in report["gain"].items()}
    )
    balanced = (report[key]["value"] for key in ("balanced_accuracy", "weighed_accuracy"))
    acting = (report["acting_accuracy"], report["acting_majority"])
    row = (
        *(name, split.value, f"{report['accuracy']:.1%}", f"{report['majority']:.1%}", gain),
        *(f"{share:.1%}" for share in (*balanced, *acting)),
        *(f"{loss:.2f}" for loss in (report["loss"], report["marginal_loss"])),
    )
    assert f"| {' | '.join(row)} |" in DOCS.read_text("utf-8")


@pytest.mark.long
@pytest.mark.parametrize("name", PLAYED)
def test_a_proxy_with_itself_earns_what_the_documentation_says(name):
    layout = layouts.get(name)
    totals = jax.device_get(
        play_episodes(
            layout, (load(f"human-proxy:{name}", layout),), ((0, 0, 400),), jax.random.key(8)
        )
    )
    (documented, error), *_ = re.findall(
        rf"^\| {name} \| ([\d.]+) ± ([\d.]+) \|", DOCS.read_text("utf-8"), re.M
    )
    own_error = totals.score.std() / np.sqrt(400)
    print(f"{name}: {totals.score.mean():.1f} ± {own_error:.1f}, documented {documented}")
    assert abs(totals.score.mean() - float(documented)) < 4 * np.hypot(own_error, float(error))
