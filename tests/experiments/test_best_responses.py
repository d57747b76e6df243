"""Best responses measure agents; they are no agents themselves."""

import json
from dataclasses import replace

import numpy as np
import pytest

from cochef.agents import names, pool, storage
from cochef.errors import InputError
from cochef.experiments import best_responses, pipeline, pools
from cochef.experiments.best_responses import TrainBestResponse
from cochef.experiments.jobs import Job, JobContext
from cochef.experiments.presets import PRESETS
from cochef.experiments.ray_engine import JobResources
from cochef.learning import reward_config
from cochef.learning.partner_sampling import group_agents
from tests.learning.small_runs import LAYOUT

PARTNER = "script:delivery"


@pytest.fixture(scope="module")
def population(tmp_path_factory):
    directory = tmp_path_factory.mktemp("population")
    pipeline.population("sp", LAYOUT, "smoke", members=1).run(JobContext(directory, log=print))
    return directory


@pytest.fixture(scope="module")
def stage():
    training = PRESETS["smoke"].second_stage.training.lasting(640)
    rewards = reward_config.shipped(LAYOUT)
    return TrainBestResponse(LAYOUT, PARTNER, rewards, training, seeds=2, episodes=4, seed=0)


@pytest.fixture(scope="module")
def measured(stage, population, tmp_path_factory):
    directory = tmp_path_factory.mktemp("bound")
    stage.run(JobContext(directory, {"parents": population}))
    return directory


def test_a_bound_has_the_scores_of_all_episodes_by_seat(measured):
    bound = best_responses.parse(json.loads((measured / best_responses.RESULT).read_bytes()))
    assert (bound.partner, bound.episodes) == (PARTNER, 8)
    assert bound.mean == pytest.approx(np.mean([bound.scores[0].mean(), bound.scores[1].mean()]))


def test_a_bound_is_a_training_which_takes_a_gpu(stage):
    job = Job(stage, "bound")
    assert job.trains
    assert JobResources(gpus=1.0).options(job)["num_gpus"] == 1


def test_a_best_response_is_no_agent_and_no_member_of_a_pool(measured, tmp_path):
    path = measured / best_responses.FILE
    assert best_responses.load(path, LAYOUT).network is not None
    with pytest.raises(InputError, match="unknown kind of agent 'best-response'"):
        names.load(str(path), LAYOUT)
    with pytest.raises(InputError, match="a pool takes trained policies"):
        pools.make(tmp_path / "pool", [path], LAYOUT)
    with pytest.raises(InputError, match="cannot be read"):
        pool.read(measured, LAYOUT)
    # Nothing else is left of the training.
    assert list(measured.rglob(f"*{storage.SUFFIX}")) == [path]


def test_the_file_says_to_whom_it_is_a_response(measured):
    card, _ = storage.read(measured / best_responses.FILE)
    assert card.metadata["partner"] == PARTNER
    assert len(card.metadata["returns_in_training"]) == 2


def test_nobody_else_is_trained_with_a_script():
    with pytest.raises(InputError, match="evaluation's partners"):
        group_agents(
            [names.load(PARTNER, LAYOUT)], PRESETS["smoke"].first_stage.network.observation
        )


def test_measuring_again_trains_nothing_and_gives_the_same(stage, measured, population):
    before = (measured / best_responses.RESULT).read_bytes()
    (measured / best_responses.RESULT).unlink()
    stage.run(JobContext(measured, {"parents": population}))
    assert (measured / best_responses.RESULT).read_bytes() == before


def test_the_identity_of_the_partner_is_part_of_the_address(stage):
    other = replace(stage, partner="script:onion_placement")
    assert other.config["partner"] != stage.config["partner"]
    assert stage.config["partner_sha256"] == names.checksums(PARTNER)
    with pytest.raises(InputError, match="a best response to 'stay'; the evaluation's partners"):
        replace(stage, partner="stay")
