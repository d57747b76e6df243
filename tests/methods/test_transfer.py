"""Transfer: who begins as whom, what a run says about it, and that it resumes to the same bits."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from cochef import methods
from cochef.agents.actor_critic import actor, observation_spec
from cochef.agents.network_config import ObservationKind, RecurrentKind
from cochef.agents.networks import Network
from cochef.errors import InputError
from cochef.experiments import pipeline
from cochef.experiments.jobs import Job, JobContext, in_order
from cochef.experiments.pools import PopulationFiles
from cochef.experiments.presets import PRESETS, Overrides
from cochef.experiments.stages import BuildPool, TrainAgents
from cochef.kitchen import layouts
from cochef.kitchen.constants import Action
from cochef.kitchen.events import Event
from cochef.learning import runs, snapshots
from cochef.learning.partner_sampling import NetworkGroup, PartnerIdentity, PartnerPool, Sampling
from cochef.learning.reward_config import shipped
from cochef.methods.hsp import BIASED
from cochef.methods.parts.second_stage import adaptive_agents
from cochef.methods.parts.transfer import parent_members
from tests.learning.small_runs import LAYOUT, outcome
from tests.learning.test_runs import At, StoppedError, stop

ADAPTING = 1 - BIASED  # the role of pi_a
PAIRS = 6
SPEC = observation_spec(LAYOUT, ObservationKind.COMPACT)
SMOKE = PRESETS["smoke"]
STOPPED_AT = 4  # iterations that a stopped run has begun


def test_learners_begin_as_the_best_members_first_and_in_turn():
    returns = np.array([95.0, 20.0, 100.0, 91.0])
    assert parent_members(returns, 3) == [2, 0, 3]
    assert parent_members(returns, 8) == [2, 0, 3, 2, 0, 3, 2, 0]
    assert parent_members(returns, 1) == [2]


def test_members_below_nine_tenths_of_the_best_return_are_left_out():
    assert parent_members(np.array([100.0, 89.9, 90.0]), 3) == [0, 2, 0]


def test_members_with_equal_returns_are_taken_in_their_order_even_if_nobody_has_learned():
    assert parent_members(np.zeros(3), 4) == [0, 1, 2, 0]


def policies(number, seed=0):
    """Feed-forward policies that clearly prefer actions, [number]."""

    def policy(key):
        network = actor(SMOKE.first_stage.network, SPEC, len(Action), key)
        return eqx.tree_at(lambda net: net.head.weight, network, 100 * network.head.weight)

    return jax.vmap(policy)(jax.random.split(jax.random.key(seed), number))


def logits(networks):
    """Of stacked networks on some observations, from the start of an episode."""
    peaks = jnp.asarray(SPEC.peaks, jnp.int32)
    observed = jax.random.randint(jax.random.key(1), (10, 4, len(peaks)), 0, peaks + 1)
    observed = observed.astype(jnp.uint8)
    episode_start = jnp.zeros((10, 4), bool).at[0].set(True)

    def unroll(network: Network):
        return network.unroll(observed, episode_start, network.initial_carry(4))[0]

    return np.asarray(jax.vmap(unroll)(networks))


@pytest.fixture(scope="module")
def pairs():
    """HSP's pairs, with all kinds of weights on orders and onions."""
    stage = pipeline.population("hsp", LAYOUT, "smoke", members=PAIRS)
    kinds = zip(likes_orders(stage.trainer), likes_onions(stage.trainer), strict=True)
    assert len(set(kinds)) == 4
    return stage


def likes_orders(trainer):
    """Which biased policies have a weight on orders."""
    return (np.asarray(trainer.weights.task[:, BIASED]) > 0).tolist()


def likes_onions(trainer):
    """Which biased policies are rewarded for taking onions."""
    onions = trainer.weights.events[:, BIASED, Event.PICKUP_ONION_FROM_DISPENSER]
    return (np.asarray(onions) > 0).tolist()


