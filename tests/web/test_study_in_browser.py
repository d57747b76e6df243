"""A study in a real browser: a participant's way through it, and the experimenter's page."""

import json
import re
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import expect

from cochef.web import replays, tickets
from cochef.web.progress import StudyStage
from cochef.web.records import GameEnd, InterruptionReason, ParticipantIdentity, Phase
from cochef.web.server import study_app
from cochef.web.store import StudyStore
from tests.web.browsing import (  # noqa: F401  (a fixture)
    TouchWalker,
    Walker,
    browser,
    cook_a_soup,
    listened,
    take_picture,
    wait_until,
)
from tests.web.locking import locked
from tests.web.serving import LANDSCAPE, PATIENCE, PHONE, WIDE_LAPTOP, StallingProxy, serving
from tests.web.small_study import at_the_games, begun, events_before_the_games, small_study

PASSWORD = "correct horse"
STUDY = small_study(
    ("coordination_ring",),
    ticks_per_second=40.0,
    participants_per_layout=20,
    game_ticks=100,
)
ASK = f"p.who:has-text('Questions: {STUDY.contact}')"
HIDE = """
Object.defineProperty(document, 'visibilityState', { value: 'hidden', configurable: true });
document.dispatchEvent(new Event('visibilitychange'));
Object.defineProperty(document, 'visibilityState', { value: 'visible', configurable: true });
"""

HIDDEN_SIDEWAYS = """
[document.documentElement, ...document.querySelectorAll(".scroll")]
    .filter((one) => one.scrollWidth > one.clientWidth)
    .map((one) => one.textContent)
"""


@pytest.fixture
def store(tmp_path):
    with closing(StudyStore.open(f"sqlite:///{tmp_path / 'study.db'}", STUDY)) as opened:
        yield opened


@pytest.fixture
def url(store):
    with serving(study_app(STUDY, store, password=PASSWORD, capacity=4, prolific=True)) as address:
        yield address


def tab_to(page, selector):
    """Reach an element by the tab key alone."""
    for _ in range(80):
        if page.evaluate("wanted => document.activeElement.matches(wanted)", selector):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"the tab key does not lead to {selector}")


def press(page, text):
    """Press a button by keys alone."""
    page.wait_for_selector(f"main button:has-text('{text}'):enabled")
    page.locator(f"main button:has-text('{text}')").first.evaluate(
        "(found, text) => found.dataset.aim = text", text
    )
    tab_to(page, f"[data-aim='{text}']")
    page.keyboard.press("Enter")


def play(page, until):
    """Begin a game, and go on with it after every pause, until this heading is there."""
    heading = page.locator(f"h1:has-text('{until}')")
    waiting = page.locator(".panel button")
    expect(waiting).to_be_visible()

    def is_there():
        if waiting.is_visible():
            page.keyboard.press("Space")
        return heading.is_visible()

    wait_until(page, is_there, until)


def answer_questions(page):
    page.wait_for_selector("fieldset")
    press(page, "Continue")
    assert page.locator(".complaint:not(:empty)").count() == 3
    tab_to(page, "#age-text")
    page.keyboard.type("33")
    tab_to(page, "#gender-0")
    page.keyboard.press("ArrowUp")  # from the first choice to the last: not to say
    tab_to(page, "#experience-0")
    page.keyboard.press("Space")
    press(page, "Continue")


def rank(page):
    page.wait_for_selector(".ranking")
    take_picture(page, "ranking")
    tab_to(page, "#comment-0-0")
    page.keyboard.type("<b>bold</b> =1+1")
    tab_to(page, ".ranking li")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    press(page, "Send")
    assert "confirm" in page.inner_text(".complaint")
    tab_to(page, "#sure")
    page.keyboard.press("Space")
    press(page, "Send")


