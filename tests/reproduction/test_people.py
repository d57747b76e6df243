"""The simulated study fits the rules of the study that it rehearses."""

import pytest

from cochef import reproduction
from cochef.reproduction.people import SimulateStudy
from cochef.reproduction.plan import Scope, make


@pytest.mark.parametrize("preset", ["smoke", "laptop"])
def test_the_study_is_rehearsed_with_numbers_that_it_allows(preset):
    (job,) = make(Scope(tuple(reproduction.chosen(["study"])), preset)).jobs
    assert isinstance(job.stage, SimulateStudy)
    study = job.stage.study
    assert study.numbers.participants_per_layout == job.stage.participants_per_layout
