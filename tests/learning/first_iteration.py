"""A small population before and after its first iteration, as arrays by name.

Also from a process with more devices:

python -m tests.learning.first_iteration DEVICES METHOD MEMBERS FILE
"""

import sys
from dataclasses import replace

import jax
import numpy as np

from cochef.agents.network_config import NetworkConfig
from cochef.experiments.pipeline import population
from cochef.kitchen import layouts


def trainer(method, members, seed=0):
    """Learners in a small layout whose episodes are as long as two rollouts."""
    layout = replace(layouts.get("cramped_room"), horizon=16)
    stage = population(method, layout, "smoke", seed, members)
    training = replace(
        stage.training, kitchens=8, rollout_steps=8, network=NetworkConfig(hidden=(8,))
    )
    return replace(stage, training=training).trainer


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


if __name__ == "__main__":
    jax.config.update("jax_num_cpu_devices", int(sys.argv[1]))
    assert trainer(sys.argv[2], int(sys.argv[3])).mesh.size == int(sys.argv[1])
    np.savez(sys.argv[4], **first_iteration(sys.argv[2], int(sys.argv[3])))
