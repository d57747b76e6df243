"""The reference engine, overcooked_ai: one kitchen, stepped from Python, with its lossless encoding."""

import importlib
import json
import random
import sys
import time
from types import ModuleType
from typing import Any

from cochef.benchmarks.peers.service import serve

_EPISODE = 400


class Engine:
    """Plays at random; an episode that ends is followed by the next."""

    def __init__(self, rows: list[str], orders: list[list[str]]) -> None:
        """Ready to be measured in this kitchen."""
        # The package asks gym to list it, and gym is of no use here.
        gym = {name: ModuleType(name) for name in ("gym", "gym.envs", "gym.envs.registration")}
        gym["gym.envs.registration"].register = lambda **_: None  # pyright: ignore[reportAttributeAccessIssue]
        sys.modules.update(gym)
        rules = importlib.import_module("overcooked_ai_py.mdp.overcooked_mdp")
        self._actions = importlib.import_module("overcooked_ai_py.mdp.actions").Action.ALL_ACTIONS
        all_orders = [{"ingredients": ingredients} for ingredients in orders]
        self._rules: Any = rules.OvercookedGridworld.from_grid(rows, {"start_all_orders": all_orders})
        self._random = random.Random(0)
        self._state: Any = self._rules.get_standard_start_state()
        self._time = 0
        self.rate(seconds=0.0)

    def rate(self, seconds: float) -> float:
        """Kitchen steps a second, over at least so many seconds."""
        steps, read, begun = 0, 0, time.perf_counter()
        while steps == 0 or time.perf_counter() - begun < seconds:
            for actions in zip(*(self._random.choices(self._actions, k=20) for _ in range(2)), strict=True):
                read += self._step(actions)
                steps += 1
        return steps / (time.perf_counter() - begun)

    def _step(self, actions: tuple[Any, Any]) -> int:
        self._state, _ = self._rules.get_state_transition(self._state, actions)
        self._time += 1
        if self._time == _EPISODE:
            self._state, self._time = self._rules.get_standard_start_state(), 0
        return sum(int(view.max()) for view in self._rules.lossless_state_encoding(self._state))

    def compile_seconds(self) -> None:
        """Nothing is compiled."""


def main(rows: list[str], orders: list[list[str]], **_: object) -> None:
    """Measure it in this kitchen; it steps one kitchen, however many are asked for."""
    serve({"overcooked_ai": Engine(rows, orders)})


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
