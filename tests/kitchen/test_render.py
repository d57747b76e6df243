"""Pictures: a state as a picture, an episode as GIF and MP4."""

from dataclasses import replace
from itertools import combinations
from pathlib import Path

import imageio_ffmpeg
import jax
import numpy as np
import pytest
from PIL import Image, ImageChops, ImageSequence

from cochef.agents.agent import Random
from cochef.errors import InputError
from cochef.kitchen import layouts, render
from cochef.kitchen.layout import Layout
from cochef.kitchen.state import start
from cochef.kitchen.text import from_json
from cochef.kitchen.trajectories import Trajectory
from cochef.rollout import record

STEPS = 12
KITCHENS = 2
RING = layouts.get("coordination_ring")
MANUAL = layouts.get("coordination_ring_multi")


@pytest.fixture(scope="module")
def layout() -> Layout:
    """A kitchen with a short episode."""
    return replace(RING, horizon=STEPS)


@pytest.fixture(scope="module")
def recording(layout: Layout) -> Trajectory:
    """Two short random episodes."""
    return record(layout, (Random(), Random()), jax.random.key(0), KITCHENS)


def picture(
    first=(1, 1, "N", None),
    second=(1, 2, "N", None),
    kitchen=MANUAL,
    pots=(),
    counters=(),
    t=0,
    **shown,
):
    data = {
        "chefs": [list(first), list(second)],
        "pots": list(pots),
        "counters": list(counters),
        "t": t,
    }
    return render.render_state(kitchen, from_json(kitchen, data), **{"tile_size": 32, **shown})


def differ(first: Image.Image, second: Image.Image) -> bool:
    return ImageChops.difference(first.convert("RGB"), second.convert("RGB")).getbbox() is not None


def all_differ(pictures: list[Image.Image]) -> bool:
    return all(differ(*pair) for pair in combinations(pictures, 2))


@pytest.mark.parametrize("name", layouts.names())
def test_every_shipped_layout_has_a_picture_with_room_for_all_its_cells(name):
    kitchen = layouts.get(name)
    image = render.render_state(kitchen, start(kitchen), tile_size=24)
    assert image.mode == "RGB"
    assert image.width == kitchen.width * 24
    assert image.height > kitchen.height * 24


def test_a_kitchen_narrower_than_the_panels_has_a_picture():
    narrow = layouts.parse(
        "grid = '''\nXPX\nO1D\nX2X\nXSX\n'''\n[orders]\nooo = { value = 1000, time = 200 }",
        "narrow",
    )
    assert render.render_state(narrow, start(narrow), tile_size=20).width == 100


def test_the_same_state_gives_the_same_picture_whatever_was_drawn_before():
    before = picture()
    picture(
        first=(3, 3, "S", "soup:oot"),
        pots=[[3, 0, "ooo", 5]],
        t=9,
        score=20,
        next_actions=("north", "stay"),
    )
    assert not differ(before, picture())


def test_the_picture_changes_when_a_chef_turns():
    assert all_differ([picture(first=(1, 1, facing, None)) for facing in "NSEW"])


@pytest.mark.parametrize("facing", "NSEW")
def test_whatever_a_chef_holds_looks_different(facing):
    held = (
        None,
        "onion",
        "tomato",
        "dish",
        "soup:o",
        "soup:ot",
        "soup:ooo",
        "soup:oot",
        "soup:ott",
        "soup:ttt",
    )
    assert all_differ([picture(first=(1, 1, facing, item)) for item in held])


def test_whatever_lies_on_a_counter_looks_different():
    items = ("onion", "tomato", "dish", "soup:ooo", "soup:oot")
    assert all_differ([picture(), *(picture(counters=[[2, 2, item]]) for item in items)])


def test_a_pot_shows_what_is_in_it_and_how_far_it_has_cooked():
    pots = [[], *([[3, 0, contents, -1]] for contents in ("o", "t", "oo", "ot", "oot", "ott"))]
    pots += [[[3, 0, "ooo", ticks]] for ticks in range(21)]
    assert all_differ([picture(pots=rows) for rows in pots])


def test_chefs_can_be_told_apart_without_colour():
    places = ((1, 1, "S", None), (3, 1, "S", None))
    ahead, swapped = (
        picture(*pair, tile_size=64).convert("1", dither=Image.Dither.NONE)
        for pair in (places, places[::-1])
    )
    assert np.count_nonzero(np.asarray(ahead) != np.asarray(swapped)) > 200


