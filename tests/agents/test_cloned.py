"""Clones of people: the stuck rule, and those that ship with the package."""

import re
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from cochef.agents import cloned, shipped, storage
from cochef.agents.clone_networks import CloneNetwork, CloneNetwork2019
from cochef.agents.modified import Mixture
from cochef.agents.names import checksums, load
from cochef.human.games import Split, games
from cochef.kitchen import layouts
from cochef.kitchen.constants import Action
from cochef.kitchen.text import from_json
from cochef.learning.cloning_config import EPOCHS_2019
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


def constant_network(log_odds, kind=CloneNetwork):
    """A network that gives the same log-odds for all inputs."""
    blank = jax.tree.map(jnp.zeros_like, kind((4,), jax.random.key(0)))
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
IN_ORDER = [LOG_ODDS[action] for action in Action]


@pytest.fixture(scope="module")
def eager():
    return cloned.HumanClone(constant_network(IN_ORDER), ROOM, greedy=True)


@pytest.fixture(scope="module")
def eager_2019():
    return cloned.HumanClone(constant_network(IN_ORDER, CloneNetwork2019), ROOM, greedy=True)


def test_a_clone_on_the_spot_of_its_last_three_states_does_not_do_what_it_did_there(eager):
    # Three times in vain, then the next likely, until the likeliest is none of the last three.
    assert play(eager, [HERE] * 9) == [USE, USE, USE, STAY, W, E, USE, STAY, W]


def test_a_clone_of_2019_repeats_itself_once_more_at_the_start_of_an_episode(eager_2019):
    assert play(eager_2019, [HERE] * 9) == [USE, USE, USE, USE, STAY, W, E, USE, STAY]
    assert play(eager_2019, [TURNED] + [HERE] * 4) == [USE, USE, USE, USE, STAY]


def test_another_facing_or_place_is_another_spot(eager):
    assert play(eager, [HERE, HERE, TURNED] * 3) == [USE] * 9
    assert play(eager, [HERE, HERE, ELSEWHERE] * 3) == [USE] * 9
    assert play(eager, [HERE] * 3 + [TURNED] + [HERE] * 5)[:8] == [USE] * 7 + [STAY]


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
        clones = agent.agents if kind == "human-2019" else (agent,)
        assert all(isinstance(clone, cloned.HumanClone) for clone in clones)
        assert shipped.path(kind, name).stat().st_size < 50_000 * len(clones)


@pytest.mark.parametrize("name", PLAYED)
def test_the_clones_of_2019_are_five_seeds_each_as_likely_and_each_by_its_number(name):
    layout = layouts.get(name)
    clones = load(f"human-2019:{name}", layout)
    assert isinstance(clones, Mixture)
    assert clones.weights == (0.2,) * 5
    for seed, clone in enumerate(clones.agents):
        assert eqx.tree_equal(load(f"human-2019:{name}#{seed}", layout), clone)
        assert checksums(f"human-2019:{name}#{seed}") == checksums(f"human-2019:{name}")
    first, *others = (clone.network.weights[0] for clone in clones.agents)
    assert all(np.abs(first - other).max() > 0.1 for other in others)


@pytest.mark.parametrize("name", PLAYED)
def test_the_clones_of_2019_say_how_they_were_made(name):
    card, _ = storage.read(shipped.path("human-2019", name))
    report, config = card.metadata["report"], card.metadata["config"]
    assert (report["layout"], report["split"], report["first_seed"]) == (name, "test", 0)
    assert report["examples"] == 2 * sum(len(game.actions) for game in games(name, Split.TEST))
    assert report["epochs"] == EPOCHS_2019[name]
    settings = {"hidden": [64, 64], "learning_rate": 1e-3, "batch": 64, "learned": 0.85, "seeds": 5}
    assert config == settings
    losses = [report[f"{kind}_loss"] for kind in ("training", "held_out", "other_people")]
    assert all(len(loss) == 5 for loss in losses)
    training, held_out, _ = (np.mean(loss) for loss in losses)
    assert training < held_out  # nothing keeps it from overfitting
    row = (name, *(f"{np.mean(loss):.3f}" for loss in losses))
    assert f"| {' | '.join(row)} |" in DOCS.read_text("utf-8")


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
@pytest.mark.parametrize("kind", ["human-proxy", "human-2019"])
@pytest.mark.parametrize("name", PLAYED)
def test_a_human_model_with_itself_earns_what_the_documentation_says(name, kind):
    layout = layouts.get(name)
    model = load(f"{kind}:{name}", layout)
    agents = model.agents if isinstance(model, Mixture) else (model,)
    episodes = 400 // len(agents)
    pairs = tuple((seed, seed, episodes) for seed in range(len(agents)))
    totals = jax.device_get(play_episodes(layout, agents, pairs, jax.random.key(8)))
    number = r"([\d.]+) ± ([\d.]+)"
    row = re.search(rf"^\| {name} \| {number} \| {number} \|", DOCS.read_text("utf-8"), re.M)
    documented, error = row.groups()[:2] if kind == "human-proxy" else row.groups()[2:]
    own_error = totals.score.std() / np.sqrt(len(totals.score))
    print(f"{name}: {totals.score.mean():.1f} ± {own_error:.1f}, documented {documented}")
    assert abs(totals.score.mean() - float(documented)) < 4 * np.hypot(own_error, float(error))