def learner(state, number):
    """The actors of all members' learner of this number."""
    return jax.tree.map(lambda leaf: leaf[:, number], state.learners.actor)


def test_biased_policies_begin_as_cooks_if_orders_have_a_weight_and_ingredients_none(pairs):
    parents = policies(PAIRS)
    trainer = pairs.trainer_from(parents)
    state = trainer.begin()
    fresh = pairs.trainer.begin()
    cooks = np.array(likes_orders(trainer)) & ~np.array(likes_onions(trainer))
    assert np.array_equal(trainer.parents.taken[:, BIASED], cooks)
    assert trainer.parents.taken[:, ADAPTING].all()
    np.testing.assert_allclose(logits(learner(state, ADAPTING)), logits(parents), rtol=1e-5)
    begun = logits(learner(state, BIASED))
    expected = np.where(cooks[:, None, None, None], logits(parents), logits(learner(fresh, BIASED)))
    np.testing.assert_allclose(begun, expected, rtol=1e-5)
    unlike = np.abs(begun - logits(parents)).max(axis=(1, 2, 3)) > 0.1
    assert np.array_equal(unlike, ~cooks)


def test_without_policies_and_in_populations_that_do_not_transfer_all_weights_are_fresh(pairs):
    assert pairs.trainer.parents is None
    stage = pipeline.population("fcp", LAYOUT, "smoke", members=2)
    assert stage.trainer_from(policies(2)).parents is None


@pytest.mark.parametrize("shared_trunk", [True, False])
def test_adaptive_agents_with_a_carry_begin_nearly_as_the_policy_of_their_number(shared_trunk):
    config = SMOKE.second_stage.training
    config = replace(config, network=replace(config.network, shared_trunk=shared_trunk))
    pool = PartnerPool(
        (NetworkGroup(policies(2, seed=5)),), Sampling.STRATIFIED, PartnerIdentity.ONE_HOT
    )
    parents = policies(3)
    trainer = adaptive_agents(LAYOUT, shipped(LAYOUT), config, pool, 3, 0, parents)
    state = trainer.begin()
    begun = logits(learner(state, 0))
    spread = logits(parents).std()
    assert np.abs(begun - logits(parents)).max() < 0.1 * spread
    for number, other in ((0, 1), (1, 2), (2, 0)):
        assert np.abs(begun[number] - logits(parents)[other]).max() > spread
    if not shared_trunk:
        own = state.learners.critic.layers[0].weight[:, 0, : SPEC.shape[0]]
        assert np.array_equal(own, parents.layers[0].weight)


def test_a_gru_does_not_begin_as_a_feed_forward_policy():
    config = SMOKE.second_stage.training
    network = replace(config.network, recurrent_kind=RecurrentKind.GRU)
    pool = PartnerPool((NetworkGroup(policies(2)),), Sampling.STRATIFIED, PartnerIdentity.NUMBER)
    with pytest.raises(InputError, match="parents with a GRU"):
        adaptive_agents(
            LAYOUT, shipped(LAYOUT), replace(config, network=network), pool, 2, 0, policies(2)
        )


def method_jobs(name, **overrides):
    layout = layouts.get("cramped_room")
    return pipeline.report_job(layout, (name,), "smoke", overrides=Overrides(**overrides))


@pytest.mark.parametrize("method", methods.names())
def test_from_scratch_no_job_has_parents_and_else_agents_with_a_pool_have_some(method):
    scratch = in_order([method_jobs(method, begin="scratch")])
    assert not [job.name for job in scratch if "parents" in job.inputs]
    transferred = in_order([method_jobs(method)])
    with_parents = {job.label for job in transferred if "parents" in job.inputs}
    adapts = {job.label for job in transferred if job.stage.kind == "agents"}
    pairs = {job.label for job in transferred if job.label.startswith("biased")}
    assert with_parents == adapts | pairs
    assert len(adapts) == (method != "sp")


