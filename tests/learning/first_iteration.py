"""A small population before and after its first iteration, as arrays by name.

Also from a process with more devices:

python -m tests.learning.first_iteration DEVICES MEMBERS DIRECTORY METHODS...
"""

import sys
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from cochef.agents.actor_critic import actor, observation_spec
from cochef.agents.network_config import NetworkConfig, RecurrentKind
from cochef.experiments.pipeline import population
from cochef.kitchen import layouts
from cochef.kitchen.constants import Action
from cochef.learning.partner_sampling import NetworkGroup, PartnerPool, Sampling
from cochef.learning.reward_config import shipped
from cochef.methods.parts.second_stage import adaptive_agents

AGENTS = "agents"  # in place of a method: adaptive agents with a pool
LAYOUT = replace(layouts.get("cramped_room"), horizon=16)
NETWORK = NetworkConfig(hidden=(8,))
SHARED = replace(NETWORK, shared_trunk=True)
MINGRU = replace(SHARED, recurrent=8, recurrent_kind=RecurrentKind.MINGRU)


def trainer(method, members, seed=0):
    """Learners in a small layout whose episodes are as long as two rollouts.

    HSP's share a trunk with their critics and partly begin as policies; adaptive agents also have
    a minGRU.
    """
    stage = population("sp" if method == AGENTS else method, LAYOUT, "smoke", seed, members)
    training = replace(stage.training, kitchens=8, rollout_steps=8, network=NETWORK)
    if method == AGENTS:
        training = replace(training, network=MINGRU, chunk=4)
        pool = PartnerPool((NetworkGroup(policies(4, seed=1)),), Sampling.PRIORITISED)
        parents = policies(members)
        return adaptive_agents(LAYOUT, shipped(LAYOUT), training, pool, members, seed, parents)
    if method == "hsp":
        training = replace(training, network=SHARED)
        return replace(stage, training=training).trainer_from(policies(members))
    return replace(stage, training=training).trainer


def policies(number, seed=0):
    """Feed-forward policies, [number], each of which depends on its own number alone."""
    spec = observation_spec(LAYOUT, NETWORK.observation)

    def policy(number):
        key = jax.random.fold_in(jax.random.key(seed), number)
        return actor(NETWORK, spec, len(Action), key)

    return jax.vmap(policy)(jnp.arange(number))


def arrays(tree, prefix):
    """The leaves of a tree by their paths."""
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    return {prefix + jax.tree_util.keystr(path): np.asarray(leaf) for path, leaf in leaves}


def first_iteration(method, members):
    """The actors before it, and everything after it, members first."""
    one = trainer(method, members)
    state = one.begin()
    before = arrays(state.learners.actor, "before")
    state, metrics = one.iterate(state, 0)
    return before | arrays(state, "after") | arrays(metrics, "metrics")


def main(devices, members, directory, *methods):
    """Write the first iteration of every method, computed on so many devices, into a directory."""
    jax.config.update("jax_num_cpu_devices", int(devices))
    for method in methods:
        assert trainer(method, int(members)).mesh.size == int(devices)
        np.savez(Path(directory) / method, **first_iteration(method, int(members)))


if __name__ == "__main__":
    main(*sys.argv[1:])
