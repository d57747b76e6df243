"""The server's log stays small, whatever is logged."""

import logging

import pytest

from cochef.web.logs import RepeatLimit


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def logger(clock):
    made = logging.Logger("cochef.test")
    made.written = []

    class Keeper(logging.Handler):
        def emit(self, record):
            made.written.append(record.getMessage())

    handler = Keeper()
    handler.addFilter(RepeatLimit(clock))
    made.addHandler(handler)
    return made


def test_ten_records_of_a_kind_are_written_in_a_minute(logger):
    for number in range(50):
        logger.warning("too many connections from %s", number)
    logger.warning("something else")
    assert len(logger.written) == 11
    assert logger.written[-1] == "something else"


def test_after_a_minute_the_log_says_how_many_records_were_left_out(logger, clock):
    for _ in range(50):
        logger.warning("again")
    clock.now = 60.0
    logger.warning("again")
    logger.warning("again")
    assert logger.written[-2:] == ["again (40 records like earlier ones were left out)", "again"]


def test_kinds_that_somebody_makes_up_do_not_fill_the_log(logger):
    for number in range(5_000):
        logger.warning(f"made up {number}")
    assert len(logger.written) <= 200
