"""JaxMARL's Overcooked: as its users call it, with a given start state, and with a shard a core.

A given start state spares it drawing one in every step.
"""

import importlib
import json
import os
import sys
import warnings
from typing import Any

import jax
from jaxtyping import Array, Int, Key

from cochef.benchmarks.loop import Simulator, SimulatorRunner, SimulatorState, StepOutput
from cochef.benchmarks.peers.loops import JaxEnvironment
from cochef.benchmarks.peers.service import serve

CHEFS = ("agent_0", "agent_1")

_TILES = str.maketrans({"X": "W", "D": "B", "S": "X", "1": "A", "2": "A"})


def main(rows: list[str], kitchens: int, from_python: bool = False, **_: object) -> None:
    """Serve measurements in this layout: of compiled loops, or of steps called from Python."""
    cores = os.cpu_count() or 1
    jax.config.update("jax_num_cpu_devices", cores)
    env = overcooked(rows)
    if from_python:
        mapped = JaxEnvironment(env, kitchens)
        serve({"JaxMARL": JaxEnvironment(env, 1), "JaxMARL, vmap": mapped})
        return
    start = env.reset(jax.random.key(0))[1]
    given = _simulator(env, start)
    simulators = {
        "JaxMARL": SimulatorRunner(_simulator(env, None), kitchens),
        "JaxMARL, start given": SimulatorRunner(given, kitchens),
    }
    if kitchens % cores == 0:
        name = "JaxMARL, start given, a shard a core"
        simulators[name] = SimulatorRunner(given, kitchens, cores)
    serve(simulators)


def overcooked(rows: list[str]) -> Any:  # noqa: ANN401
    """Make JaxMARL's environment of this layout."""
    with warnings.catch_warnings(action="ignore"):
        package = importlib.import_module("jaxmarl.environments.overcooked")
        grid = "\n".join(row.translate(_TILES) for row in rows)
        return package.Overcooked(layout=package.layout_grid_to_dict(grid))


def _simulator(env: Any, start: SimulatorState | None) -> Simulator:  # noqa: ANN401
    def reset(key: Key[Array, ""], kitchens: int) -> SimulatorState:
        return jax.vmap(env.reset)(jax.random.split(key, kitchens))[1]

    def step(
        key: Key[Array, ""], state: SimulatorState, actions: Int[Array, "2 kitchens"]
    ) -> tuple[SimulatorState, StepOutput]:
        def one(
            key: Key[Array, ""], state: SimulatorState, actions: Int[Array, "2"]
        ) -> tuple[SimulatorState, StepOutput]:
            by_chef = dict(zip(CHEFS, actions, strict=True))
            observations, state, rewards, _, info = env.step(key, state, by_chef, start)
            return state, (observations, rewards, info)

        keys = jax.random.split(key, actions.shape[1])
        return jax.vmap(one, in_axes=(0, 0, 1))(keys, state, actions)

    return Simulator(reset, step)


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
