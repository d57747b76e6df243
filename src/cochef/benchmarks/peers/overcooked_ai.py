"""The reference engine, overcooked_ai: one kitchen stepped from Python, losslessly encoded."""

import importlib
import json
import random
import sys
import time
from types import ModuleType
from typing import Any

from cochef.benchmarks.peers.service import serve

_EPISODE = 400


class ReferenceEngine:
    """The rules of overcooked_ai, played at random; a new episode follows each that ends."""

    def __init__(self, rows: list[str], orders: list[list[str]]) -> None:
        """Load the package and play once."""
        # The package registers itself with gym, which is not installed here; this stands in for it.
        gym = {name: ModuleType(name) for name in ("gym", "gym.envs", "gym.envs.registration")}
        vars(gym["gym.envs.registration"])["register"] = _ignore
        sys.modules.update(gym)
        rules = importlib.import_module("overcooked_ai_py.mdp.overcooked_mdp")
        self._actions = importlib.import_module("overcooked_ai_py.mdp.actions").Action.ALL_ACTIONS
        all_orders = [{"ingredients": ingredients} for ingredients in orders]
        grid_world = rules.OvercookedGridworld
        self._rules: Any = grid_world.from_grid(rows, {"start_all_orders": all_orders})
        self._random = random.Random(0)
        self._state: Any = self._rules.get_standard_start_state()
        self._time = 0
        self.rate(seconds=0.0)

    def rate(self, seconds: float) -> float:
        """Kitchen steps a second, over at least so many seconds."""
        steps = 0
        begun = time.perf_counter()
        while steps == 0 or time.perf_counter() - begun < seconds:
            choices = [self._random.choices(self._actions, k=20) for _ in range(2)]
            for actions in zip(*choices, strict=True):
                self._step(actions)
                steps += 1
        return steps / (time.perf_counter() - begun)

    def _step(self, actions: tuple[Any, Any]) -> int:
        """Advance the kitchen; the number depends on both observations, as in the compiled loop."""
        self._state, _ = self._rules.get_state_transition(self._state, actions)
        self._time += 1
        if self._time == _EPISODE:
            self._state = self._rules.get_standard_start_state()
            self._time = 0
        observations = self._rules.lossless_state_encoding(self._state)
        return sum(int(one.max()) for one in observations)

    def compile_seconds(self) -> None:
        """Nothing is compiled."""


def main(rows: list[str], orders: list[list[str]], **_: object) -> None:
    """Serve measurements in this layout; the engine steps one kitchen, whatever is asked for."""
    serve({"overcooked_ai": ReferenceEngine(rows, orders)})


def _ignore(**_: object) -> None:
    pass


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
