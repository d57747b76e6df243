"""The shipped study made short, and a person who hurries through its pages."""

import itertools
from dataclasses import replace

import jax

from cochef.agents.names import load
from cochef.kitchen import layouts
from cochef.rollout import record
from cochef.web import study
from cochef.web.progress import (
    Answers,
    Consent,
    GamePlayed,
    Judged,
    TutorialDone,
    Understood,
    WarmupDone,
    WarmupPlayed,
)
from cochef.web.records import ParticipantIdentity, Steps, counted_game

NUMBERS = study.Numbers(
    participants_per_layout=4,
    repeats=1,
    ticks_per_second=200.0,
    game_ticks=40,
    warmup_ticks=20,
    warmup_ticks_least=10,
    tutorial_ticks=4_000,
    agent_acts_once_in=2,
    countdown_seconds=0.0,
    joins_per_address=10_000,
    stall_seconds=60.0,  # a busy machine must not pause a game in which nobody waits for a pause
)


def small_study(names=("counter_circuit", "many_orders"), **numbers):
    """Two layouts, four places in each, eight games of 40 ticks."""
    full = study.shipped("paper")
    scripts = {"MEP": "script:onion_placement_and_delivery", "TrajDiv": "script:delivery"}
    chosen = {name: {**full.layouts[name], **scripts} for name in names}
    return replace(
        full,
        layouts=chosen,
        stand_in=True,
        numbers=replace(NUMBERS, **numbers),
        exclusions=study.Exclusions(),
        contact="Ada, ada@example.org",
        prolific_id_form="[a-z0-9-]+",
    )


def events_before_the_games(asked, ranking=(2, 0, 1, 3)):
    """All that a person does before the games that count, with a comment on every partner."""
    comments = tuple(
        tuple(f"{partner}: {n}" for n in range(len(asked.comment_questions)))
        for partner in range(4)
    )
    return (
        Consent(True),
        Answers({"age": 33, "gender": None, "experience": "never"}),
        Understood(),
        TutorialDone(),
        *(WarmupPlayed(partner) for partner in range(4)),
        WarmupDone(),
        Judged(ranking, comments),
    )


def consenting(store, who, now=1_000.0):
    """A participant who has consented, and so has a place."""
    participant = store.join(ParticipantIdentity("prolific", who), now)
    return store.act(participant.number, Consent(True), now)


def at_the_games(store, who="someone", now=1_000.0):
    """A participant of a store who has come to the games that count."""
    participant = store.join(ParticipantIdentity("prolific", who), now)
    for event in events_before_the_games(store.study):
        participant = store.act(participant.number, event, now)
    return participant


def begun(store, participant, now=1_000.0):
    """The number of a participant's next game, just begun."""
    return store.begin_game(counted_game(store.study, participant), now)


def finish_study(store, who, games, ranking=(2, 0, 1, 3)):
    """A participant who plays all games that count: `games` has joint actions and scores."""
    participant = store.join(ParticipantIdentity("prolific", who), 1_000.0)
    for event in events_before_the_games(store.study, ranking):
        participant = store.act(participant.number, event, 1_000.0)
    for number in range(store.study.games_each):
        game = begun(store, participant)
        actions, score = next(games[participant.layout])
        store.append(
            [
                Steps(
                    game,
                    0,
                    tuple(map(tuple, actions)),
                    tuple((tick, 17) for tick in range(len(actions))),
                )
            ]
        )
        store.finish_game(game, score, 1_010.0, event=GamePlayed(number))
        participant = store.participant(participant.number)
    return participant


def played_games(names, ticks=40, number=64):
    """For each layout, joint actions of two scripts and their score, again and again."""
    found = {}
    for name in names:
        layout = replace(layouts.get(name), horizon=ticks)
        pair = tuple(
            load(f"script:{script}", layout)
            for script in ("onion_placement_and_delivery", "delivery")
        )
        recording = jax.device_get(record(layout, pair, jax.random.key(0), number))
        games = [
            (recording.actions[:, n].tolist(), float(recording.score[n])) for n in range(number)
        ]
        found[name] = itertools.cycle(games)
    return found