def test_score_time_and_next_actions_are_shown():
    labels = ("north", "south", "east", "west", "stay", "interact", "a dish, please")
    shown = [
        picture(),
        picture(t=1),
        picture(score=20),
        *(picture(next_actions=(label, "")) for label in labels),
    ]
    assert all_differ(shown)


def test_a_long_next_action_stays_on_its_own_card():
    long, short = (
        picture(next_actions=(label, "stay"), tile_size=64)
        for label in ("bring it to the hatch " * 9, "stay")
    )
    left, _, right, _ = ImageChops.difference(long, short).getbbox() or (0, 0, 0, 0)
    assert 0 < left < right < long.width // 2


@pytest.mark.parametrize("size", [-1, 0, 15, 1000])
def test_a_tile_size_out_of_range_is_an_error_that_names_the_range(size):
    allowed = "it takes a whole number from 16 to 256 pixels"
    with pytest.raises(InputError, match=f"tile size is {size}; {allowed}"):
        picture(tile_size=size)


def test_an_episode_has_a_moment_for_the_start_and_for_each_step(layout, recording):
    seen = list(render.moments(recording, kitchen=1))
    assert [int(moment.state.time) for moment in seen] == list(range(STEPS + 1))
    assert seen[-1].next_actions == ("", "")
    assert seen[-1].score == float(recording.score[1])
    names = ("north", "south", "east", "west", "stay", "interact")
    assert [moment.next_actions for moment in seen[:-1]] == [
        tuple(names[action] for action in pair) for pair in np.asarray(recording.actions)[:, 1]
    ]


def test_a_kitchen_that_was_not_recorded_is_an_error(recording):
    with pytest.raises(InputError, match="kitchen 2 was not recorded; allowed: 0 to 1"):
        next(render.moments(recording, kitchen=KITCHENS))


def episode(layout, recording, tile_size=32):
    return render.render_moments(layout, render.moments(recording), tile_size)


def test_an_episode_shows_the_actions_unless_given_other_labels(layout, recording):
    plain = list(episode(layout, recording))
    labels = ("an onion", "a dish")
    seen = list(render.moments(recording))
    others = [moment._replace(next_actions=labels) for moment in seen[:-1]]
    labelled = list(render.render_moments(layout, [*others, seen[-1]], tile_size=32))
    assert [differ(*pair) for pair in zip(plain, labelled, strict=True)] == [True] * STEPS + [False]


def test_a_png_is_the_picture(tmp_path):
    image, path = picture(), tmp_path / "state.png"
    render.save_png(image, path)
    with Image.open(path) as read:
        assert not differ(read, image)


def test_a_gif_has_a_frame_for_the_start_and_one_a_step_in_nearly_the_true_colours(
    tmp_path, layout, recording
):
    frames = list(episode(layout, recording))
    path = tmp_path / "made" / "episode.gif"
    render.save_gif(iter(frames), path, steps_per_second=5)
    with Image.open(path) as gif:
        assert gif.info["duration"] == 200
        read = [frame.convert("RGB") for frame in ImageSequence.Iterator(gif)]
    assert len(read) == STEPS + 1
    for frame, true in zip(read, frames, strict=True):
        assert np.abs(np.asarray(frame, int) - np.asarray(true, int)).mean() < 3


@pytest.mark.parametrize("tile_size", [21, 32])
def test_an_mp4_has_a_frame_for_the_start_and_one_a_step_also_with_odd_sides(
    tmp_path, layout, recording, tile_size
):
    path = tmp_path / "made" / "episode.mp4"
    render.save_mp4(episode(layout, recording, tile_size), path, steps_per_second=4)
    frames, seconds = imageio_ffmpeg.count_frames_and_secs(str(path))
    assert frames == STEPS + 1
    assert seconds == pytest.approx(frames / 4, abs=0.01)


@pytest.mark.parametrize("save", [render.save_png, render.save_gif, render.save_mp4])
def test_a_file_that_cannot_be_written_is_an_error_that_names_it(tmp_path, save):
    (tmp_path / "file").write_text("")
    for path in (tmp_path, tmp_path / "file" / "episode"):
        with pytest.raises(InputError, match=rf"{path}: cannot be written \(.*\)"):
            save(picture() if save is render.save_png else [picture()], path)


@pytest.mark.parametrize("save", [render.save_gif, render.save_mp4])
def test_an_episode_without_pictures_is_an_error(tmp_path, save):
    with pytest.raises(InputError, match="no pictures to write"):
        save([], Path(tmp_path / "empty"))
