"""A window that shows a kitchen being played."""

from typing import Any

import numpy as np

from cochef.adapters.common import FRAMES_PER_SECOND
from cochef.errors import InputError, missing_extra


class Window:
    """Shows pictures at the pace of a game; opens with the first."""

    def __init__(self, title: str) -> None:
        """Nothing is open yet."""
        self._title = title
        self._screen: Any = None

    def show(self, picture: np.ndarray) -> None:
        """Show a picture until the next is due."""
        pygame = _pygame()
        if self._screen is None:
            try:
                pygame.display.init()  # and no sound, which some machines cannot open
                self._screen = pygame.display.set_mode(picture.shape[1::-1])
            except pygame.error as error:
                raise InputError(
                    f"no window can be opened here ({error}); use render_mode='rgb_array'"
                ) from error
            pygame.display.set_caption(self._title)
            self._clock = pygame.time.Clock()
        self._screen.blit(pygame.surfarray.make_surface(picture.swapaxes(0, 1)), (0, 0))
        pygame.event.pump()
        pygame.display.flip()
        self._clock.tick(FRAMES_PER_SECOND)

    def close(self) -> None:
        """Close the window if it is open."""
        if self._screen is not None:
            self._screen = None
            _pygame().display.quit()


def _pygame() -> Any:  # noqa: ANN401
    try:
        import pygame  # noqa: PLC0415  (only who wants a window needs it)
    except ImportError as error:
        raise ImportError(missing_extra(error.name, "envs")) from error
    return pygame