def test_a_participant_goes_through_the_whole_study_by_keyboard(url, store, browser):  # noqa: F811
    with listened(browser, WIDE_LAPTOP) as (page, ear):
        page.goto(f"{url}/?PROLIFIC_PID=someone")
        assert page.url.endswith("/study")
        page.wait_for_selector("text=I agree")
        take_picture(page, "consent")
        press(page, "I agree")
        answer_questions(page)
        page.wait_for_selector("h1:has-text('How it works')")
        take_picture(page, "instructions")
        press(page, "Continue")
        press(page, "Try the kitchen")
        page.wait_for_selector(".panel button")
        page.keyboard.press("Space")
        ear.wait(lambda moment: moment["type"] == "tick")
        walker = Walker(page, ear, 0)
        hear_and_see_what_to_do(page, walker)
        take_picture(page, "tutorial")
        cook_a_soup(walker, onions=2)
        page.wait_for_selector("text=You have served a soup. Well done!")
        take_picture(page, "warm-up")
        for partner in "ABCD":
            press(page, f"Play with partner {partner}")
            play(page, "Meet your partners")
        press(page, "I have seen enough")
        rank(page)
        for number in range(1, 9):
            page.wait_for_selector(f"h1:has-text('Game {number} of 8')")
            take_picture(page, f"games-{number}")
            press(page, "Next game")
            if number == 3:
                page.wait_for_selector(".panel button")
                page.keyboard.press("Space")
                take_picture(page, "game")
                left = ear.wait(lambda moment: moment["type"] == "tick" and moment["t"] >= 5)
                page.reload()
                page.wait_for_selector("text=Your game waits for you")
                assert ear.last("game")["t"] >= left["t"]
            play(page, f"Game {number + 1} of" if number < 8 else "Thank you")
        code = page.inner_text(".code")
        take_picture(page, "thanks")
    (participant,) = store.participants()
    assert participant.progress.stage is StudyStage.THANKS and code == participant.completion_code
    games = list(store.games())
    assert [sum(game.start.phase is phase for game in games) for phase in Phase] == [1, 4, 8]
    assert all(game.ended is GameEnd.COMPLETE for game in games)
    assert all(len(game.actions) == game.start.ticks for game in games[1:])
    assert replays.mismatches(store, games) == []
    timed = [lag for game in games for lag in game.lags if lag >= 0]
    assert len(timed) > sum(len(game.actions) for game in games) / 2
    secret = {name for agents in STUDY.layouts.values() for pair in agents.items() for name in pair}
    assert not [name for name in secret if name in json.dumps(ear.heard)]


def hear_and_see_what_to_do(page, walker):
    """The guide says what to do next; a screen reader hears what was done and what is ahead."""
    guide = page.locator(".guide")
    spoken = page.locator(".game p.hidden[role=status]")
    expect(guide).to_contain_text("Take an onion")
    walker.walk("NW")
    expect(spoken.nth(1)).to_have_text("Before you: the onions")
    walker.use("onion")
    expect(spoken.nth(0)).to_have_text("You take a fresh onion.")
    expect(guide).to_contain_text("into the pot")
    walker.walk("EN")
    expect(spoken.nth(1)).to_have_text("Before you: an empty pot")
    walker.use(None)
    expect(guide).to_contain_text("In the pot: 1 onion. Take an onion")
    expect(spoken.nth(0)).to_have_text("You put an onion into a pot.")
    walker.walk("W")
    walker.walk("S")


@pytest.mark.long
@pytest.mark.parametrize("window", [PHONE, LANDSCAPE])
def test_a_participant_goes_through_the_whole_study_on_a_phone(url, store, browser, window):  # noqa: F811
    with listened(browser, window, has_touch=True, is_mobile=True) as (page, ear):
        page.goto(f"{url}/?PROLIFIC_PID=mobile")
        page.wait_for_selector("text=I agree")
        take_picture(page, "phone-consent")
        page.tap("text=I agree")
        for question in ("age-decline", "gender-0", "experience-0"):
            page.tap(f"#{question}")
        page.tap("text=Continue")
        page.wait_for_selector("h1:has-text('How it works')")
        page.tap("text=Continue")
        page.tap("text=Try the kitchen")
        page.wait_for_selector(".panel button")
        take_picture(page, "phone-start")
        page.tap(".panel button")
        ear.wait(lambda moment: moment["type"] == "tick")
        take_picture(page, "phone-tutorial")
        cook_a_soup(TouchWalker(page, ear, 0))
        for partner in "ABCD":
            page.tap(f"text=Play with partner {partner}")
            page.tap(".panel button")
            page.wait_for_selector("h1:has-text('Meet your partners')")
        page.tap("text=I have seen enough")
        page.wait_for_selector(".ranking")
        take_picture(page, "phone-ranking")
        page.tap("[aria-label='Move Partner D up']")
        page.tap("#sure")
        page.tap("text=Send")
        for number in range(1, 9):
            page.wait_for_selector(f"h1:has-text('Game {number} of 8')")
            page.tap("text=Next game")
            page.tap(".panel button")
            page.tap("button.north")
            take_picture(page, f"phone-game-{number}")
        page.wait_for_selector("h1:has-text('Thank you')")
        take_picture(page, "phone-thanks")
        assert page.inner_text(".code") == store.participants()[0].completion_code
        assert "You are participant 1." in page.inner_text(".who")
        assert page.evaluate("document.documentElement.scrollWidth") <= window["width"]


