"""A study behind a real nginx: origins, addresses of clients, websockets, secure cookies."""

import contextlib
import shutil
import subprocess
import time

import httpx
import pytest
from websockets.exceptions import InvalidStatus

from cochef.web.server import study_app
from cochef.web.store import StudyStore
from tests.web.serving import free_port, serving
from tests.web.small_study import small_study
from tests.web.talking import Talker, cookie_of, talking, to_the_tutorial

PASSWORD = "correct horse"
PASSES = """
            proxy_http_version 1.1;
            proxy_set_header Upgrade $http_upgrade;
            proxy_set_header Connection $connection_upgrade;
            proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
            proxy_set_header X-Forwarded-Proto $scheme;
"""
HOST = "            proxy_set_header Host $http_host;\n"

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(shutil.which("nginx") is None, reason="nginx is not installed"),
]


@contextlib.contextmanager
def nginx(place, server, passes):
    """The address of an nginx in front of a server."""
    port = free_port()
    settings = f"""
    daemon off;
    pid {place}/nginx.pid;
    error_log {place}/error.log;
    events {{}}
    http {{
        access_log off;
        client_body_temp_path {place}/body;
        proxy_temp_path {place}/proxy;
        fastcgi_temp_path {place}/fastcgi;
        uwsgi_temp_path {place}/uwsgi;
        scgi_temp_path {place}/scgi;
        map $http_upgrade $connection_upgrade {{ default upgrade; '' close; }}
        server {{
            listen 127.0.0.1:{port};
            location / {{ proxy_pass {server}; {passes} }}
        }}
    }}
    """
    (place / "nginx.conf").write_text(settings)
    command = ["nginx", "-p", str(place), "-c", str(place / "nginx.conf")]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            address = f"http://127.0.0.1:{port}"
            deadline = time.monotonic() + 30
            while time.monotonic() < deadline:
                with contextlib.suppress(httpx.HTTPError):
                    httpx.get(f"{address}/health")
                    break
                time.sleep(0.1)
            yield address
        finally:
            process.terminate()


@contextlib.contextmanager
def behind_nginx(tmp_path, passes, proxies=("127.0.0.1",)):
    study = small_study(("coordination_ring",), joins_per_address=3)
    with (
        contextlib.closing(StudyStore.open(f"sqlite:///{tmp_path / 'study.db'}", study)) as store,
        serving(
            study_app(study, store, password=PASSWORD, open_door=True), proxies=proxies
        ) as server,
        nginx(tmp_path, server, passes) as address,
    ):
        yield address


def client(address, own="127.0.0.1"):
    transport = httpx.HTTPTransport(local_address=own)
    return httpx.Client(
        base_url=address, headers={"Origin": address}, transport=transport, timeout=60
    )


def test_people_take_part_through_nginx(tmp_path):
    with behind_nginx(tmp_path, PASSES + HOST) as address:
        with talking(address, cookie_of(address)) as talker:
            to_the_tutorial(talker)
            talker.say("start")
            talker.hear("game")
            talker.say("ready", seconds=0)
            assert talker.hear("tick")["t"] == 1
        with pytest.raises(InvalidStatus):
            Talker(address, cookie_of(address), origin="http://elsewhere.example")
        with client(address) as experimenter:
            assert experimenter.post("/api/admin/login", json={"password": PASSWORD}).is_success


def test_clients_are_known_by_their_own_addresses_behind_nginx(tmp_path):
    with (
        behind_nginx(tmp_path, PASSES + HOST) as address,
        client(address, "127.0.0.2") as stranger,
        client(address, "127.0.0.3") as experimenter,
    ):
        wrong = [
            stranger.post("/api/admin/login", json={"password": str(n)}).status_code
            for n in range(12)
        ]
        assert wrong[-1] == 429
        assert experimenter.post("/api/admin/login", json={"password": PASSWORD}).is_success
        joined = []
        for _ in range(5):
            stranger.cookies.clear()
            joined.append(stranger.get("/").status_code)
        assert joined == [303] * 3 + [429] * 2
        assert experimenter.get("/").status_code == 303


def test_nobody_can_claim_another_address_without_a_trusted_proxy(tmp_path):
    with (
        behind_nginx(tmp_path, PASSES + HOST, proxies=()) as address,
        client(address, "127.0.0.2") as stranger,
    ):
        joined = []
        for number in range(5):
            stranger.cookies.clear()
            joined.append(stranger.get("/", headers={"X-Forwarded-For": f"1.2.3.{number}"}))
        assert [one.status_code for one in joined] == [303] * 3 + [429] * 2


def test_cookies_are_for_https_only_where_nginx_speaks_https(tmp_path):
    speaks = PASSES.replace("$scheme", "https") + HOST
    with behind_nginx(tmp_path, speaks) as address, client(address) as browser:
        assert "Secure" in browser.get("/").headers["set-cookie"]


def test_without_the_host_header_the_servers_own_pages_are_strangers(tmp_path):
    with behind_nginx(tmp_path, PASSES) as address:
        with pytest.raises(InvalidStatus) as refusal:
            Talker(address, cookie_of(address))
        assert refusal.value.response.status_code == 403
