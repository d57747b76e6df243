"""The simulated study fits the rules of the study that it rehearses; a real one keeps secrets."""

import json

import pytest

from cochef import reproduction
from cochef.experiments.jobs import Job
from cochef.reproduction.people import ReadStudy, SimulateStudy
from cochef.reproduction.plan import Scope, make


@pytest.mark.parametrize("preset", ["smoke", "laptop"])
def test_the_study_is_rehearsed_with_numbers_that_it_allows(preset):
    (job,) = make(Scope(tuple(reproduction.chosen(["study"])), preset)).jobs
    assert isinstance(job.stage, SimulateStudy)
    study = job.stage.study
    assert study.numbers.participants_per_layout == job.stage.participants_per_layout


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+psycopg://cook:secret@host/study",
        "postgresql+psycopg://cook@host/study?password=secret",
        "postgresql+psycopg://cook:secret@host",
        "postgresql+psycopg:///study?user=cook&password=sec/secret",
    ],
)
def test_no_description_of_a_job_holds_the_password_of_a_study(url):
    job = Job(ReadStudy(url, games=12), "people")
    for text in (json.dumps(job.description), job.name, repr(job)):
        assert "secret" not in text
        assert "cook" not in text


def test_a_study_on_disk_is_named_by_its_file():
    stage = ReadStudy("sqlite:////home/cook/runs/study.db", games=12)
    assert stage.config == {"database": "study.db", "games": 12, "agents": {}}