def test_a_hidden_tab_pauses_the_game_and_says_so(url, store, browser):  # noqa: F811
    with listened(browser) as (page, ear):
        page_of(store, page, url, events_before_the_games(STUDY))
        press(page, "Next game")
        page.wait_for_selector(".panel button")
        page.keyboard.press("Space")
        ear.wait(lambda moment: moment["type"] == "tick")
        page.evaluate(HIDE)
        page.wait_for_selector("text=You looked at something else, so the game has paused.")
        assert "It can pause 2 times more" in page.inner_text(".panel")
        play(page, "Game 2 of 8")
    (game,) = store.games()
    assert [one.reason for one in game.interruptions] == [InterruptionReason.HIDDEN]


def test_a_stalled_network_is_shown_and_pauses_the_game(tmp_path, browser):  # noqa: F811
    # A busy machine may pause it more often; long enough not to end before the network stalls.
    numbers = replace(STUDY.numbers, stall_seconds=0.5, pauses_most=1_000, game_ticks=200)
    impatient = replace(STUDY, numbers=numbers)
    with (
        closing(StudyStore.open(f"sqlite:///{tmp_path / 'study.db'}", impatient)) as store,
        serving(study_app(impatient, store, capacity=4)) as url,
        StallingProxy(url) as proxy,
        listened(browser) as (page, ear),
    ):
        page_of(store, page, proxy.url, events_before_the_games(impatient))
        press(page, "Next game")
        page.wait_for_selector(".panel button")
        page.keyboard.press("Space")
        ear.wait(lambda moment: moment["type"] == "tick")
        proxy.flows.clear()
        page.wait_for_selector("text=No word from the kitchen")
        proxy.flows.set()
        page.wait_for_selector("text=The connection was too slow, so the game has paused.")
        play(page, "Game 2 of 8")
        (game,) = store.games()
    assert {one.reason for one in game.interruptions} == {InterruptionReason.STALL}
    stall = max(game.interruptions, key=lambda one: one.seconds)
    assert stall.undrawn > 0 and stall.seconds > 0
    assert stall.tick < numbers.game_ticks


def test_a_page_that_draws_nothing_pauses_the_game(tmp_path, browser):  # noqa: F811
    numbers = replace(STUDY.numbers, stall_seconds=0.5, pauses_most=1_000)
    impatient = replace(STUDY, numbers=numbers)
    with (
        closing(StudyStore.open(f"sqlite:///{tmp_path / 'study.db'}", impatient)) as store,
        serving(study_app(impatient, store, capacity=4)) as url,
        listened(browser) as (page, ear),
    ):
        page_of(store, page, url, events_before_the_games(impatient))
        press(page, "Next game")
        page.wait_for_selector(".panel button")
        page.evaluate("window.requestAnimationFrame = () => 0")
        page.keyboard.press("Space")
        page.wait_for_selector("text=The connection was too slow, so the game has paused.")
        assert ear.last("tick") is not None  # what it was sent has come


def test_a_page_says_when_nothing_can_be_stored_and_goes_on_afterwards(url, store, browser):  # noqa: F811
    with listened(browser) as (page, _):
        page_of(store, page, url, events_before_the_games(STUDY))
        press(page, "Next game")
        page.wait_for_selector(".panel button")
        with locked(str(store.url)):
            page.keyboard.press("Space")
            expect(page.locator("#banner")).to_contain_text("stored")
        play(page, "Game 2 of 8")
        assert page.inner_text("#banner") == ""


