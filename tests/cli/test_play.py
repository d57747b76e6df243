"""`cochef play` as a person starts it."""

import contextlib
import subprocess
import sys
import time

import httpx
import pytest
from tests.web.serving import free_port

from cochef.agents import cloned
from cochef.cli.play import Play
from cochef.errors import InputError
from cochef.kitchen import layouts
from cochef.web.partners import check_files, find_files, offered

RING = layouts.get("coordination_ring")


def test_the_page_is_served_with_own_agents_that_were_found(tmp_path):
    source = cloned.shipped_path("human-proxy", "coordination_ring")
    (tmp_path / "runs" / "mine").mkdir(parents=True)
    (tmp_path / "runs" / "mine" / "agent.safetensors").write_bytes(source.read_bytes())
    (tmp_path / "runs" / "broken.safetensors").write_bytes(b"nothing of the kind")
    port = free_port()
    command = [sys.executable, "-c", "from cochef.cli.main import main; main()", "play", "--no-browser"]
    with subprocess.Popen([*command, "--port", str(port)], cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        try:
            address = f"http://localhost:{port}/"
            assert address in process.stdout.readline()
            for _ in range(300):
                with contextlib.suppress(httpx.HTTPError):
                    page = httpx.get(address)
                    break
                time.sleep(0.2)
            kitchens = {one["name"]: one for one in httpx.get(f"{address}api/kitchens").json()}
            foreign = httpx.get(address, headers={"Host": "elsewhere.example"})
        finally:
            process.terminate()
    assert page.status_code == 200 and "/static/play.js" in page.text
    assert list(kitchens) == list(layouts.names())
    assert kitchens["coordination_ring"]["partners"][0]["name"] == "runs/mine/agent.safetensors"
    assert foreign.status_code == 400


def test_every_partner_on_offer_is_one_that_the_loader_knows():
    names = [partner.name for partner in offered(RING, [])]
    assert {"random", "stay", "human-proxy:coordination_ring", "script:dish_everywhere"} <= set(names)
    assert not [name for name in names if "tomato" in name]


def test_an_agent_file_is_offered_only_in_its_kitchen():
    files = check_files([cloned.shipped_path("human-proxy", "coordination_ring")])
    own = [partner for partner in offered(RING, files) if partner.name.endswith(".safetensors")]
    elsewhere = [p for p in offered(layouts.get("counter_circuit"), files) if p.name.endswith(".safetensors")]
    assert len(own) == 1 and elsewhere == []


def test_a_file_that_is_no_agent_is_named(tmp_path):
    wrong = tmp_path / "wrong.safetensors"
    wrong.write_bytes(b"wrong")
    assert find_files([tmp_path]) == []
    with pytest.raises(InputError, match=r"wrong\.safetensors"):
        check_files([wrong])
    with pytest.raises(InputError, match="capacity 0"):
        Play(capacity=0).run()
