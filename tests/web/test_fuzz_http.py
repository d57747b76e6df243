"""Nonsense in bulk over HTTP, in every operation of the server: never an error of the server."""

import time
from collections import Counter
from contextlib import suppress

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode

from cochef.web import admin
from cochef.web.progress import GamePlayed
from cochef.web.records import ParticipantIdentity, Steps
from tests.web.fuzzing import PASSWORD, STUDY, served_study
from tests.web.serving import PATIENCE
from tests.web.small_study import at_the_games, begun

IN_A_FILE = pytest.mark.parametrize("url", ["sqlite"], indirect=True)
OWN_CHANCE = pytest.mark.filterwarnings(  # schemathesis draws some numbers past hypothesis
    "ignore::hypothesis.errors.HypothesisDeprecationWarning"
)
LOGIN = "/api/admin/login"
TOO_MANY = 429
# What refuses a request before it comes to the code that it is meant for.
ON_THE_WAY = (401, 403, 405, TOO_MANY)


@pytest.fixture
def served(url, monkeypatch):
    """Whoever sends wrong passwords does not have to wait: calls shall come to their code."""
    monkeypatch.setattr(admin, "_ATTEMPTS", 1e9)
    with served_study(url) as found:
        yield found


class Caller:
    """Calls operations as an experimenter who is logged in."""

    def __init__(self, url, store, session):
        self.url = url
        self.store = store
        self.session = session
        self.witness = store.join(ParticipantIdentity("prolific", "witness"), time.time())
        self.answers = Counter()  # by method, path and status
        self.calls = Counter()  # by method and path
        self.newcomers = 0
        self.log_in()

    def log_in(self):
        answer = self.session.post(
            f"{self.url}{LOGIN}", json={"password": PASSWORD}, timeout=PATIENCE
        )
        assert answer.status_code == 204

    def call(self, case):
        """Call once more while there are too many; nobody is logged out before the next call."""
        self._name_what_there_is(case)
        answer = case.call(base_url=self.url, session=self.session, timeout=PATIENCE)
        while answer.status_code == TOO_MANY:
            time.sleep(0.5)
            answer = case.call(base_url=self.url, session=self.session, timeout=PATIENCE)
        self.answers[case.method, case.path, answer.status_code] += 1
        assert answer.status_code < 500, (case.method, case.path, answer.status_code)
        assert b"Traceback" not in answer.content
        if not self.session.get(f"{self.url}/api/admin/session", timeout=PATIENCE).json():
            self.log_in()

    def _name_what_there_is(self, case):
        """Every other time ask for a participant, game, layout or link that there is."""
        named = case.path_parameters
        self.calls[case.method, case.path] += 1
        if self.calls[case.method, case.path] % 2:
            if "number" in named:
                is_person = "participants" in case.path
                named["number"] = self._participant() if is_person else self._game()
            elif "name" in named:
                named["name"] = STUDY.tutorial_layout
            elif "link" in named:
                named["link"] = self.store.invite(1)[0]
        if named.get("number") == self.witness.number:
            named["number"] = self._participant()

    def _participant(self):
        """A new participant with a game."""
        self.newcomers += 1
        participant = at_the_games(self.store, f"newcomer-{self.newcomers}", time.time())
        game = begun(self.store, participant)
        actions = ((0, 1),) * STUDY.numbers.game_ticks
        self.store.append([Steps(game, 0, actions)])
        self.store.finish_game(game, 0.0, time.time(), event=GamePlayed(0))
        return participant.number

    def _game(self):
        self._participant()
        return max(game.number for game in self.store.games())

    @property
    def reached(self):
        """How many calls came to the code that they are meant for."""
        return sum(
            count for (_, _, status), count in self.answers.items() if status not in ON_THE_WAY
        )


def call_everything(served, examples):
    """Call every operation in allowed and forbidden ways; the caller afterwards."""
    url, store, app = served
    schema = schemathesis.openapi.from_dict(app.openapi())
    with requests.Session() as session:
        session.headers["Origin"] = url
        caller = Caller(url, store, session)
        for found in schema.get_all_operations():
            operation = found.ok()
            for mode in GenerationMode:

                @settings(
                    max_examples=examples,
                    deadline=None,
                    suppress_health_check=list(HealthCheck),
                    database=None,
                )
                @given(operation.as_strategy(generation_mode=mode))
                def called(case):
                    caller.call(case)

                with suppress(Unsatisfiable):  # what has no parameters has none that are wrong
                    called()
    assert store.participant(caller.witness.number) == caller.witness
    succeeded = {key[:2] for key in caller.answers if key[2] < 400}
    operations = {(one.ok().method.upper(), one.ok().path) for one in schema.get_all_operations()}
    assert operations - succeeded == {("POST", LOGIN)}  # nobody guesses the password
    return caller


@IN_A_FILE
@OWN_CHANCE
def test_nonsense_over_http_is_never_an_error_of_the_server(served):
    assert call_everything(served, 4).reached > 40


@OWN_CHANCE
@pytest.mark.long
def test_much_nonsense_over_http_is_never_an_error_of_the_server(served):
    caller = call_everything(served, 400)
    print(f"{caller.reached} of {caller.answers.total()} calls came to their code")
    print(*sorted(f"{' '.join(map(str, key))}: {n}" for key, n in caller.answers.items()), sep="\n")
    assert caller.reached >= 5_000