def test_a_browser_without_a_valid_cookie_is_told_what_to_do(url, browser):  # noqa: F811
    with closing(browser.new_context()) as context:  # a refused request is a complaint there
        page = context.new_page()
        page.goto(f"{url}/?PROLIFIC_PID=forgetful")
        page.wait_for_selector("text=I agree")
        context.clear_cookies()
        page.evaluate("window.dispatchEvent(new Event('pagehide'))")  # it loses its connection
        page.wait_for_selector("text=We do not know this browser")


def page_of(store, page, url, events, who="other"):
    participant = store.join(ParticipantIdentity("prolific", who), 1e10)
    for event in events:
        participant = store.act(participant.number, event, 1e10)
    page.context.add_cookies(
        [{"name": "cochef", "value": tickets.ticket(store.secret, participant.number), "url": url}]
    )
    page.goto(f"{url}/study")
    return participant


def test_partners_are_ranked_by_pointer_and_a_reload_keeps_the_comments(url, store, browser):  # noqa: F811
    with listened(browser) as (page, _):
        participant = page_of(store, page, url, events_before_the_games(STUDY)[:-1])
        page.fill("#comment-1-0", "kept")
        page.reload()
        page.wait_for_selector(".ranking li")
        assert page.input_value("#comment-1-0") == "kept"
        page.locator("#sure").scroll_into_view_if_needed()
        first, last = (page.locator(".ranking li").nth(number).bounding_box() for number in (0, 3))
        page.mouse.move(first["x"] + 60, first["y"] + first["height"] / 2)
        page.mouse.down()
        page.mouse.move(last["x"] + 60, last["y"] + last["height"], steps=30)
        page.mouse.up()
        page.click("[aria-label='Move Partner D up']")
        assert [text[-1] for text in page.locator(".ranking .label").all_inner_texts()] == [
            "B",
            "D",
            "C",
            "A",
        ]
        page.check("#sure")
        page.click("text=Send")
        page.wait_for_selector("h1:has-text('Game 1 of 8')")
    assert store.participant(participant.number).progress.stage is StudyStage.GAMES


def test_nobody_reads_what_the_one_before_them_at_the_same_machine_wrote(url, store, browser):  # noqa: F811
    with listened(browser) as (page, _):
        page_of(store, page, url, events_before_the_games(STUDY)[:-1], "first")
        page.fill("#comment-1-0", "about my partner")
        page_of(store, page, url, events_before_the_games(STUDY)[:-1], "second")
        page.wait_for_selector(".ranking li")
        assert page.input_value("#comment-1-0") == ""
        page.fill("#comment-0-0", "mine")
        page.check("#sure")
        page.click("text=Send")
        page.wait_for_selector("h1:has-text('Game 1 of 8')")
        assert page.evaluate("JSON.stringify(sessionStorage)") == "{}"


def test_a_second_tab_says_so_and_the_first_one_too_after_a_change(url, store, browser):  # noqa: F811
    with listened(browser, PHONE) as (page, _):
        page_of(store, page, url, ())
        page.wait_for_selector("text=I agree")
        second = page.context.new_page()
        second.goto(f"{url}/study")
        second.click("text=Continue here")
        second.click("text=I agree")
        second.wait_for_selector("fieldset")
        page.wait_for_selector("h1:has-text('Open in another tab')")
        page.wait_for_selector(ASK)


def test_who_has_no_place_or_has_withdrawn_is_told_whom_to_ask(url, store, browser):  # noqa: F811
    with listened(browser) as (page, _):
        participant = page_of(store, page, url, (), "withdrawn")
        page.wait_for_selector("text=I agree")
        store.withdraw(participant.number)
        press(page, "I agree and take part")
        page.wait_for_selector("h1:has-text('Withdrawn')")
        page.wait_for_selector(ASK)
    with listened(browser) as (page, _):
        page_of(store, page, url, (), "one-tab-too-many")
        page.wait_for_selector("text=I agree")
        for _ in range(2):
            another = page.context.new_page()
            another.goto(f"{url}/study")
            another.wait_for_selector("h1:has-text('Open in another tab')")
        page.context.new_page().goto(f"{url}/study")
        page.context.pages[1].wait_for_selector("h1:has-text('Open too many times')")
        page.context.pages[1].wait_for_selector(ASK)


def test_who_declines_is_thanked_and_asked_nothing_more(url, store, browser):  # noqa: F811
    with listened(browser) as (page, _):
        page_of(store, page, url, ())
        press(page, "I do not take part")
        page.wait_for_selector("h1:has-text('Goodbye')")


