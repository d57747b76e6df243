"""Frames of any kind for a study's websocket: sensible, changed a little, or nonsense."""

import json


def anything(chance, depth=0):
    """Any value that JSON can hold."""
    kind = chance.randrange(9 if depth < 4 else 6)
    if kind == 6:
        return [anything(chance, depth + 1) for _ in range(chance.randrange(5))]
    if kind in (7, 8):
        return {word(chance): anything(chance, depth + 1) for _ in range(chance.randrange(5))}
    return [
        None,
        chance.random() < 0.5,
        chance.randrange(-3, 9),
        chance.uniform(-1e9, 1e9),
        word(chance),
        2**70,
    ][kind]


def word(chance):
    known = [
        "type",
        "event",
        "action",
        "t",
        "partner",
        "hello",
        "start",
        "ready",
        "ranking",
        "values",
        "seconds",
    ]
    return chance.choice(
        [*known, "", "\0", "'; --", "<b>", "é" * 50, chr(chance.randrange(0x20, 0xD7FF)) * 3]
    )


def sensible(chance):
    """A message that a page might send, at the wrong time."""
    whole = chance.randrange(-2, 8)
    ranking = chance.sample(range(4), 4)
    return chance.choice(
        [
            {"type": "hello", "take_over": chance.random() < 0.5},
            {"type": "start"},
            {"type": "start", "partner": whole},
            {
                "type": "start",
                "layout": "coordination_ring",
                "partner": "random",
                "seat": 0,
                "slowness": 1,
                "ticks": 9,
            },
            {"type": "ready", "seconds": chance.choice([0, 0.0, -1, 99])},
            {"type": chance.choice(["down", "up"]), "action": whole},
            {"type": "seen", "t": chance.randrange(-1, 300)},
            {"type": "stop"},
            {"type": "submit", "event": "consent", "agrees": True},
            {
                "type": "submit",
                "event": "answers",
                "values": {"age": whole, "gender": None, "experience": word(chance)},
            },
            {
                "type": "submit",
                "event": "answers",
                "values": {"age": None, "gender": None, "experience": None},
            },
            {
                "type": "submit",
                "event": chance.choice(["understood", "tutorial-done", "warm-up-done", "judged"]),
            },
            {"type": "submit", "event": "judged", "ranking": ranking, "comments": [["a", "b"]] * 4},
            {
                "type": "submit",
                "event": "judged",
                "ranking": anything(chance),
                "comments": anything(chance),
            },
        ]
    )


def frame(chance):
    """A frame of any kind."""
    kind = chance.random()
    if kind < 0.4:
        return json.dumps(sensible(chance))
    if kind < 0.6:
        message = sensible(chance)
        message[chance.choice(list(message))] = anything(chance)
        return json.dumps(message)
    if kind < 0.8:
        text = json.dumps(sensible(chance))
        cut = chance.randrange(len(text))
        return text[:cut] + chance.choice(_SPOILS) + text[cut + 1 :]
    if kind < 0.95:
        return json.dumps(anything(chance))
    return chance.choice(_KNOWN) * chance.randrange(40)


_KNOWN = ("type", "hello", "values", "", "\0", "'; --", "é" * 50)
_SPOILS = ("", "}", '"', "\\", "[" * 300, "9" * 400, "\0", "é" * 50)
