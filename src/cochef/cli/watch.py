"""`cochef watch`: see two agents cook together, in the terminal or in a file."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.text import Text

from cochef import methods
from cochef.cli.arguments import LayoutName, check_ending, check_layout, check_seed
from cochef.cli.output import print_line
from cochef.files import write_whole
from cochef.validation import positive_number, whole_number

if TYPE_CHECKING:
    from cochef.kitchen.layout import Layout
    from cochef.kitchen.render import Moment
    from cochef.kitchen.trajectories import Trajectory

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


SHIPPED = "shipped"


@dataclass
class Watch:
    """Watch two agents play an episode, live in the terminal or as a picture or film in a file."""

    layout: LayoutName = "coordination_ring"

    agents: tuple[str, str] = (SHIPPED, SHIPPED)
    """Who plays chef 1 and chef 2: names such as random, stay or script:delivery, or own code;
    `shipped` is an agent that ships for the layout."""

    seed: int = 0
    """The same seed gives the same episode."""

    steps: int | None = None
    """Stop after so many steps; to the end of the episode if not given."""

    speed: float = 6.0
    """Steps a second."""

    out: Path | None = None
    """Write to this file instead: .gif or .mp4, .png for the last state, .jsonl for a replay."""

    tile_size: int = 64
    """Pixels that a cell of the layout takes in the file."""

    def run(self) -> int:
        """Play the episode and show it."""
        self._check()
        from cochef.kitchen import layouts, render

        layout = layouts.get(self.layout)
        first, second = self.agents
        ships = shipped_pair(layout)
        agents = (
            ships[0] if first == SHIPPED else first,
            ships[1] if second == SHIPPED else second,
        )
        trajectory = play(layout, agents, self.seed)
        shown = None if self.steps is None else self.steps + 1
        moments = islice(render.moments(trajectory), shown)
        if self.out is None:
            show(layout, moments, agents, self.speed)
            return 0
        if self.out.suffix.lower() == RECORDING:
            write_recording(self.out, layout, trajectory, agents, self)
        else:
            write(self.out, layout, moments, self.speed, self.tile_size)
        print_line(f"written: {self.out}")
        return 0

    def _check(self) -> None:
        """Refuse what cannot be used before any work is done."""
        check_seed(self.seed)
        check_layout(self.layout)
        if self.steps is not None:
            whole_number(self.steps, "steps", 1)
        positive_number(self.speed, "speed", MAX_SPEED, "steps a second")
        if self.out is not None:
            check_ending(self.out, ENDINGS)


def shipped_pair(layout: "Layout") -> tuple[str, str]:
    """Two agents that ship and know a layout: an HSP agent and a human proxy, else scripts."""
    from cochef.agents import scripted, shipped
    from cochef.kitchen import layouts

    trained = [
        f"{kind}:{name}"
        for kind in (methods.OWN, "human-proxy")
        for name in shipped.layouts_of(kind)
        if layouts.is_shipped(layout, name)
    ]
    scripts = [f"script:{name}" for name in scripted.names_for(layout)]
    first, second, *_ = [*trained, *scripts, "random", "random"]
    return first, second


def play(layout: "Layout", agents: tuple[str, str], seed: int) -> "Trajectory":
    """Let these agents play an episode; own agents' speed is told."""
    import jax

    from cochef.agents import hosting
    from cochef.agents.names import load
    from cochef.rollout import record

    first, second = (load(name, layout, own_code=True) for name in agents)
    played = record(layout, (first, second), jax.random.key(seed), 1)
    for caller in hosting.callers([first, second]):
        print_line(caller.describe_speed(), stderr=True)
    return played


def write_recording(
    path: Path,
    layout: "Layout",
    trajectory: "Trajectory",
    agents: tuple[str, str],
    asked: Watch,
) -> None:
    """Write the episode, or its first steps, as a line that `cochef replay` reads."""
    import jax

    from cochef.kitchen import episodes

    episode = jax.device_get(trajectory).of_kitchen(0)
    if asked.steps is not None:
        episode = episode.first(asked.steps)
    line = episodes.write_line(layout, episode, pair=list(agents), seed=asked.seed)
    write_whole(path, (line + "\n").encode())


def write(
    path: Path, layout: "Layout", moments: Iterator["Moment"], speed: float, tile_size: int
) -> None:
    """Write the moments in the form that the file's ending asks for."""
    from cochef.kitchen.render import render_moments, save_gif, save_mp4, save_png

    match path.suffix.lower():
        case ".gif":
            save_gif(render_moments(layout, moments, tile_size), path, steps_per_second=speed)
        case ".mp4":
            save_mp4(render_moments(layout, moments, tile_size), path, steps_per_second=speed)
        case _:
            *_, last = moments
            save_png(next(render_moments(layout, [last], tile_size)), path)


def show(
    layout: "Layout", moments: Iterator["Moment"], agents: tuple[str, str], speed: float
) -> None:
    """Play the moments in the terminal until they end or Ctrl-C.

    If the output goes elsewhere, only the last one is printed.
    """
    console = Console(highlight=False)
    if not console.is_terminal:
        *_, last = moments
        console.print(draw_moment(layout, last, agents))
        return
    with Live(console=console, auto_refresh=False) as live:
        for moment in moments:
            live.update(draw_moment(layout, moment, agents), refresh=True)
            time.sleep(1 / speed)


def draw_moment(layout: "Layout", moment: "Moment", agents: tuple[str, str]) -> Panel:
    """Draw a moment as text in colour: kitchen, score, time, what the chefs hold and do next."""
    from cochef.kitchen.text import draw, to_json

    data = to_json(layout, moment.state)
    lines = [_coloured(line) for line in draw(layout, moment.state).splitlines()]
    score = f"score {moment.score:g}   time {data['t']} / {layout.horizon}"
    lines.append(Text(f"\n{score}", style="bold"))
    for seat, agent in enumerate(agents):
        *_, held = data["chefs"][seat]
        action = moment.next_actions[seat]
        text = f"chef {seat + 1} ({agent}) holds {held or 'nothing'}"
        if action:
            text += f", does {action}"
        lines.append(Text(text, style=_CHEFS[seat]))
    return Panel(Group(*lines), title=layout.name, expand=False, padding=(1, 2))


def _coloured(line: str) -> Text:
    """Colour a line of the text drawing by what stands in its cells."""
    text = Text(line)
    for start in range(0, len(line), _CELL):
        cell = line[start : start + _CELL].rstrip()
        text.stylize(_STYLES.get(cell[:1], ""), start, start + len(cell))
    return text
