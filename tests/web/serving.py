"""A real server in a thread, and pages of the system's Chromium that look at it."""

import contextlib
import itertools
import os
import shutil
import socket
import threading
import time

import httpx
import pytest
import uvicorn
from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import sync_playwright

from cochef.web.server import configuration

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
LAPTOP = {"width": 1280, "height": 800}
WIDE_LAPTOP = {"width": 1366, "height": 768}
PHONE = {"width": 390, "height": 780}
LANDSCAPE = {"width": 780, "height": 390}
PATIENCE = 120.0  # seconds: a machine may be busy, and rooms have to be compiled

# Each process has ports of its own, below those that the system gives to anybody who asks: nobody
# else takes one between the moment it was found free and the start of a server.
_PORTS = itertools.count(20_000 + 100 * os.getpid() % 12_000)


def free_port():
    """A port that nobody listens at, another one each time."""
    for port in _PORTS:
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no port is free")


@contextlib.contextmanager
def serving(app, port=None, proxies=()):
    """The address at which the application answers."""
    port = port or free_port()
    server = uvicorn.Server(configuration(app, "127.0.0.1", port, proxies))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + PATIENCE
    while not server.started:
        assert thread.is_alive() and time.monotonic() < deadline, "the server does not start"
        time.sleep(0.05)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(20)


def get(url, **options):
    """The answer to a request, even if the machine is busy."""
    return httpx.get(url, timeout=PATIENCE, **options)


class StallingProxy:
    """A network between browser and server that can stand still: nothing is lost, it only waits."""

    def __init__(self, url):
        self._target = ("127.0.0.1", int(url.rpartition(":")[2]))
        self._door = socket.create_server(("127.0.0.1", 0))
        self._open = [self._door]
        self.url = f"http://127.0.0.1:{self._door.getsockname()[1]}"
        self.flows = threading.Event()
        self.flows.set()

    def __enter__(self):
        threading.Thread(target=self._admit, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.flows.set()
        for one in self._open:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _admit(self):
        with contextlib.suppress(OSError):
            while True:
                page, _ = self._door.accept()
                server = socket.create_connection(self._target)
                self._open += [page, server]
                for pair in ((page, server), (server, page)):
                    threading.Thread(target=self._carry, args=pair, daemon=True).start()

    def _carry(self, source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(65_536):
                self.flows.wait()
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)


@contextlib.contextmanager
def chromium():
    """The system's Chromium without a window; a test that needs it fails where there is none."""
    path = shutil.which("chromium")
    if path is None:
        pytest.fail(
            "Chromium is not installed, which the browser tests need; run: apt-get install chromium"
        )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@contextlib.contextmanager
def watched_page(browser, window=LAPTOP, **options):
    """A page in a browser of its own; whatever it complains about is an error of the test."""
    context = browser.new_context(viewport=window, **options)
    context.set_default_timeout(1000 * PATIENCE)
    page = context.new_page()
    complaints = []
    page.on(
        "console",
        lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None,
    )
    page.on("pageerror", lambda error: complaints.append(str(error)))
    try:
        yield page
    except Exception as error:
        error.add_note(f"The page complained: {complaints}. It shows:\n{_shown(page)}")
        raise
    finally:
        context.close()
    assert complaints == []


def _shown(page):
    """The text of a page, for whoever reads why a test has failed."""
    try:
        return page.inner_text("body", timeout=5_000)
    except PlaywrightError as error:
        return f"nothing that can be read: {error}"
