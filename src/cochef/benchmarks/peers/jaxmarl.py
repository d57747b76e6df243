"""JaxMARL's Overcooked: as its users call it, and with a given start state, which spares it drawing one a step."""

import importlib
import json
import sys
import warnings
from typing import Any

import jax
from jaxtyping import Array, Int, Key

from cochef.benchmarks.loop import Runner, Shown, Simulator, State
from cochef.benchmarks.peers.service import serve

CHEFS = ("agent_0", "agent_1")

_TILES = str.maketrans({"X": "W", "D": "B", "S": "X", "1": "A", "2": "A"})


def main(rows: list[str], kitchens: int, **_: object) -> None:
    """Measure it in this kitchen."""
    game = overcooked(rows)
    start = game.reset(jax.random.key(0))[1]
    serve(
        {
            "JaxMARL": Runner(_simulator(game, None), kitchens),
            "JaxMARL, start given": Runner(_simulator(game, start), kitchens),
        }
    )


def overcooked(rows: list[str]) -> Any:  # noqa: ANN401
    """Its game in this kitchen."""
    with warnings.catch_warnings(action="ignore"):
        package = importlib.import_module("jaxmarl.environments.overcooked")
        return package.Overcooked(layout=package.layout_grid_to_dict("\n".join(row.translate(_TILES) for row in rows)))


def _simulator(game: Any, start: State | None) -> Simulator:  # noqa: ANN401
    def begin(key: Key[Array, ""], kitchens: int) -> State:
        return jax.vmap(game.reset)(jax.random.split(key, kitchens))[1]

    def step(key: Key[Array, ""], state: State, actions: Int[Array, "2 kitchens"]) -> tuple[State, Shown]:
        def one(key: Key[Array, ""], state: State, actions: Int[Array, "2"]) -> tuple[State, Shown]:
            views, state, rewards, _, told = game.step(key, state, dict(zip(CHEFS, actions, strict=True)), start)
            return state, (views, rewards, told)

        return jax.vmap(one, in_axes=(0, 0, 1))(jax.random.split(key, actions.shape[1]), state, actions)

    return Simulator(begin, step)


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