@pytest.mark.parametrize("name", ["hsp-biased", "hsp-agents"])
def test_other_parents_make_another_job(name):
    job = method_jobs("hsp").inputs[name]
    parents = job.inputs["parents"]
    other = Job(replace(parents.stage, seed=1), parents.label)
    assert replace(job, inputs={**job.inputs, "parents": other}).address != job.address
    nobody = {label: found for label, found in job.inputs.items() if label != "parents"}
    assert replace(job, inputs=nobody).address != job.address
    again = Job(parents.stage, "another label", parents.inputs)
    assert replace(job, inputs={**job.inputs, "parents": again}).address == job.address


def short(stage):
    """The stage with fewer iterations."""
    return replace(stage, training=stage.training.lasting(6 * stage.training.steps_per_iteration))


def run(stage, directory, inputs, log=None):
    """The directory of a stage that has run."""
    messages = [] if log is None else log
    stage.run(JobContext(directory, inputs, log=messages.append))
    return directory


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return tmp_path_factory.mktemp("transfer")


@pytest.fixture(scope="module")
def cooks(root):
    """A population with the task reward."""
    return run(short(pipeline.population("fcp", LAYOUT, "smoke", members=2)), root / "cooks", {})


@pytest.fixture(scope="module")
def cook_pool(root, cooks):
    fcp = methods.get("fcp")
    return run(BuildPool(fcp, LAYOUT, {"policies": 2}, 1, 0), root / "pool", {"sp": cooks})


@pytest.fixture(scope="module", params=["pairs", "agents"])
def transferred(request, root, cooks, cook_pool):
    """A stage that transfers, its inputs, and the directory where it ran undisturbed."""
    if request.param == "pairs":
        stage = short(pipeline.population("hsp", LAYOUT, "smoke", members=2))
        inputs = {"parents": cooks}
    else:
        steps = 6 * SMOKE.second_stage.training.steps_per_iteration
        training = SMOKE.second_stage.training.lasting(steps)
        second_stage = replace(SMOKE.second_stage, training=training)
        stage = TrainAgents(LAYOUT, second_stage, shipped(LAYOUT), seed=0)
        inputs = {"parents": cooks, "pool": cook_pool}
    return stage, inputs, run(stage, root / request.param, inputs)


def test_parents_are_final_policies_of_the_best_members(cooks):
    files = PopulationFiles(cooks, LAYOUT)
    last = files.snapshots[-1]
    chosen = parent_members(np.array(last.returns), 3)
    found = files.parents(3)
    for place, member in enumerate(chosen):
        one = jax.tree.map(lambda leaf, place=place: leaf[place], found)
        assert eqx.tree_equal(one, snapshots.load(last.path, LAYOUT, member).network)


def test_the_configuration_of_a_run_says_whose_policies_it_began_as(transferred, cooks):
    _, _, directory = transferred
    assert runs.read_config(directory)["parents"] == PopulationFiles(cooks, LAYOUT).source
    assert "parents" not in runs.read_config(cooks)


def test_a_run_that_began_as_policies_does_not_go_on_from_scratch(transferred):
    stage, inputs, directory = transferred
    nobody = {name: path for name, path in inputs.items() if name != "parents"}
    with pytest.raises(InputError, match="parents"):
        run(stage, directory, nobody)


def test_a_transferred_run_that_was_stopped_ends_as_if_it_had_not_been(
    transferred, tmp_path, monkeypatch
):
    stage, inputs, undisturbed = transferred
    train = runs.train

    def train_and_checkpoint(*arguments, **options):
        return train(*arguments, **{**options, "checkpoint_seconds": 0.0})

    monkeypatch.setattr(runs, "train", train_and_checkpoint)
    with pytest.raises(StoppedError):
        stage.run(JobContext(tmp_path, inputs, [At(STOPPED_AT, stop)], print))
    log = []
    run(stage, tmp_path, inputs, log)
    assert log == [f"{tmp_path}: resuming after iteration {STOPPED_AT - 1}"]
    assert outcome(tmp_path) == outcome(undisturbed)
    assert runs.read_config(tmp_path) == runs.read_config(undisturbed)
