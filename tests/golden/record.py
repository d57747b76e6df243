"""Writes the golden playthroughs anew: `python -m tests.golden.record`.

Every step is checked against the reference engine first; a difference refuses the recording.
Without arguments each file keeps its actions and gets the text that they give now. With names of
layouts, a new episode is played for each: of many short ones, the one with most different events.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from cochef.kitchen import layouts
from cochef.kitchen.dynamics import step
from cochef.kitchen.events import Event
from cochef.kitchen.layout import Layout
from cochef.kitchen.state import start
from cochef.kitchen.text import event_names, to_json
from tests.golden.transcript import Joint, read_actions, transcript
from tests.reference.engine import Engine
from tests.reference.players import Wanderers

FOLDER = Path(__file__).parent / "playthroughs"
_CANDIDATES = 400


class RefusedError(Exception):
    """Our kitchen and the reference do not agree on an episode."""


def check_against_reference(layout: Layout, actions: Sequence[Joint]) -> None:
    """Raise `RefusedError` at the first step that differs from the reference."""
    engine, ours = Engine(layout), start(layout)
    theirs = engine.start()
    take = jax.jit(step, static_argnames="layout")
    for number, joint in enumerate(actions, 1):
        ours, outcome = jax.device_get(take(layout, ours, jnp.array(joint)))
        theirs, expected = engine.step(theirs, joint)
        answers = {
            "state": (to_json(layout, ours), engine.to_json(theirs)),
            "events": (
                [event_names(seat) for seat in outcome.events],
                [sorted(event.label for event in seat) for seat in expected.events],
            ),
            "reward": (outcome.reward.tolist(), list(expected.reward)),
        }
        for what, (our_answer, their_answer) in answers.items():
            if our_answer != their_answer:
                raise RefusedError(
                    f"{layout.name}, step {number}: {what} is {our_answer}, "
                    f"the reference has {their_answer}"
                )


def write(layout: Layout, actions: Sequence[Joint]) -> Path:
    """Write the playthrough of these actions, if the reference agrees with it."""
    check_against_reference(layout, actions)
    path = FOLDER / f"{layout.name}.txt"
    FOLDER.mkdir(exist_ok=True)
    path.write_text(transcript(layout, actions), "utf-8")
    return path


def eventful_actions(layout: Layout, steps: int) -> list[Joint]:
    """Of many episodes of wanderers, the one that pays and has most different events."""
    engine = Engine(layout)
    best: tuple[tuple[bool, int, float], list[Joint]] = ((False, 0, 0.0), [])
    for seed in range(_CANDIDATES):
        players, state = Wanderers(layout, np.random.default_rng(seed)), engine.start()
        actions, seen, paid = [], set[Event](), 0.0
        for _ in range(steps):
            actions.append(players.act(engine.to_json(state)))
            state, outcome = engine.step(state, actions[-1])
            seen.update(*outcome.events)
            paid += sum(outcome.reward)
        best = max(best, ((paid > 0, len(seen), paid), actions))
    return best[1]


def print_name(path: Path) -> None:
    """Say which file was written."""
    print(path.relative_to(FOLDER.parent.parent.parent))


def main() -> None:
    """Read the command line and write the files."""
    parser = argparse.ArgumentParser(description="Write the golden playthroughs anew.")
    parser.add_argument(
        "layouts", nargs="*", help="layouts to play a new episode on (none: keep all actions)"
    )
    parser.add_argument("--steps", type=int, default=120, help="how long a new episode is")
    arguments = parser.parse_args()
    for name in arguments.layouts:
        layout = layouts.get(name)
        print_name(write(layout, eventful_actions(layout, arguments.steps)))
    if not arguments.layouts:
        for path in sorted(FOLDER.glob("*.txt")):
            print_name(write(*read_actions(path.read_text("utf-8"))))


if __name__ == "__main__":
    main()
