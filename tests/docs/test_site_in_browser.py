"""Pages of the site in a browser: nothing is wider than a laptop or a phone."""

import functools
import http.server
import threading

import pytest
from tests.web.serving import chromium, watched_page

LAPTOP = {"width": 1366, "height": 768}
PHONE = {"width": 390, "height": 780}
PAGES = [
    "index",
    "start/install",
    "tutorials/own_agent",
    "tutorials/first_steps",
    "environments",
    "commands",
    "reference/python",
    "results/index",
    "comparison",
    "benchmarks",
]


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format, *arguments):
        pass


@pytest.fixture(scope="module")
def address(site):
    handler = functools.partial(_Quiet, directory=str(site))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.mark.long
@pytest.mark.parametrize("window", [LAPTOP, PHONE], ids=["laptop", "phone"])
def test_no_page_scrolls_sideways(address, window):
    too_wide = {}
    with chromium() as browser, watched_page(browser, window) as page:
        for name in PAGES:
            page.goto(f"{address}/{name}.html")
            width = page.evaluate("document.documentElement.scrollWidth")
            if width > window["width"]:
                too_wide[name] = width
    assert not too_wide
