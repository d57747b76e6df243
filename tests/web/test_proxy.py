"""A study behind a real nginx: origins, addresses of clients, websockets, secure cookies."""

import contextlib
import shutil
import subprocess
import time
from pathlib import Path

import httpx
import pytest
from websockets.exceptions import InvalidStatus

from cochef.web.server import study_app
from cochef.web.store import StudyStore
from tests.web.serving import PATIENCE, free_port, serving
from tests.web.small_study import small_study
from tests.web.talking import Talker, cookie_of, talking, to_the_tutorial

PASSWORD = "correct horse"
DOCS = Path(__file__).parents[2] / "docs" / "security.md"
HOST = "proxy_set_header Host $http_host;"
LISTENS = """listen 443 ssl;
    server_name study.example.org;
    ssl_certificate     /etc/ssl/study.pem;
    ssl_certificate_key /etc/ssl/study.key;"""

FORGED = ("127.0.0.1", "127.0.0.3", "1.2.3.4", "1.2.3.4, 5.6.7.8", "unknown", "x" * 300)
NGINX = pytest.mark.long


def documented_block():
    """The settings of nginx that the docs tell people to use."""
    return DOCS.read_text("utf-8").split("```nginx\n")[1].split("```")[0]


def changed(text, old, new):
    """A text with a part exchanged that must stand there once."""
    assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {text!r}"
    return text.replace(old, new)


@contextlib.contextmanager
def nginx(place, server, block):
    """The address of an nginx in front of a server; without certificates it speaks HTTP."""
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if program is None:
        pytest.fail("nginx is not installed, which these tests need; run: apt-get install nginx")
    port = free_port()
    block = changed(block, LISTENS, f"listen 127.0.0.1:{port};")
    block = changed(block, "http://127.0.0.1:8000", server)
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    folders = "".join(f"{kind}_temp_path {place}/{kind};\n" for kind in kinds)
    settings = f"""daemon off;
pid {place}/nginx.pid;
error_log {place}/error.log;
events {{}}
http {{
access_log off;
{folders}{block}}}
"""
    (place / "nginx.conf").write_text(settings)
    command = [program, "-e", place / "error.log", "-c", place / "nginx.conf"]
    with subprocess.Popen(command) as process:
        try:
            address = f"http://127.0.0.1:{port}"
            deadline = time.monotonic() + PATIENCE
            while time.monotonic() < deadline:
                assert process.poll() is None, (place / "error.log").read_text()
                with contextlib.suppress(httpx.HTTPError):
                    httpx.get(f"{address}/health")
                    break
                time.sleep(0.1)
            yield address
        finally:
            process.terminate()


@contextlib.contextmanager
def study_server(tmp_path, proxies=("127.0.0.1",)):
    """A study in which three newcomers an hour may come from an address."""
    study = small_study(("coordination_ring",), joins_per_address=3)
    with (
        contextlib.closing(StudyStore.open(f"sqlite:///{tmp_path / 'study.db'}", study)) as store,
        serving(
            study_app(study, store, password=PASSWORD, open_door=True), proxies=proxies
        ) as server,
    ):
        yield server


@contextlib.contextmanager
def behind_nginx(tmp_path, block=None, proxies=("127.0.0.1",)):
    """A study behind nginx with the settings of the docs, or others."""
    with (
        study_server(tmp_path, proxies) as server,
        nginx(tmp_path, server, block or documented_block()) as address,
    ):
        yield address


def client(address, own="127.0.0.1"):
    transport = httpx.HTTPTransport(local_address=own)
    return httpx.Client(
        base_url=address, headers={"Origin": address}, transport=transport, timeout=PATIENCE
    )


def joined(browser, forwarded):
    """The answers to newcomers who say that they come from these addresses."""
    answers = []
    for addresses in forwarded:
        browser.cookies.clear()
        answers.append(browser.get("/", headers={"X-Forwarded-For": addresses}).status_code)
    return answers


def test_of_forwarded_addresses_the_one_next_to_the_trusted_proxy_is_believed(tmp_path):
    with study_server(tmp_path) as address, client(address) as proxy:
        claimed = joined(proxy, [f"{forged}, 10.0.0.1" for forged in FORGED])
        assert claimed == [303] * 3 + [429] * 3
        assert joined(proxy, ["10.0.0.2", "10.0.0.1, 10.0.0.2"]) == [303] * 2
        assert joined(proxy, ["10.0.0.2, 10.0.0.1"]) == [429]


@NGINX
def test_nobody_can_claim_another_address_through_a_trusted_nginx(tmp_path):
    with (
        behind_nginx(tmp_path) as address,
        client(address, "127.0.0.2") as stranger,
        client(address, "127.0.0.3") as other,
    ):
        assert joined(stranger, FORGED) == [303] * 3 + [429] * 3
        wrong = [
            stranger.post(
                "/api/admin/login",
                json={"password": str(number)},
                headers={"X-Forwarded-For": f"127.0.0.{number}"},
            ).status_code
            for number in range(12)
        ]
        assert wrong[-1] == 429
        assert other.get("/").status_code == 303
        assert other.post("/api/admin/login", json={"password": PASSWORD}).is_success


@NGINX
def test_people_take_part_through_nginx(tmp_path):
    with behind_nginx(tmp_path) as address:
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


@NGINX
def test_clients_are_known_by_their_own_addresses_behind_nginx(tmp_path):
    with (
        behind_nginx(tmp_path) as address,
        client(address, "127.0.0.2") as stranger,
        client(address, "127.0.0.3") as experimenter,
    ):
        wrong = [
            stranger.post("/api/admin/login", json={"password": str(n)}).status_code
            for n in range(12)
        ]
        assert wrong[-1] == 429
        assert experimenter.post("/api/admin/login", json={"password": PASSWORD}).is_success
        came = []
        for _ in range(5):
            stranger.cookies.clear()
            came.append(stranger.get("/").status_code)
        assert came == [303] * 3 + [429] * 2
        assert experimenter.get("/").status_code == 303


@NGINX
def test_nobody_can_claim_another_address_without_a_trusted_proxy(tmp_path):
    with (
        behind_nginx(tmp_path, proxies=()) as address,
        client(address, "127.0.0.2") as stranger,
    ):
        assert joined(stranger, [f"1.2.3.{number}" for number in range(5)]) == [303] * 3 + [429] * 2


@NGINX
def test_cookies_are_for_https_only_where_nginx_speaks_https(tmp_path):
    speaks = changed(documented_block(), "$scheme", "https")
    with behind_nginx(tmp_path, speaks) as address, client(address) as browser:
        assert "Secure" in browser.get("/").headers["set-cookie"]


@NGINX
def test_without_the_host_header_the_servers_own_pages_are_strangers(tmp_path):
    with behind_nginx(tmp_path, changed(documented_block(), HOST, "")) as address:
        with pytest.raises(InvalidStatus) as refusal:
            Talker(address, cookie_of(address))
        assert refusal.value.response.status_code == 403
