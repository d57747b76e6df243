"""A running kitchen as a picture, as text or in a window."""

import numpy as np

from cochef.adapters.window import Window
from cochef.kitchen.layout import Layout
from cochef.kitchen.state import State
from cochef.kitchen.text import draw


class Renderer:
    """Renders a kitchen as a render mode asks."""

    def __init__(self, layout: Layout, mode: str | None) -> None:
        """The mode is one of RENDER_MODES or None."""
        self._layout = layout
        self._mode = mode
        self._window = Window(f"CoChef: {layout.name}") if mode == "human" else None

    def render(self, state: State, score: float) -> np.ndarray | str | None:
        """A picture or a text; None for a window, which shows it, and without a mode."""
        if self._mode is None:
            return None
        if self._mode == "ansi":
            return draw(self._layout, state)
        # Pillow is loaded only when a picture is asked for.
        from cochef.kitchen.render import render_state  # noqa: PLC0415

        picture = np.array(render_state(self._layout, state, score=score).convert("RGB"))
        if self._window is None:
            return picture
        self._window.show(picture)
        return None

    def show(self, state: State, score: float) -> None:
        """Keep a window up to date; nothing in the other modes."""
        if self._window is not None:
            self.render(state, score)

    def close(self) -> None:
        """Close the window, if there is one."""
        if self._window is not None:
            self._window.close()
