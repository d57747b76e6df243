"""Running kitchens as pictures, as text or in a window."""

import numpy as np

from cochef.adapters.programs import KitchenStepper
from cochef.adapters.window import Window
from cochef.kitchen.layout import Layout
from cochef.kitchen.text import draw


class Renderer:
    """Renders the kitchens of a stepper as a render mode asks, each with its score so far."""

    def __init__(self, stepper: KitchenStepper, layout: Layout, mode: str | None) -> None:
        """The mode is one of RENDER_MODES or None."""
        self._stepper = stepper
        self._layout = layout
        self._mode = mode
        self._window = Window(f"CoChef: {layout.name}") if mode == "human" else None

    def begin(self) -> None:
        """Episodes have begun: their scores are 0, and a window shows the first."""
        self._scores = np.zeros(self._stepper.kitchens)
        self._update_window()

    def step(self, team_reward: np.ndarray) -> None:
        """A step has been taken: add to the scores, and keep a window up to date."""
        if self._mode is not None:
            self._scores += team_reward
            self._update_window()

    def render(self, kitchen: int = 0) -> np.ndarray | str | None:
        """A picture or a text; None for a window, which shows it, and without a mode."""
        if self._mode is None:
            return None
        self._stepper.check_begun()
        state = self._stepper.state(kitchen)
        if self._mode == "ansi":
            return draw(self._layout, state)
        # Pillow is loaded only when a picture is asked for.
        from cochef.kitchen.render import render_state  # noqa: PLC0415

        score = float(self._scores[kitchen])
        picture = np.array(render_state(self._layout, state, score=score).convert("RGB"))
        if self._window is None:
            return picture
        self._window.show(picture)
        return None

    def close(self) -> None:
        """Close the window, if there is one."""
        if self._window is not None:
            self._window.close()

    def _update_window(self) -> None:
        if self._window is not None:
            self.render()
