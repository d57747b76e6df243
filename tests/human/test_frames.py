"""Pickles are written here by hand, opcode by opcode: what a stranger could put into a file."""

import pickle

import numpy as np
import pytest

from cochef.errors import InputError
from cochef.human.frames import columns


def plain(value):
    """The opcodes that leave a plain value on the stack."""
    return pickle.dumps(value, protocol=3)[2:-1]


def name(module, attribute):
    return f"c{module}\n{attribute}\n".encode()


def pair(*parts):
    return b"(" + b"".join(parts) + b"t"


def call(function, arguments):
    return function + arguments + b"R"


def file(opcodes):
    return b"\x80\x03" + opcodes + b"."


def array(values, code, content):
    begun = call(
        name("numpy.core.multiarray", "_reconstruct"),
        pair(name("numpy", "ndarray"), plain((0,)), plain("b")),
    )
    dtype = call(name("numpy", "dtype"), plain((code, False, True))) + plain((3, "<", None)) + b"b"
    return (
        begun + pair(plain(1), plain(np.shape(values)), dtype, plain(False), plain(content)) + b"b"
    )


def index(labels):
    data = b"}" + plain("data") + array(labels, "O8", labels) + b"s"
    return call(
        name("pandas.core.indexes.base", "_new_Index"),
        pair(name("pandas.core.indexes.base", "Index"), data),
    )


def table(numbers, texts):
    """A table of one block of numbers and one of texts, as the pandas of 2019 wrote it."""
    whole = np.array(list(numbers.values()))
    words = np.array(list(texts.values()), object)
    blocks = (
        b"("
        + array(whole, "i8", whole.tobytes())
        + array(words, "O8", words.ravel().tolist())
        + b"l"
    )
    names = b"(" + index(list(numbers)) + index(list(texts)) + b"l"
    manager = call(name("pandas.core.internals.managers", "BlockManager"), b")")
    manager += pair(plain([]), blocks, names, plain({})) + b"b"
    frame = call(name("pandas.core.frame", "DataFrame"), b")")
    return file(frame + b"}" + plain("_data") + manager + b"s" + b"b")


SMALL = table({"score": [0, 20, 20], "round": [1, 1, 1]}, {"state": ["a", "b", "c"]})


def test_a_table_gives_back_its_columns():
    read = columns(SMALL)
    assert {label: column.tolist() for label, column in read.items()} == {
        "score": [0, 20, 20],
        "round": [1, 1, 1],
        "state": ["a", "b", "c"],
    }


@pytest.mark.parametrize(
    ("module", "attribute"),
    [
        ("os", "system"),
        ("posix", "system"),
        ("builtins", "eval"),
        ("builtins", "getattr"),
        ("subprocess", "Popen"),
        ("numpy", "load"),
        ("numpy.core.multiarray", "fromfile"),
        ("pandas.core.frame", "DataFrame.eval"),
        ("pandas.core.series", "Series"),
        ("cochef.human.frames", "_Unpickler"),
    ],
)
def test_a_pickle_that_asks_for_anything_else_is_refused(tmp_path, module, attribute):
    harmed = tmp_path / "harmed"
    evil = file(call(name(module, attribute), plain((f"touch {harmed}",))))
    with pytest.raises(
        InputError, match=f"asks for {module}.{attribute}, which is refused; admitted: numpy.core"
    ):
        columns(evil)
    assert not harmed.exists()


def test_a_pickle_of_an_object_of_ours_that_would_run_a_command_is_refused(tmp_path):
    harmed = tmp_path / "harmed"

    class Evil:
        def __reduce__(self):
            import os  # noqa: PLC0415

            return os.system, (f"touch {harmed}",)

    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(InputError, match="which is refused"):
            columns(pickle.dumps(Evil(), protocol))
    assert not harmed.exists()


def test_admitted_names_only_stand_for_what_they_name():
    with pytest.raises(InputError, match="not a pickled table of games"):
        columns(file(call(name("numpy", "ndarray"), plain(((10**12,),)))))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b".",
        b"no pickle",
        pickle.dumps([1, 2]),
        pickle.dumps(None),
        file(b"Pperson\n"),
        SMALL[:-1],
    ],
    ids=["empty", "stop", "text", "list", "none", "persistent", "truncated"],
)
def test_bytes_that_are_no_table_are_a_clear_error(content):
    with pytest.raises(InputError, match="not a pickled table of games"):
        columns(content)


def test_a_table_cut_off_anywhere_is_a_clear_error():
    for length in range(len(SMALL)):
        with pytest.raises(InputError):
            columns(SMALL[:length])
