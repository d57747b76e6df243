"""The peers that learn: their algorithm in a tiny environment, and how they are asked."""

import io
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import pytest

from cochef.benchmarks.peers.ippo import IPPO, IppoConfig, IppoNetwork
from cochef.benchmarks.peers.jaxmarl import CHEFS
from cochef.benchmarks.peers.process import PeerError, running
from cochef.benchmarks.peers.service import LearningTime, serve
from cochef.errors import InputError

PEERS = Path(".venv-peers") / "bin" / "python"
ROWS = ["XXPXX", "O1 2O", "X   X", "XDXSX"]
LENGTH = 4  # of an episode of the signals
FULL = 2.0 * LENGTH  # the return when all answers are right
CHANCE = FULL / 3
CONFIG = IppoConfig(
    kitchens=8, steps=16, total_steps=200_000, shaping_steps=100_000, learning_rate=0.02
)
CHUNK_STEPS = CONFIG.chunk * CONFIG.update_steps


class Board(NamedTuple):
    signals: jax.Array
    before: jax.Array  # the signals of the last step
    time: jax.Array
    return_so_far: jax.Array
    returned: jax.Array


class Signals:
    """Each chef observes one of three signals.

    To answer with its number pays both 1; to answer with the next number pays only shaped reward.
    """

    def __init__(self, shaping, asks_before=False):
        self.shaping = shaping
        self.asks_before = asks_before  # for the signal of the last step

    def reset(self, key):
        signals = jax.random.randint(key, (2,), 0, 3)
        board = Board(signals, signals, jnp.int32(0), jnp.zeros(2), jnp.zeros(2))
        return self._observations(board), board

    def step(self, key, board, actions):
        answers = jnp.stack([actions[chef] for chef in CHEFS])
        asked = board.before if self.asks_before else board.signals
        reward = (answers == asked).sum().astype(float)
        shaped = self.shaping * (answers == (board.signals + 1) % 3)
        done = board.time + 1 == LENGTH
        return_so_far = board.return_so_far + reward
        returned = jnp.where(done, return_so_far, board.returned)
        info = {
            "shaped_reward": dict(zip(CHEFS, shaped, strict=True)),
            "returned_episode": jnp.full(2, done),
            "returned_episode_returns": returned,
        }
        signals = jax.random.randint(key, (2,), 0, 3)
        after = Board(
            signals,
            jnp.where(done, signals, board.signals),
            jnp.where(done, 0, board.time + 1),
            jnp.where(done, 0.0, return_so_far),
            returned,
        )
        return (
            self._observations(after),
            after,
            dict.fromkeys(CHEFS, reward),
            dict.fromkeys(CHEFS, done),
            info,
        )

    def _observations(self, board):
        return dict(zip(CHEFS, jax.nn.one_hot(board.signals, 3), strict=True))


def linear():
    def init(key, observations):
        return 0.01 * jax.random.normal(key, (observations.shape[1], 4))

    def apply(params, carry, observations, _):
        outputs = observations @ params
        return carry, outputs[..., :3], outputs[..., 3]

    return IppoNetwork(init, lambda rows: (), apply, is_recurrent=False)


def remembering():
    """Carries the last observation, and answers by it; an episode starts with the present one."""

    def init(key, observations):
        return 0.01 * jax.random.normal(key, (observations.shape[1], 4))

    def apply(params, carry, observations, episode_start):
        def one(carry, now):
            observation, starts = now
            carry = jnp.where(starts[:, None], observation, carry)
            return observation, carry @ params

        carry, outputs = jax.lax.scan(one, carry, (observations, episode_start))
        return carry, outputs[..., :3], outputs[..., 3]

    return IppoNetwork(init, lambda rows: jnp.zeros((rows, 3)), apply, is_recurrent=True)


@pytest.fixture(scope="module")
def learner():
    return IPPO(Signals(shaping=0.0), linear(), CONFIG)


