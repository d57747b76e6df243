"""Where the metrics of a run go."""

import sys

import pytest

from cochef.errors import InputError
from cochef.learning.writers import ExternalRunWriter, JsonLinesWriter, TensorBoardWriter, scalars

UPDATE = {"entropy": 1.5, "clip_fraction": 0.1}
LINES = [
    {"iteration": 1, "steps": 100, "seconds": 0.5, "task_return": [10.0, 30.0], "update": UPDATE},
    {"iteration": 2, "steps": 200, "seconds": 1.0, "task_return": [20.0, 60.0], "update": UPDATE},
]


def feed(writer, lines=LINES):
    writer.begin({"population": "sp"})
    for line in lines:
        writer.write(line)
    writer.end()


def records(directory):
    """Tag, step and value of all that TensorBoard would show."""
    from tensorboardX.proto.event_pb2 import Event  # noqa: PLC0415

    (path,) = directory.iterdir()
    content = path.read_bytes()
    found = []
    while content:
        size = int.from_bytes(content[:8], "little")
        event = Event.FromString(content[12 : 12 + size])
        found += [(value.tag, event.step, value.simple_value) for value in event.summary.value]
        content = content[16 + size :]
    return found


def test_a_line_as_scalars():
    assert scalars(LINES[0]) == {
        "task_return/mean": 20.0,
        "task_return/best": 30.0,
        "task_return/worst": 10.0,
        "task_return/member_00": 10.0,
        "task_return/member_01": 30.0,
        "update/entropy": 1.5,
        "update/clip_fraction": pytest.approx(0.1),
        "seconds": 0.5,
    }


def test_json_lines_continue_after_the_lines_from_before(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"iteration":0}\n{"iteration":1}\n{"iter')
    feed(JsonLinesWriter(path, ['{"iteration":0}\n']), [{"iteration": 1, "steps": 5}])
    assert path.read_text() == '{"iteration":0}\n{"iteration":1,"steps":5}\n'


def test_tensorboard_files_hold_every_scalar_by_step(tmp_path):
    feed(TensorBoardWriter(tmp_path))
    wanted = [
        (name, line["steps"], pytest.approx(value))
        for line in LINES
        for name, value in scalars(line).items()
    ]
    found = records(tmp_path)
    assert sorted(found) == sorted(wanted, key=lambda entry: entry[:2])


def test_without_tensorboardx_the_error_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with pytest.raises(InputError, match=r'pip install "\.\[tensorboard\]"'):
        TensorBoardWriter(tmp_path)


def test_anything_that_logs_gets_the_scalars_with_their_step():
    class Run:
        def __init__(self):
            self.logged = []

        def log(self, data, step=None):
            self.logged.append((step, data))

    run = Run()
    feed(ExternalRunWriter(run))
    assert run.logged == [(line["steps"], scalars(line)) for line in LINES]
