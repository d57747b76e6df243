"""A real server in a thread, and pages of the system's Chromium that look at it."""

import contextlib
import shutil
import socket
import threading
import time

import pytest
import uvicorn
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
PHONE = {"width": 390, "height": 780}


def free_port():
    """A port that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def serving(app, port=None, proxies=()):
    """The address at which the application answers."""
    port = port or free_port()
    server = uvicorn.Server(configuration(app, "127.0.0.1", port, proxies))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + 60
    while not server.started:
        assert thread.is_alive() and time.monotonic() < deadline, "the server does not start"
        time.sleep(0.05)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(20)


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
    page = context.new_page()
    page.set_default_timeout(300_000)  # a machine may be busy, and rooms have to be compiled
    complaints = []
    page.on(
        "console",
        lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None,
    )
    page.on("pageerror", lambda error: complaints.append(str(error)))
    yield page
    context.close()
    assert complaints == []
