"""`cochef play` as a person starts it."""

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import pytest
from tests.web.serving import PATIENCE, free_port, get

from cochef.agents import shipped, storage
from cochef.cli.play import Play
from cochef.errors import InputError
from cochef.kitchen import layouts
from cochef.web import partners, rehearse
from cochef.web.layout_names import distinct
from cochef.web.lobby import Lobby
from cochef.web.loop import GameLoop, Rooms
from cochef.web.partners import check_files, find_files, offered

RING = layouts.get("coordination_ring")


def test_the_page_is_served_with_own_agents_that_were_found(tmp_path):
    source = shipped.path("human-proxy", "coordination_ring")
    (tmp_path / "runs" / "mine").mkdir(parents=True)
    (tmp_path / "runs" / "mine" / "agent.safetensors").write_bytes(source.read_bytes())
    (tmp_path / "runs" / "broken.safetensors").write_bytes(b"nothing of the kind")
    port = free_port()
    command = [sys.executable, "-m", "cochef", "play", "--no-browser"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([*command, "--port", str(port)], cwd=tmp_path, **pipes) as process:
        try:
            address = f"http://localhost:{port}/"
            assert address in process.stdout.readline()
            rehearse.await_answer(f"http://localhost:{port}", process)
            page = get(address)
            kitchens = {one["name"]: one for one in get(f"{address}api/layouts").json()}
            foreign = get(address, headers={"Host": "elsewhere.example"})
            process.send_signal(signal.SIGINT)  # Ctrl-C
            complaint = process.communicate(timeout=PATIENCE)[1]
        finally:
            process.kill()
    assert process.returncode == 130 and complaint == ""
    assert page.status_code == 200 and "/static/play.js" in page.text
    assert list(kitchens) == list(layouts.names())
    assert kitchens["coordination_ring"]["partners"][0]["name"] == "runs/mine/agent.safetensors"
    assert foreign.status_code == 400


def test_every_partner_on_offer_is_one_that_the_loader_knows():
    names = [partner.name for partner in offered(RING, [])]
    assert {"random", "stay", "human-proxy:coordination_ring", "script:dish_everywhere"} <= set(
        names
    )
    assert not [name for name in names if "tomato" in name]


def test_an_agent_file_is_offered_only_in_its_layout():
    files = check_files([shipped.path("human-proxy", "coordination_ring")])
    own = [partner for partner in offered(RING, files) if partner.name.endswith(".safetensors")]
    elsewhere = [
        p for p in offered(layouts.get("counter_circuit"), files) if p.name.endswith(".safetensors")
    ]
    assert len(own) == 1 and elsewhere == []


@pytest.fixture
def own(tmp_path):
    """Two layout files: the ring under another name, and another layout under the ring's name."""
    for name, layout in (("mine", "coordination_ring"), ("coordination_ring", "cramped_room")):
        (tmp_path / f"{name}.toml").write_text(layouts.to_toml(layouts.get(layout)), "utf-8")
    return [str(tmp_path / name) for name in ("mine.toml", "coordination_ring.toml")]


def names_on_offer(path):
    return [partner.name for partner in offered(layouts.get(path), [])]


def test_shipped_agents_are_offered_where_the_layout_is_theirs_whatever_it_is_called(own):
    mine, other = (names_on_offer(path) for path in own)
    assert "human-proxy:coordination_ring" in mine
    assert not [name for name in other if name.endswith(":coordination_ring")]
    described = Lobby(GameLoop(Rooms(1), 1), distinct(own), []).on_offer()
    assert [layout["description"] for layout in described] == ["", ""]


def test_two_layouts_of_one_name_are_refused_and_one_asked_for_twice_is_there_once(own):
    with pytest.raises(
        InputError, match=f"coordination_ring and {own[1]} are both called 'coordination_ring'"
    ):
        Play(layouts=("coordination_ring", own[1])).run()
    assert distinct(["cramped_room", "cramped_room"]) == [layouts.get("cramped_room")]


def write_agent(path, kind=None, age=0.0):
    """The ring's human proxy, or a file of another kind, written so many seconds ago."""
    card, tensors = storage.read(shipped.path("human-proxy", "coordination_ring"))
    path.parent.mkdir(parents=True, exist_ok=True)
    storage.save(path, replace(card, kind=kind or card.kind), tensors)
    os.utime(path, (1e9 - age, 1e9 - age))
    return path


def test_only_files_that_hold_one_agent_count_among_the_newest(tmp_path, monkeypatch):
    monkeypatch.setattr(partners, "_MOST_FILES", 2)
    for number in range(3):
        write_agent(tmp_path / f"population-{number}.safetensors", kind="population")
    write_agent(tmp_path / "run" / "checkpoints" / "1.safetensors")
    write_agent(tmp_path / "run" / "snapshots" / "1.safetensors")
    kept = [
        write_agent(tmp_path / "run" / "agents" / f"{age}.safetensors", age=age)
        for age in (10, 20, 30)
    ]
    assert [Path(file.name) for file in find_files([tmp_path])] == kept[:2]


def test_files_that_vanish_while_one_looks_are_passed_over(tmp_path):
    kept = write_agent(tmp_path / "kept.safetensors")
    (tmp_path / "gone.safetensors").symlink_to(tmp_path / "nowhere.safetensors")
    gone = write_agent(tmp_path / "later.safetensors", age=10)
    reading = storage.read

    def read(path):
        gone.unlink(missing_ok=True)
        return reading(path)

    with patch.object(partners.storage, "read", read):
        found = find_files([tmp_path, tmp_path / "no directory"])
        assert [Path(file.name) for file in found] == [kept]


def test_a_file_of_another_kind_is_named(tmp_path):
    file = write_agent(tmp_path / "all.safetensors", kind="population")
    with pytest.raises(
        InputError, match=r"all\.safetensors: holds 'population', not a single agent"
    ):
        check_files([file])


def test_a_file_that_is_no_agent_is_named(tmp_path):
    wrong = tmp_path / "wrong.safetensors"
    wrong.write_bytes(b"wrong")
    assert find_files([tmp_path]) == []
    with pytest.raises(InputError, match=r"wrong\.safetensors"):
        check_files([wrong])
    with pytest.raises(InputError, match="capacity is 0"):
        Play(capacity=0).run()
