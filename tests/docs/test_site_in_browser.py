"""Pages of the site in a browser: nothing is wider than the screen, no command is cut."""

import functools
import http.server
import threading

import pytest
from tests.web.serving import LAPTOP, PHONE, chromium, watched_page

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
TUTORIALS = ["train_and_measure", "own_layout", "own_rewards", "own_agent", "own_method", "study"]
CUT = """[...document.querySelectorAll("pre > code")]
    .filter((block) => block.scrollWidth > block.clientWidth)
    .map((block) => block.innerText)"""


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
    server.server_close()


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


@pytest.mark.long
def test_no_command_of_a_tutorial_is_cut_on_a_laptop(address):
    cut = {}
    with chromium() as browser, watched_page(browser, LAPTOP) as page:
        for name in TUTORIALS:
            page.goto(f"{address}/tutorials/{name}.html")
            if blocks := page.evaluate(CUT):
                cut[name] = blocks
    assert not cut
