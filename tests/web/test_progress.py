"""The way through a study, and everything that is not allowed on it."""

from dataclasses import replace

import pytest

from cochef.errors import InputError
from cochef.web.progress import (
    Answers,
    Consent,
    GamePlayed,
    Judged,
    ParticipantProgress,
    StudyStage,
    TutorialDone,
    Understood,
    WarmupDone,
    WarmupPlayed,
    advance,
    beginning,
)
from tests.web.small_study import events_before_the_games, small_study

STUDY = small_study()
NO_COMMENTS = (("", ""),) * 4
EVENTS = (*events_before_the_games(STUDY), *(GamePlayed(number) for number in range(8)))


def walk(events, progress=None):
    """The stages that these events lead to."""
    progress = progress or beginning(STUDY)
    stages = []
    for event in events:
        progress = advance(STUDY, progress, event)
        stages.append(progress.stage)
    return progress, stages


def test_a_person_goes_through_all_stages_in_order():
    progress, stages = walk(EVENTS)
    assert list(dict.fromkeys(stages)) == [
        stage for stage in StudyStage if stage not in (StudyStage.CONSENT, StudyStage.DECLINED)
    ]
    assert progress == ParticipantProgress(StudyStage.THANKS, (1, 1, 1, 1), 8)


def test_who_does_not_consent_has_declined_and_can_do_nothing_more():
    progress, _ = walk([Consent(False)])
    assert progress.stage is StudyStage.DECLINED
    for event in EVENTS:
        with pytest.raises(InputError, match="at the stage declined"):
            advance(STUDY, progress, event)


def test_no_event_is_accepted_at_a_stage_to_which_it_does_not_belong():
    accepted = 0
    for stage in StudyStage:
        for event in {type(event): event for event in reversed(EVENTS)}.values():
            try:
                advance(STUDY, ParticipantProgress(stage, (1, 1, 1, 1)), event)
                accepted += 1
            except InputError as error:
                assert f"at the stage {stage}; it belongs to" in str(error)
    assert accepted == 8


def test_without_questions_their_stage_is_left_out():
    unasked = replace(STUDY, questions=())
    assert advance(unasked, beginning(unasked), Consent(True)).stage is StudyStage.INSTRUCTIONS


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({"age": 33}, "the questions are: age, experience, gender"),
        (
            {"age": 17, "gender": None, "experience": None},
            "age is 17; it takes a whole number from 18 to 120",
        ),
        (
            {"age": True, "gender": None, "experience": None},
            "age is True; it takes a whole number from 18 to 120",
        ),
        (
            {"age": "33", "gender": None, "experience": None},
            "age is '33'; it takes a whole number from 18 to 120",
        ),
        ({"age": None, "gender": "x", "experience": None}, "gender is 'x'; allowed: woman, man"),
        ({"age": None, "gender": None, "experience": 3}, "experience is 3; allowed: never"),
        ({"age": None, "gender": None, "experience": None, "name": "Ann"}, "answers to"),
    ],
)
def test_an_answer_outside_what_is_allowed_is_refused(values, complaint):
    with pytest.raises(InputError, match=complaint):
        advance(STUDY, ParticipantProgress(StudyStage.QUESTIONS, (0,) * 4), Answers(values))


def test_every_question_may_be_declined():
    declined = Answers(dict.fromkeys(("age", "gender", "experience")))
    assert (
        advance(STUDY, ParticipantProgress(StudyStage.QUESTIONS, (0,) * 4), declined).stage
        is StudyStage.INSTRUCTIONS
    )


def test_every_partner_is_tried_before_one_goes_on():
    progress, _ = walk(
        [Consent(True), EVENTS[1], Understood(), TutorialDone(), WarmupPlayed(2), WarmupPlayed(2)]
    )
    assert progress.tried == (0, 0, 2, 0)
    with pytest.raises(InputError, match=r"\[0, 0, 2, 0\]; at least 1 with each"):
        advance(STUDY, progress, WarmupDone())
    with pytest.raises(InputError, match="partner is 4; it takes a whole number from 0 to 3"):
        advance(STUDY, progress, WarmupPlayed(4))


@pytest.mark.parametrize("ranking", [(), (0, 1, 2), (0, 1, 2, 2), (0, 1, 2, 4), (0, 1, 2, 3, 3)])
def test_a_ranking_has_every_partner_once(ranking):
    with pytest.raises(InputError, match="every partner from 0 to 3 once"):
        advance(
            STUDY, ParticipantProgress(StudyStage.RANKING, (1,) * 4), Judged(ranking, NO_COMMENTS)
        )


@pytest.mark.parametrize(
    "comments", [(), (("", ""),) * 3, (("",),) * 4, (("", "x" * 5_001),) * 4, (("\0", ""),) * 4]
)
def test_comments_have_an_entry_for_each_partner_and_question_of_a_sensible_length(comments):
    with pytest.raises(InputError, match="comment"):
        advance(
            STUDY, ParticipantProgress(StudyStage.RANKING, (1,) * 4), Judged((0, 1, 2, 3), comments)
        )
    assert (
        advance(
            STUDY,
            ParticipantProgress(StudyStage.RANKING, (1,) * 4),
            Judged((0, 1, 2, 3), NO_COMMENTS),
        ).stage
        is StudyStage.GAMES
    )


def test_games_are_played_in_order_and_none_twice():
    progress = ParticipantProgress(StudyStage.GAMES, (1,) * 4, 3)
    for wrong in (2, 4, -1):
        with pytest.raises(InputError, match="the next one to play is 3"):
            advance(STUDY, progress, GamePlayed(wrong))
