"""The benchmark of training, with learners so small that it takes seconds."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import equinox as eqx
import jax
import pytest
from rich.console import Console

from cochef.agents.network_config import NetworkConfig, ObservationKind, RecurrentKind
from cochef.agents.networks import Network, ObservationSpec
from cochef.benchmarks.learning_time import TOGETHER, LearningTimes, learn
from cochef.benchmarks.multiply_adds import multiply_adds, update_multiply_adds
from cochef.benchmarks.peers.service import LearningTime
from cochef.benchmarks.training import (
    IterationTiming,
    TrainingBenchmark,
    TrainingSpeed,
    measure,
)
from cochef.cli.bench_tables import learning_table, profile_table, training_table
from cochef.errors import InputError
from cochef.kitchen import layouts
from cochef.learning import reward_config
from cochef.learning.config import TrainingConfig
from cochef.methods import hsp, sp

PEERS = Path(".venv-peers") / "bin" / "python"
LAYOUT = layouts.get("coordination_ring")
REWARDS = reward_config.shipped(LAYOUT)
ITERATION = 64 * 40
WINDOW = 10  # iterations of the 64 episodes of 400 steps that a mean is over
TINY = TrainingConfig(
    kitchens=64,
    rollout_steps=40,
    random_starts=0.0,
    total_steps=12 * ITERATION,
    epochs=1,
    minibatches=1,
    network=NetworkConfig(hidden=(4, 4)),
)
RECURRENT = replace(
    TINY,
    kitchens=8,
    network=NetworkConfig(hidden=(4, 4), recurrent=4, recurrent_kind=RecurrentKind.MINGRU),
)


def quiet(_):
    pass


def network(config, shape, outputs):
    spec = ObservationSpec(shape, (1.0,) * shape[-1])
    return eqx.filter_eval_shape(Network, config, spec, outputs, 1.0, jax.random.key(0))


def test_a_layer_takes_three_products_but_the_first_needs_no_gradient_of_its_input():
    assert (
        multiply_adds(network(NetworkConfig(hidden=(4, 3)), (5,), 2))
        == 3 * (5 * 4 + 4 * 3 + 3 * 2) - 5 * 4
    )


def test_a_recurrent_layer_takes_the_products_of_its_three_gates():
    recurrent = network(NetworkConfig(hidden=(4,), recurrent=2), (5,), 3)
    assert multiply_adds(recurrent) == 3 * (5 * 4 + 4 * 3 * 2 + 2 * 3 * 2 + 2 * 3) - 5 * 4


def test_a_mingru_takes_the_products_of_its_two_gates():
    config = NetworkConfig(hidden=(4, 3), recurrent=4, recurrent_kind=RecurrentKind.MINGRU)
    layers = 5 * 4 + 4 * 2 * 4 + 4 * 3 + 3 * 2
    assert multiply_adds(network(config, (5,), 2)) == 3 * layers - 5 * 4


def test_a_convolution_takes_its_products_in_every_cell():
    filtering = network(
        NetworkConfig(ObservationKind.GRID, channels=(5, 6), hidden=(7,)), (2, 3, 4), 3
    )
    first = 6 * 9 * 4 * 5
    second = 6 * 9 * 5 * 6
    flat = 6 * 6 * 7
    head = 7 * 3
    assert multiply_adds(filtering) == 3 * (first + second + flat + head) - first


def test_an_update_takes_both_seats_of_every_step_in_every_epoch_whoever_plays_them():
    trainer = sp.POPULATION.trainer(LAYOUT, REWARDS, TINY, 2, seed=0)
    (entries,) = trainer.environment.observation_spec.shape
    actor, critic = (3 * (entries * 4 + 4 * 4 + 4 * outputs) - entries * 4 for outputs in (6, 1))
    assert update_multiply_adds(trainer) == 2 * 2 * ITERATION * (actor + critic)
    assert update_multiply_adds(
        hsp.POPULATION.trainer(LAYOUT, REWARDS, TINY, 2, seed=0)
    ) == update_multiply_adds(trainer)
    more_epochs = sp.POPULATION.trainer(LAYOUT, REWARDS, replace(TINY, epochs=3), 2, seed=0)
    assert update_multiply_adds(more_epochs) == 3 * update_multiply_adds(trainer)
    config = replace(TINY, network=replace(TINY.network, shared_trunk=True))
    one_trunk = sp.POPULATION.trainer(LAYOUT, REWARDS, config, 2, seed=0)
    value_head = 3 * (4 * 4 + 4 * 1)
    assert update_multiply_adds(one_trunk) == 2 * 2 * ITERATION * (actor + value_head)


@pytest.mark.long
def test_the_quick_command_shows_our_rates_and_where_the_time_goes_on_all_cores(tmp_path):
    out = tmp_path / "training.json"
    command = [
        Path(sys.executable).with_name("cochef"),
        "bench",
        "training",
        "--preset",
        "smoke",
        "--quick",
        "--out",
        out,
    ]
    printed = " ".join(
        subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    )
    for words in ("self-play", "HSP", "adaptive agents", "advantages", "GFLOPS", "matrix product"):
        assert words in printed
    numbers = json.loads(out.read_text())
    assert [(timing["method"], timing["members"]) for timing in numbers["timings"]] == [
        ("self-play", 8),
        ("HSP", 8),
        ("adaptive agents", 4),
    ]
    for timing in numbers["timings"]:
        assert timing["rates"] == [timing["steps"] / timing["iteration"][0]] == [timing["rate"]]
        assert timing["rollout"][0] > 0
        assert timing["times_peer"] is None
    assert numbers["biased_share"] > 0
    assert numbers["matrix_product_multiply_adds_a_second"][0] > 1e8
    assert numbers["config"]["kitchens"] == 8
    assert numbers["learning_times"] is None
    assert (
        len(numbers["machine"]["devices"]) >= numbers["machine"]["cores"]
        or jax.default_backend() != "cpu"
    )


def test_learning_stops_once_every_member_has_arrived_or_when_all_is_learned():
    trainer = sp.POPULATION.trainer(LAYOUT, REWARDS, TINY, 2, seed=0)
    for learnt in learn(trainer, target=-1.0, compiled_in=3.0):
        assert (learnt.reached, learnt.steps, learnt.compile_seconds) == (
            True,
            WINDOW * ITERATION,
            3.0,
        )
        assert learnt.mean_return >= 0
        assert learnt.seconds > 0
    for learnt in learn(trainer, target=1e6, compiled_in=3.0):
        assert (learnt.reached, learnt.steps) == (False, TINY.total_steps)


def arrived(seconds, reached=True):
    return LearningTime(reached, 101.0 if reached else 7.0, 1_000, seconds, 5.0)


def test_learning_times_are_compared_by_medians_and_only_of_those_who_arrive():
    times = LearningTimes(
        100.0,
        (arrived(2.0), arrived(1.0), arrived(9.0)),
        (arrived(4.0), arrived(8.0)),
        (arrived(8.0),) * 3,
    )
    assert times.share == 0.25
    assert times.together_seconds == 4.0
    assert replace(times, alone=(arrived(1.0), arrived(1.0, reached=False))).share is None
    assert (
        replace(times, together=(arrived(1.0), arrived(9.0, reached=False))).together_seconds
        is None
    )
    assert replace(times, peer=()).share is None


@pytest.fixture
def speed():
    plain = IterationTiming(
        "self-play",
        members=4,
        steps=100,
        multiply_adds=60,
        iteration=(1.0, 2.0, 4.0),
        rollout=(0.5, 0.5, 1.0),
        update=(0.25, 1.0, 2.0),
    )
    biased = replace(plain, method="HSP", iteration=(2.0, 2.0, 5.0))
    agents = replace(plain, method="adaptive agents")
    times = LearningTimes(100.0, (arrived(2.0),), (arrived(4.0),), (arrived(8.0, reached=False),))
    return TrainingSpeed(
        layout="ring",
        config=TINY,
        second_stage=RECURRENT,
        timings=(plain, biased, agents),
        product=(480.0, 240.0, 30.0),
        peer_rates={"a peer": (10.0, 10.0, 50.0), "a recurrent peer": (1.0, 1.0, 1.0)},
        learning_times=times,
    )


def test_ratios_are_of_the_same_round(speed):
    plain, _, agents = speed.timings
    assert plain.advantages == (0.25, 0.5, 1.0)
    assert plain.rates == (100.0, 50.0, 25.0)
    assert speed.biased_share == 0.8
    assert speed.product_share(plain) == 0.5
    assert speed.times_peer(plain) == 5.0
    assert speed.times_peer(agents) == 50.0
    assert replace(speed, peer_rates={}).times_peer(plain) is None


def test_the_numbers_are_fit_for_a_file(speed):
    written = json.loads(json.dumps(speed.to_json()))
    network = written["config"]["network"]
    assert (network["observation"], network["recurrent_kind"]) == ("compact", "gru")
    assert network["hidden"] == [4, 4]
    assert written["second_stage"]["network"]["recurrent_kind"] == "mingru"
    assert written["peer_rates"]["a peer"] == [10.0, 10.0, 50.0]


def test_the_tables_show_the_peer_and_who_did_not_arrive(speed):
    console = Console(width=200)
    with console.capture() as shown:
        console.print(training_table(speed), profile_table(speed))
        console.print(learning_table(speed.learning_times, "a peer"))
    printed = " ".join(shown.get().split())
    assert printed.count("a peer") >= 3
    assert "not within 8.0" in printed
    assert "0.80 of the rate of self-play" in printed
    assert "0.25 of the time of a peer" in printed


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"rounds": 0}, "rounds is 0; it takes a whole number from 1"),
        ({"seeds": -1}, "seeds is -1; it takes a whole number from 0"),
        ({"populations": ()}, "it takes at least one"),
        ({"populations": (0,)}, "it takes at least one"),
    ],
)
def test_a_benchmark_that_makes_no_sense_is_refused(wrong, message):
    with pytest.raises(InputError, match=message):
        TrainingBenchmark(LAYOUT, TINY, RECURRENT, **wrong)


@pytest.mark.long
@pytest.mark.skipif(not PEERS.exists(), reason="the peers' environment is not there")
def test_both_sides_are_measured_in_the_same_rounds_and_learn():
    benchmark = TrainingBenchmark(
        LAYOUT, TINY, RECURRENT, populations=(2,), rounds=2, seconds=0.0, seeds=1, target=1e6
    )
    speed = measure(benchmark, PEERS, quiet)
    assert list(speed.peer_rates) == ["JaxMARL's IPPO", "JaxMARL's recurrent IPPO"]
    assert all(len(rates) == 2 for rates in speed.peer_rates.values())
    assert len(speed.product) == len(speed.timings[0].rates) == 2
    times = speed.learning_times
    assert [len(side) for side in (times.alone, times.peer, times.together)] == [1, 1, TOGETHER]
    assert all(learnt.compile_seconds > 0 for learnt in times.alone + times.together)
    assert times.share is None