def test_the_experimenter_sees_progress_watches_a_game_and_withdraws_a_participant(
    url,
    store,
    browser,  # noqa: F811
):
    participant = store.join(ParticipantIdentity("prolific", "other"), 1e10)
    for event in events_before_the_games(STUDY):
        participant = store.act(participant.number, event, 1e10)
    game = begun(store, participant)
    with listened(browser) as (page, _):
        page.goto(f"{url}/admin")
        page.fill("#password", PASSWORD)
        page.keyboard.press("Enter")
        page.wait_for_selector("caption:has-text('Participants')")
        page.wait_for_selector("text=room for 4")
        expect(page.locator(".warning")).to_contain_text("Stand-ins: nothing here is about")
        page.click("text=Make links")
        expect(page.get_by_label("New links")).to_have_value(re.compile("/join/"))
        with page.expect_download() as download:
            page.click("text=Export")
        assert download.value.suggested_filename == "study.zip"
        with page.expect_download() as download:
            page.click("text=Identities and codes")
        assert download.value.suggested_filename == "identities.csv"
        assert ",other," in Path(download.value.path()).read_text("utf-8")
        assert page.evaluate(HIDDEN_SIDEWAYS) == []
        take_picture(page, "admin")
        page.click("[aria-label^='Games of participant']")
        page.click(f"[aria-label='Watch game {game}']")
        page.wait_for_selector(".replay")
        take_picture(page, "admin-replay")
        page.click("text=Back")
        page.wait_for_selector("caption:has-text('Games')")
        page.click("text=Back")
        page.wait_for_selector("caption:has-text('Participants')")
        page.click("[aria-label^='Withdraw participant']")
        page.click("dialog >> text=Delete everything")
        page.wait_for_selector("[aria-label^='Withdraw participant']", state="detached")
    assert store.participants() == []


def at_the_games_of(page, url, game):
    """Log the experimenter in, and let them watch a game."""
    page.goto(f"{url}/admin")
    page.fill("#password", PASSWORD)
    page.keyboard.press("Enter")
    page.click("[aria-label^='Games of participant']")
    page.click(f"[aria-label='Watch game {game}']")
    page.wait_for_selector(".replay")


def holding(page, path):
    """A list to which requests to a path are added; they stay without an answer."""
    held = []

    def hold(route):
        held.append(route)

    page.route(path, hold)
    return held


def test_while_a_view_is_fetched_clicks_on_the_one_before_it_do_nothing(url, store, browser):  # noqa: F811
    game = begun(store, at_the_games(store, now=1e10), now=1e10)
    with listened(browser) as (page, _):
        at_the_games_of(page, url, game)
        held = holding(page, "**/api/admin/participants/*/games")
        back = page.locator("text=Back").bounding_box()
        for _ in range(3):
            page.mouse.click(back["x"] + 5, back["y"] + 5)
        wait_until(page, lambda: held, "the request")
        page.evaluate("fetch('/health').then((answer) => answer.text())")  # it would be later
        assert len(held) == 1
        held[0].continue_()
        page.wait_for_selector("caption:has-text('Games')")
        page.click("text=Back")
        page.wait_for_selector("caption:has-text('Participants')")


def test_answers_that_come_too_late_or_never_leave_the_experimenter_where_they_are(
    url,
    store,
    browser,  # noqa: F811
):
    game = begun(store, at_the_games(store, now=1e10), now=1e10)
    with closing(browser.new_context()) as context:  # what fails is a complaint there
        context.set_default_timeout(1000 * PATIENCE)
        page = context.new_page()
        held = holding(page, "**/api/admin/live")
        at_the_games_of(page, url, game)
        with page.expect_response("**/api/admin/live"):
            held[0].fulfill(status=401, json={"detail": "please give the password first"})
        page.evaluate("fetch('/health').then((answer) => answer.text())")  # after that answer
        assert page.locator(".replay").is_visible()
        page.route("**/api/admin/participants/*/games", lambda route: route.abort())
        page.click("text=Back")
        page.wait_for_selector("text=The server does not answer")
        page.unroute("**/api/admin/participants/*/games")
        page.click("text=Back")
        page.wait_for_selector("caption:has-text('Games')")
        assert page.inner_text("#banner") == ""