def test_what_is_paid_is_learnt_and_learning_stops_at_the_target(learner):
    learnt = learner.learn(seed=0, target=0.9 * FULL, most=100_000)
    assert learnt.reached
    assert 0.9 * FULL <= learnt.mean_return <= FULL
    assert 0 < learnt.steps < 100_000
    assert learnt.steps % CHUNK_STEPS == 0
    assert learnt.seconds > 0
    assert learnt.compile_seconds > 0

    first = learner.learn(seed=0, target=FULL + 1, most=CHUNK_STEPS)
    assert CHANCE / 2 < first.mean_return < 0.9 * FULL


def test_a_target_out_of_reach_ends_with_the_steps_allowed_or_the_total(learner):
    for most, steps in ((5 * CHUNK_STEPS + 1, 5 * CHUNK_STEPS), (10**9, CONFIG.total_steps)):
        learnt = learner.learn(seed=0, target=FULL + 1, most=most)
        assert not learnt.reached
        assert steps - CHUNK_STEPS < learnt.steps <= steps


def test_a_seed_learns_the_same_again_and_another_does_not(learner):
    def returns(seed):
        return learner.learn(seed, target=FULL + 1, most=2 * CHUNK_STEPS).mean_return

    assert returns(3) == returns(3) != returns(4)


def test_shaping_teaches_at_first_but_counts_in_no_return_and_fades_out():
    learner = IPPO(Signals(shaping=5.0), linear(), replace(CONFIG, shaping_steps=20_000))
    misled = learner.learn(seed=0, target=FULL, most=8_000)
    assert misled.mean_return < CHANCE / 2
    assert learner.learn(seed=0, target=0.9 * FULL, most=80_000).reached


def test_what_was_observed_before_is_learnt_by_a_recurrent_network_alone():
    game = Signals(shaping=0.0, asks_before=True)
    target = 0.9 * FULL
    assert IPPO(game, remembering(), CONFIG).learn(seed=0, target=target, most=100_000).reached
    assert not IPPO(game, linear(), CONFIG).learn(seed=0, target=target, most=50_000).reached


def test_its_rate_and_how_long_it_compiles_are_measured(learner):
    assert learner.rate(seconds=0.0) > 0
    assert learner.rate(seconds=0.05) > 0
    assert learner.compile_seconds() > 0


def test_fewer_steps_than_are_looked_at_once_are_refused(learner):
    with pytest.raises(
        InputError, match=f"at most 5 steps to learn; it takes at least {CHUNK_STEPS}"
    ):
        learner.learn(seed=0, target=1.0, most=5)


def test_a_question_is_answered_in_a_line(learner, monkeypatch, capsys):
    questions = (
        {"of": "signals", "ask": "learn", "seed": 0, "target": 100.0, "most": CHUNK_STEPS},
        {"of": "signals", "ask": "rate", "seconds": 0.0},
    )
    monkeypatch.setattr(
        sys, "stdin", io.StringIO("".join(json.dumps(question) + "\n" for question in questions))
    )
    serve({"signals": learner})
    ready, learnt, rate = map(json.loads, capsys.readouterr().out.splitlines())
    assert ready == {"ready": ["signals"]}
    assert LearningTime(**learnt["answer"]).steps == CHUNK_STEPS
    assert rate["answer"] > 0


def test_a_learning_peer_that_cannot_be_run_says_why():
    with pytest.raises(
        PeerError,
        match=r"ippo failed \(ModuleNotFoundError: No module named 'jaxmarl'\); `make bench",
    ):
        running(Path(sys.executable), "ippo", {"rows": ROWS}).__enter__()


@pytest.mark.long
@pytest.mark.skipif(not PEERS.exists(), reason="the peers' environment is not there")
def test_the_ippo_of_jaxmarl_learns_in_a_process_of_its_own():
    steps = CONFIG.chunk * IppoConfig().update_steps
    with running(PEERS, "ippo", {"rows": ROWS}) as (peer, _):
        assert peer.rate(seconds=0.0) > 0
        learnt = peer.learn(seed=0, target=1e6, most=8 * steps)
        assert (learnt.reached, learnt.steps) == (False, 8 * steps)
        assert learnt.mean_return >= 0
