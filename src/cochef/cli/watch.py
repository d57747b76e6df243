"""`cochef watch`: see two agents cook together, in the terminal or in a file."""

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.text import Text

from cochef.cli.seeds import check_seed
from cochef.errors import InputError
from cochef.files import write_whole

if TYPE_CHECKING:
    from PIL.Image import Image

    from cochef.kitchen.layout import Layout
    from cochef.kitchen.render import Moment
    from cochef.rollout import Trajectory

RECORDING = ".jsonl"
ENDINGS = (".gif", ".mp4", ".png", RECORDING)
MAX_SPEED = 60

_CELL = 4  # characters that a cell takes in the text drawing
_CHEFS = ("blue", "green")
_STYLES = {
    "1": "bold white on blue",
    "2": "bold black on green",
    "P": "bold red",
    "O": "yellow",
    "T": "bright_red",
    "D": "bright_white",
    "S": "bold cyan",
    "X": "dim",
}


@dataclass
class Watch:
    """Watch two agents play an episode, live in the terminal or as a picture or film in a file."""

    layout: str = "coordination_ring"
    """A kitchen that ships with the package (see `cochef layouts`), or the path of a layout file."""

    agents: tuple[str, str] = ("random", "random")
    """Who plays chef 1 and chef 2: names such as random, stay or script:delivery."""

    seed: int = 0
    """The same seed gives the same episode."""

    steps: int | None = None
    """Stop after so many steps; to the end of the episode if not given."""

    speed: float = 6.0
    """Steps a second."""

    out: Path | None = None
    """Write to this file instead: .gif or .mp4 for the episode, .png for its last state, .jsonl for `cochef replay`."""

    tile_size: int = 64
    """Pixels that a cell of the kitchen takes in the file."""

    def run(self) -> int:
        """Play the episode and show it."""
        self._check()
        from cochef.kitchen import layouts, render

        layout = layouts.get(self.layout)
        recording = play(layout, self.agents, self.seed)
        moments = islice(render.moments(recording), None if self.steps is None else self.steps + 1)
        if self.out is not None and self.out.suffix.lower() == RECORDING:
            write_recording(layout, recording, self)
        elif self.out is not None:
            write(layout, moments, self.out, self.speed, self.tile_size)
        else:
            show(layout, moments, self.agents, self.speed)
        if self.out is not None:
            Console(highlight=False, soft_wrap=True).print(f"written: {self.out}", markup=False)
        return 0

    def _check(self) -> None:
        """Complain about what cannot be used before any work is done."""
        check_seed(self.seed)
        if self.steps is not None and self.steps < 1:
            raise InputError(f"steps {self.steps}; allowed: 1 and more")
        if not 0 < self.speed <= MAX_SPEED:
            raise InputError(f"speed {self.speed:g}; allowed: above 0, up to {MAX_SPEED} steps a second")
        if self.out is not None and self.out.suffix.lower() not in ENDINGS:
            raise InputError(f"unknown ending of {str(self.out)!r}; known: {', '.join(ENDINGS)}")


def play(layout: "Layout", agents: tuple[str, str], seed: int) -> "Trajectory":
    """An episode that these agents play."""
    import jax

    from cochef.agents.names import load
    from cochef.rollout import record

    first, second = agents
    return record(layout, (load(first, layout), load(second, layout)), jax.random.key(seed), 1)


def write_recording(layout: "Layout", recording: "Trajectory", asked: Watch) -> None:
    """Write the episode, or its first steps, as a line that `cochef replay` reads."""
    import jax

    from cochef.kitchen import episodes

    assert asked.out is not None
    played = jax.device_get(recording)
    states = jax.tree.map(lambda leaf: leaf[1 : None if asked.steps is None else asked.steps + 1, 0], played.states)
    actions, outcomes = jax.tree.map(lambda leaf: leaf[: asked.steps, 0], (played.actions, played.outcomes))
    line = episodes.write_line(layout, states, actions, outcomes, pair=list(asked.agents), seed=asked.seed)
    write_whole(asked.out, (line + "\n").encode())


def write(layout: "Layout", moments: Iterator["Moment"], path: Path, speed: float, tile_size: int) -> None:
    """Write the moments in the form that the file's ending asks for."""
    from cochef.kitchen.render import render_state, save_gif, save_mp4, save_png

    def picture(moment: "Moment") -> "Image":
        return render_state(layout, moment.state, score=moment.score, wants=moment.wants, tile_size=tile_size)

    match path.suffix.lower():
        case ".gif":
            save_gif(map(picture, moments), path, steps_per_second=speed)
        case ".mp4":
            save_mp4(map(picture, moments), path, steps_per_second=speed)
        case _:
            *_, last = moments
            save_png(picture(last), path)


def show(layout: "Layout", moments: Iterator["Moment"], agents: tuple[str, str], speed: float) -> None:
    """Play the moments in the terminal until they end or Ctrl-C; only the last one if the output goes elsewhere."""
    console = Console(highlight=False)
    if not console.is_terminal:
        *_, last = moments
        console.print(view(layout, last, agents))
        return
    with suppress(KeyboardInterrupt), Live(console=console, auto_refresh=False) as live:
        for moment in moments:
            live.update(view(layout, moment, agents), refresh=True)
            time.sleep(1 / speed)


def view(layout: "Layout", moment: "Moment", agents: tuple[str, str]) -> Panel:
    """A moment as text in colour: the kitchen, the score and the time, what each chef holds and wants."""
    from cochef.kitchen.text import draw, to_json

    data = to_json(layout, moment.state)
    lines = [_coloured(line) for line in draw(layout, moment.state).splitlines()]
    lines.append(Text(f"\nscore {moment.score:g}   time {data['t']} / {layout.horizon}", style="bold"))
    for seat, (chef, agent, wish) in enumerate(zip(data["chefs"], agents, moment.wants, strict=True)):
        wants = f", wants {wish}" if wish else ""
        lines.append(Text(f"chef {seat + 1} ({agent}) holds {chef[3] or 'nothing'}{wants}", style=_CHEFS[seat]))
    return Panel(Group(*lines), title=layout.name, expand=False, padding=(1, 2))


def _coloured(line: str) -> Text:
    """A line of the text drawing, its cells in the colours of what stands there."""
    text = Text(line)
    for start in range(0, len(line), _CELL):
        cell = line[start : start + _CELL].rstrip()
        text.stylize(_STYLES.get(cell[:1], ""), start, start + len(cell))
    return text
