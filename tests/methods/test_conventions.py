"""Methods on a matrix game: what each is for, seen in what its population does."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from cochef.learning.trainer import Recipe, Utility
from cochef.methods import hsp, selfplay
from cochef.methods.hsp import BIASED, PARTNER
from cochef.methods.mep import PopulationEntropy
from cochef.methods.trajdiv import TrajectoryDiversity, divergence
from tests.methods.convention import Convention
from tests.methods.populations import task, train

MEMBERS = 4
EQUAL = Convention(payoffs=(1.0,) * MEMBERS)  # as many conventions, all as good
SEEDS = range(6)


def conventions(progress):
    """The option that each member chooses most."""
    return np.asarray(progress.events).sum(axis=1).argmax(axis=-1)


def covered(recipe):
    """How many conventions the populations of all seeds have between them, and the least that a member earns."""
    reports = [train(EQUAL, recipe, task(EQUAL, MEMBERS), seed, 150)[1] for seed in SEEDS]
    return sum(len(set(conventions(report))) for report in reports), min(report.task.min() for report in reports)


def test_mep_covers_conventions_that_plain_self_play_misses():
    plain, plain_return = covered(selfplay.RECIPE)
    diverse, diverse_return = covered(Recipe(bonus=PopulationEntropy(0.3)))
    everything = MEMBERS * len(SEEDS)
    assert plain <= 0.85 * everything
    assert diverse >= 0.95 * everything
    assert min(plain_return, diverse_return) > 0.8


@pytest.fixture(scope="module")
def biased():
    """Members with hidden rewards in a game whose task pays most for agreeing on option 0.

    They like option 2, dislike option 0, only want the task, and dislike option 2 while they want the task.
    """
    game = Convention(payoffs=(1.0, 0.5, 0.5))
    hidden = jnp.array([[0.0, 0.0, 3.0, 0.0], [-3.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 1.0], [0.0, 0.0, -3.0, 1.0]])
    plain = task(game, len(hidden))
    events, order = plain.events.at[:, BIASED].set(hidden[:, :-1]), plain.order.at[:, BIASED].set(hidden[:, -1])
    _, progress = train(game, hsp.RECIPE, Utility(events, order, plain.shaping), seed=0, iterations=150)
    return np.asarray(progress.events), np.asarray(progress.task)


def test_a_hidden_utility_is_followed_although_the_task_pays_another(biased):
    events, _ = biased
    assert events[0, BIASED, 2] > 0.95


def test_the_sign_of_a_hidden_weight_turns_the_behaviour_round(biased):
    events, _ = biased
    assert events[0, BIASED, 2] > 0.95
    assert events[3, BIASED, 2] < 0.05
    assert events[1, BIASED, 0] < 0.05


def test_without_hidden_weights_the_task_is_done(biased):
    events, earned = biased
    assert events[2, BIASED, 0] > 0.95
    assert earned[2] > 0.9


def test_the_partner_gets_used_to_the_biased_policy(biased):
    events, earned = biased
    assert events[0, PARTNER, 2] > 0.9
    assert earned[0] > 0.9 * 0.5
    assert (events[1, PARTNER].argmax(), events[2, PARTNER].argmax()) == (events[1, BIASED].argmax(), 0)


LONGER = Convention(payoffs=(1.0, 1.0), horizon=3)


def diversity(training):
    """The divergence of the trajectories of a population in self-play, from many of them."""
    actors = jax.tree.map(lambda leaf: leaf[:, 0], training.learners.actor)
    views = jnp.eye(LONGER.horizon, dtype=jnp.uint8)
    policies = jax.nn.log_softmax(jax.vmap(lambda one: one.step(views, one.begin(LONGER.horizon))[0])(actors))
    actions = jax.random.categorical(jax.random.key(0), policies[..., None, :], shape=(*policies.shape[:2], 500))
    log_probs = jnp.take_along_axis(policies[:, None, :, None], actions[None, ..., None], axis=-1)[..., 0]
    begins = jnp.zeros(actions.shape, bool).at[:, 0].set(True)
    return float(divergence(log_probs, jnp.arange(len(actions)), begins, 0.5))


def test_trajdiv_raises_the_diversity_of_trajectories_over_plain_self_play():
    def grown(recipe):
        return [train(LONGER, recipe, task(LONGER, MEMBERS), seed, 100) for seed in SEEDS]

    plain, diverse = grown(selfplay.RECIPE), grown(Recipe(penalty=TrajectoryDiversity(weight=4.0, rows=16)))
    means = [np.mean([diversity(training) for training, _ in populations]) for populations in (plain, diverse)]
    assert means[1] > means[0] + 0.15
    assert all(progress.task.min() > 0.8 * LONGER.horizon for _, progress in (*plain, *diverse))
