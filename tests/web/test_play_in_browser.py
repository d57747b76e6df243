"""Free play in a real browser."""

import pytest
from playwright.sync_api import expect

from cochef.kitchen import layouts
from cochef.web.server import play_app
from tests.web.browsing import (  # noqa: F401  (a fixture)
    Walker,
    browser,
    cook_a_soup,
    listened,
)
from tests.web.serving import LANDSCAPE, PHONE, serving


@pytest.fixture(scope="module")
def url():
    offered = [layouts.get(name) for name in ("cramped_room", "coordination_ring", "many_orders")]
    # A busy machine must not pause games.
    with serving(play_app(offered, [], capacity=4, stall_seconds=60.0)) as address:
        yield address


def choose(page, url, **choices):
    """Choose a game and come to its start."""
    page.goto(url)
    page.wait_for_selector("h1")
    for field, value in {"kitchen": "cramped_room", "partner": "stay", **choices}.items():
        page.select_option(f"#field-{field.replace('_', '-')}", value)
    page.focus("button[type=submit]")
    page.keyboard.press("Enter")
    page.wait_for_selector(".panel button")


def test_a_game_ends_after_its_ticks(url, browser):  # noqa: F811
    with listened(browser) as (page, ear):
        # Faster than the page offers, so that the test does not take longer than it has to.
        page.add_init_script("localStorage.setItem('cochef-play', '{\"rate\": 30}')")
        choose(page, url, game_lasts="200")
        page.keyboard.press("Space")
        page.wait_for_selector("h1:has-text('Score 0')")
        game = ear.last("game")["game"]
        assert ear.last("over") == {"type": "over", "game": game, "score": 0.0, "t": 200}


def test_a_person_cooks_a_soup_by_keys_and_looks_at_it_again(url, browser):  # noqa: F811
    with listened(browser) as (page, ear):
        choose(page, url, ticks="12", game_lasts="800")
        page.keyboard.press("Space")
        ear.wait(lambda moment: moment["type"] == "tick")
        walker = Walker(page, ear, 0)
        cook_a_soup(walker)
        expect(page.locator(".score .number")).to_have_text("20")
        page.click("text=End this game")
        page.wait_for_selector("h1:has-text('Score 20')")
        assert page.inner_text("tr:has-text('delivers a soup') td >> nth=0") == "1"
        for _ in range(3):
            page.click("text=Later event")
        assert page.inner_text(".saying") != ""
        page.focus(".timeline input")
        page.keyboard.press("End")
        assert "score 20" in page.inner_text("output")
        page.click("text=Play again")
        page.wait_for_selector(".panel button")


def test_a_reload_in_a_game_continues_where_it_was(url, browser):  # noqa: F811
    with listened(browser) as (page, ear):
        choose(page, url, ticks="12", you_are="1")
        page.click("text=Start")
        before = ear.wait(lambda moment: moment["type"] == "tick" and moment["t"] > 5)
        page.reload()
        page.click("text=Go on")
        expect(page.locator("main")).not_to_contain_text("waits")
        announced = ear.last("game")["t"]
        assert announced >= before["t"]
        ear.wait(lambda moment: moment["type"] == "tick" and moment["t"] > announced)
        page.click("text=End this game")
        page.wait_for_selector(".replay")
        # The replay has the moments before the reload, too, from the start on.
        assert page.get_attribute(".timeline input", "max") == str(ear.last("over")["t"])
        assert page.inner_text(".replay output").startswith("0:00")


def test_a_phone_plays_by_touch(url, browser):  # noqa: F811
    with listened(browser, PHONE, has_touch=True, is_mobile=True) as (page, ear):
        choose(page, url, ticks="12")
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        page.tap("text=Start")
        ear.wait(lambda moment: moment["type"] == "tick")
        page.tap("button.north")
        ear.wait(lambda moment: moment["state"]["chefs"][0][1] == 1)
        page.tap("button.west")
        ear.wait(lambda moment: moment["state"]["chefs"][0][2] == "W")
        page.tap("button.interact")
        ear.wait(lambda moment: moment["state"]["chefs"][0][3] == "onion")
        expect(page.locator(".hand.seat0 .holds")).to_have_text("an onion")
        page.tap("text=End this game")
        page.wait_for_selector(".replay")
        assert page.locator("canvas.kitchen").bounding_box()["width"] > PHONE["width"] / 2


def test_a_second_tab_says_so_and_can_take_over(url, browser):  # noqa: F811
    with listened(browser) as (page, _):
        page.goto(url)
        page.wait_for_selector("text=Cook together")
        second = page.context.new_page()
        second.goto(url)
        second.click("text=Continue here")
        second.wait_for_selector("text=Cook together")
        page.wait_for_selector("text=Open in another tab")


@pytest.mark.parametrize("kitchen", ["cramped_room", "many_orders"])
@pytest.mark.parametrize("window", [PHONE, LANDSCAPE])
def test_on_a_phone_buttons_are_on_the_screen_and_the_panel_beside_the_kitchen(
    url,
    browser,  # noqa: F811
    window,
    kitchen,
):
    with listened(browser, window, has_touch=True, is_mobile=True) as (page, ear):
        choose(page, url, kitchen=kitchen, ticks="12")
        panel = page.locator(".panel").bounding_box()
        assert not overlap(panel, page.locator("canvas.kitchen").bounding_box())
        page.tap("text=Start")
        ear.wait(lambda moment: moment["type"] == "tick")
        canvas = page.locator("canvas.kitchen").bounding_box()
        assert canvas["height"] > 150
        for name in ("north", "south", "east", "west", "interact"):
            box = page.locator(f"button.{name}").bounding_box()
            assert box["x"] >= 0 and box["x"] + box["width"] <= window["width"]
            assert box["y"] >= 0 and box["y"] + box["height"] <= window["height"]
            assert not overlap(box, canvas)


def overlap(one, other):
    """Whether two boxes share more than an edge."""
    across = min(one["x"] + one["width"], other["x"] + other["width"]) - max(one["x"], other["x"])
    down = min(one["y"] + one["height"], other["y"] + other["height"]) - max(one["y"], other["y"])
    return across > 1 and down > 1


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_the_colours_follow_the_system_and_can_be_changed(url, browser, scheme):  # noqa: F811
    ground = {"dark": "rgb(23, 27, 32)", "light": "rgb(243, 239, 231)"}
    other = ground["light" if scheme == "dark" else "dark"]
    shown = "getComputedStyle(document.body).backgroundColor"
    with listened(browser, color_scheme=scheme) as (page, _):
        page.goto(url)
        page.wait_for_selector("h1")
        assert page.evaluate(shown) == ground[scheme]
        for _ in range(2 if scheme == "dark" else 1):
            page.click(".theme")
        assert page.evaluate(shown) == other
        page.reload()
        page.wait_for_selector("h1")
        assert page.evaluate(shown) == other
