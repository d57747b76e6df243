"""`cochef watch`: an episode in a file or in the terminal."""

import json
from pathlib import Path

import imageio_ffmpeg
import pytest
from PIL import Image
from tests.agents import own_agents
from tests.narrow_layout import NARROW

from cochef.cli.watch import Watch
from cochef.errors import InputError

STEPS = 6
OWN = "tests.agents.own_agents"
AGENTS = ("random", "stay")


@pytest.fixture(scope="module")
def layout(tmp_path_factory):
    path = tmp_path_factory.mktemp("layout") / "narrow.toml"
    path.write_text(NARROW.replace("horizon = 30", f"horizon = {STEPS}"))
    return str(path)


def frames_of_gif(path):
    with Image.open(path) as gif:
        return gif.n_frames


def test_a_gif_of_the_episode_is_written(layout, tmp_path, capsys):
    path = tmp_path / "new" / "episode.gif"
    assert Watch(layout=layout, agents=AGENTS, out=path).run() == 0
    assert frames_of_gif(path) == STEPS + 1
    assert "episode.gif" in capsys.readouterr().out


def test_own_agents_are_watched_and_their_speed_is_told(layout, tmp_path, capsys):
    agents = (f"{OWN}:Walker", "stay")
    assert Watch(layout=layout, agents=agents, out=tmp_path / "episode.png").run() == 0
    assert f"{OWN}:Walker: {STEPS + 1} calls" in capsys.readouterr().err


def test_an_mp4_of_the_episode_is_written(layout, tmp_path):
    path = tmp_path / "episode.mp4"
    assert Watch(layout=layout, agents=AGENTS, out=path, speed=3.0).run() == 0
    assert imageio_ffmpeg.count_frames_and_secs(str(path)) == (
        STEPS + 1,
        pytest.approx((STEPS + 1) / 3, abs=0.01),
    )


def test_a_png_shows_the_last_state(layout, tmp_path):
    ends = []
    for steps in (None, STEPS, STEPS - 1):
        path = tmp_path / f"{steps}.PNG"
        assert Watch(layout=layout, agents=AGENTS, out=path, steps=steps).run() == 0
        ends.append(path.read_bytes())
    assert ends[0] == ends[1] != ends[2]


def test_the_episode_can_be_cut_short(layout, tmp_path):
    path = tmp_path / "episode.gif"
    assert Watch(layout=layout, agents=AGENTS, out=path, steps=2).run() == 0
    assert frames_of_gif(path) == 3


def test_the_tile_size_decides_the_size_of_the_picture(layout, tmp_path):
    path = tmp_path / "state.png"
    assert Watch(layout=layout, agents=AGENTS, out=path, tile_size=20).run() == 0
    with Image.open(path) as picture:
        assert picture.width == 5 * 20


def test_the_same_seed_gives_the_same_episode_and_another_seed_another(layout, tmp_path):
    films = []
    for number, seed in enumerate((1, 1, 2)):
        path = tmp_path / f"{number}.gif"
        Watch(layout=layout, agents=AGENTS, out=path, seed=seed).run()
        films.append(path.read_bytes())
    assert films[0] == films[1] != films[2]


def test_a_terminal_shows_every_step_with_score_time_holdings_and_wishes(
    layout, capsys, monkeypatch
):
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert Watch(layout=layout, agents=AGENTS, speed=60.0).run() == 0
    out = capsys.readouterr().out
    for step in range(STEPS + 1):
        assert f"score 0   time {step} / {STEPS}" in out
    assert "chef 2 (stay) holds nothing, does stay" in out
    assert "\x1b[" in out


def test_only_the_last_picture_is_printed_when_the_output_goes_elsewhere(layout, capsys):
    assert Watch(layout=layout, agents=AGENTS).run() == 0
    out = capsys.readouterr().out
    assert out.count("time") == 1
    assert f"time {STEPS} / {STEPS}" in out
    assert "X   2^  X" in out
    assert "\x1b" not in out


def test_without_names_two_agents_that_ship_play(capsys):
    assert Watch(steps=1).run() == 0
    out = capsys.readouterr().out
    assert "chef 1 (hsp:coordination_ring)" in out
    assert "chef 2 (human-proxy:coordination_ring)" in out


def test_without_names_scripts_play_where_no_trained_agent_ships(layout, tmp_path):
    path = tmp_path / "episode.jsonl"
    assert Watch(layout=layout, out=path).run() == 0
    pair = json.loads(path.read_text())["pair"]
    assert len(pair) == 2
    assert all(name.startswith("script:") for name in pair)


def test_an_own_agent_can_be_watched(layout, capsys):
    assert Watch(layout=layout, agents=(f"{OWN}:Walker", "stay"), steps=2).run() == 0
    assert f"chef 1 ({OWN}:Walker) holds nothing, does east" in capsys.readouterr().out


def test_an_own_agent_that_fails_is_named(layout, monkeypatch):
    monkeypatch.setattr(own_agents.Faulty, "calls_before", 3)
    with pytest.raises(InputError, match=r"Faulty raised KeyError: 'no onion' \(own_agents.py"):
        Watch(layout=layout, agents=(f"{OWN}:Faulty", "stay")).run()


@pytest.mark.parametrize("name", ["episode.avi", "episode", ".gif"])
def test_an_unknown_ending_is_an_error_that_names_the_known_ones(layout, tmp_path, name):
    with pytest.raises(
        InputError, match=rf"unknown ending of .*{name}'; known: \.gif, \.mp4, \.png"
    ):
        Watch(layout=layout, agents=AGENTS, out=tmp_path / name).run()
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize("ending", ["gif", "mp4", "png"])
def test_a_file_that_cannot_be_written_is_an_error(layout, tmp_path, ending):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        Watch(layout=layout, agents=AGENTS, out=tmp_path / "file" / f"episode.{ending}").run()


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"agents": ("random", "nobody")}, "unknown agent 'nobody'"),
        ({"layout": "nowhere"}, "unknown layout 'nowhere'"),
        ({"steps": 0}, "steps is 0; it takes a whole number from 1"),
        ({"speed": 0.0}, "speed is 0.0; it takes a number above 0"),
        ({"speed": float("nan")}, "speed is nan; it takes a number above 0"),
        (
            {"tile_size": 1, "out": Path("state.png")},
            "tile size is 1; it takes a whole number from 16 to 256 pixels",
        ),
        ({"seed": -1}, "seed is -1; it takes a whole number from 0 to 4294967295"),
    ],
)
def test_what_cannot_be_played_is_an_error_that_says_why(
    layout, wrong, complaint, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=complaint):
        Watch(**{"layout": layout, "agents": AGENTS, **wrong}).run()
