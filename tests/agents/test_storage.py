"""Agent files: what is saved comes back, and a file that is not right is a clear error."""

import dataclasses
import hashlib
import json
import random

import equinox as eqx
import jax
import numpy as np
import pytest
from safetensors.numpy import save as to_bytes

from cochef.agents import cloned, storage
from cochef.agents.clone_networks import CloneNetwork
from cochef.agents.names import load
from cochef.errors import InputError
from cochef.kitchen import layouts

ROOM = layouts.get("cramped_room")
HIDDEN = (5, 4)
CARD = cloned.card(ROOM, HIDDEN, {"made": "for tests"})


def sealed(text, tensors):
    """An agent file with this text as its card, whatever it says, and a checksum that matches."""
    digest = hashlib.sha256(text.encode())
    for name, array in sorted(tensors.items()):
        digest.update(f"\n{name} {array.dtype} {array.shape}\n".encode() + array.tobytes())
    return to_bytes(tensors, metadata={"cochef": text, "sha256": digest.hexdigest()})


def parts(content):
    """The header and the data; the header's entries are in no particular order."""
    length = int.from_bytes(content[:8], "little")
    return json.loads(content[8 : 8 + length]), content[8 + length :]


@pytest.fixture(scope="module")
def network():
    return CloneNetwork(HIDDEN, jax.random.key(1))


@pytest.fixture
def path(tmp_path, network):
    path = tmp_path / "deep" / "down" / "agent.safetensors"
    storage.save(path, CARD, network)
    return path


@pytest.fixture
def tensors(path):
    return storage.read(path)[1]


def test_a_saved_agent_comes_back_the_same_with_its_card(path, network):
    card, _ = storage.read(path)
    assert card == CARD
    assert eqx.tree_equal(load(str(path), ROOM), cloned.HumanClone(network, ROOM))


def test_the_file_is_as_the_documentation_says(path, tensors):
    assert parts(path.read_bytes()) == parts(
        sealed(json.dumps(vars(CARD), sort_keys=True), tensors)
    )
    assert sorted(tensors) == [
        "biases.0",
        "biases.1",
        "biases.2",
        "weights.0",
        "weights.1",
        "weights.2",
    ]


def test_saving_again_replaces_the_file_and_leaves_nothing_else_behind(path, network):
    storage.save(path, dataclasses.replace(CARD, metadata={}), network)
    assert storage.read(path)[0].metadata == {}
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_equal_agents_have_equal_files(path, network, tmp_path):
    for number in range(8):  # safetensors would change the order of the header in half of them
        again = tmp_path / f"{number}.safetensors"
        storage.save(again, CARD, network)
        assert again.read_bytes() == path.read_bytes()


def test_a_place_that_cannot_be_written_to_is_an_error_and_leaves_nothing_behind(path, network):
    for place in (path / "below.safetensors", path.parent):
        with pytest.raises(InputError, match=r"cannot be written \(.*\); give another place"):
            storage.save(place, CARD, network)
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]
    assert [entry.name for entry in path.parent.parent.iterdir()] == [path.parent.name]


def test_an_agent_does_not_play_in_another_layout(path):
    with pytest.raises(
        InputError,
        match=r"agent\.safetensors: this agent was made for cramped_room, not for many_ord",
    ):
        load(str(path), layouts.get("many_orders"))


def test_an_agent_does_not_play_in_another_layout_of_the_same_name(path):
    namesake = dataclasses.replace(ROOM, rows=("XXPXX", "O   O", "X   X", "XSXDX"))
    with pytest.raises(
        InputError, match="made for another layout called cramped_room, not for cramped_room"
    ):
        load(str(path), namesake)


def test_a_refused_agent_says_that_only_the_starts_differ(path):
    (x, y), other = ROOM.starts
    exchanged = dataclasses.replace(ROOM, starts=(other, (x, y)))
    with pytest.raises(
        InputError, match="only the starts differ: column 2, row 3 and column 4, ro"
    ):
        load(str(path), exchanged)


def test_an_agent_plays_in_its_layout_under_another_name_and_for_another_time(path):
    renamed = dataclasses.replace(ROOM, name="small_room", horizon=60)
    assert load(str(path), renamed).layout == renamed


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda t: t.pop("biases.1"), "array 'biases.1' is missing for its configuration"),
        (
            lambda t: t.update(other=np.zeros(3, np.float32)),
            "array 'other' is unknown for its configuration",
        ),
        (
            lambda t: t.update({"bias.0": t.pop("biases.0")}),
            "array 'bias.0' is unknown for its configuration",
        ),
        (
            lambda t: t.update({"biases.0": np.zeros(6, np.float32)}),
            r"'biases.0' is float32\[6\]; it takes float32\[5",
        ),
        (
            lambda t: t.update({"biases.0": np.zeros(5, np.int32)}),
            r"'biases.0' is int32\[5\]; it takes float32\[5\]",
        ),
        (
            lambda t: t.update({"weights.0": t["weights.0"].T}),
            r"'weights.0' is float32\[5, 96\]; it takes",
        ),
        (
            lambda t: t.update({"biases.2": np.full(6, np.nan, np.float32)}),
            "'biases.2' holds a number that is not fin",
        ),
        (
            lambda t: t.update({"biases.2": np.full(6, np.inf, np.float32)}),
            "'biases.2' holds a number that is not fin",
        ),
        (
            lambda t: t.update({"biases.2": np.zeros(6, np.float16)}),
            "array 'biases.2' is float16",
        ),
        (dict.clear, "array 'biases.0' is missing"),
    ],
)
def test_arrays_that_do_not_fit_are_an_error_that_names_the_array(
    tmp_path, tensors, change, complaint
):
    path, arrays = (
        tmp_path / "odd.safetensors",
        {name: np.ascontiguousarray(array) for name, array in tensors.items()},
    )
    change(arrays)
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    path.write_bytes(sealed(json.dumps(vars(CARD)), arrays))
    with pytest.raises(InputError, match=rf"odd\.safetensors: .*{complaint}"):
        load(str(path), ROOM)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (
            json.dumps({**vars(CARD), "kind": "oracle"}),
            "unknown kind of agent 'oracle'; known: clone",
        ),
        (json.dumps({**vars(CARD), "kind": 7}), "kind in its card is 7; it takes text"),
        (json.dumps({**vars(CARD), "config": []}), r"config in its card is \[\]; it takes a table"),
        (
            json.dumps({**vars(CARD), "metadata": "x"}),
            "metadata in its card is 'x'; it takes a table",
        ),
        (json.dumps({**vars(CARD), "mood": "from the future"}), "its card is of another version"),
        (json.dumps({"kind": "clone"}), "its card is of another version, not with kind, layout"),
        (
            json.dumps({**vars(CARD), "fingerprint": "0"}),
            "made for another layout called cramped_room",
        ),
        (
            json.dumps({**vars(CARD), "config": {}}),
            "hidden is None; it takes 1 to 8 layer sizes from 1 to 4096",
        ),
        (
            json.dumps({**vars(CARD), "config": {"hidden": []}}),
            r"hidden is \[\]; it takes 1 to 8 layer sizes",
        ),
        (
            json.dumps({**vars(CARD), "config": {"hidden": [5, True]}}),
            r"hidden is \[5, True\]; it takes",
        ),
        (
            json.dumps({**vars(CARD), "config": {"hidden": [5, 10**9]}}),
            r"hidden is \[5, 1000000000\]; it takes",
        ),
        (
            json.dumps({**vars(CARD), "config": {"hidden": [5] * 99_999}}),
            r"hidden is \[5, .*\.\.\.; it takes",
        ),
        (
            json.dumps({**vars(CARD), "config": {"hidden": [5]}}),
            "array 'biases.2' is unknown for its configuration",
        ),
        ("[]", "its card is of another version"),
        ("null", "its card is of another version"),
        ("", "its card is not JSON"),
        ("[" * 100_000, "its card is not JSON"),
        ("9" * 100_000, "its card is not JSON"),
    ],
)
def test_a_card_that_does_not_fit_is_an_error_that_says_what_is_wrong(
    tmp_path, tensors, text, complaint
):
    path = tmp_path / "odd.safetensors"
    path.write_bytes(sealed(text, tensors))
    with pytest.raises(InputError, match=rf"odd\.safetensors: .*{complaint}") as caught:
        load(str(path), ROOM)
    assert len(str(caught.value)) < 1_000


def truncated(content, chance):
    return content[: chance.randrange(len(content))]


def bit_flipped(content, chance):
    damaged = bytearray(content)
    for _ in range(chance.choice([1, 1, 1, 8])):
        damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
    return bytes(damaged)


def header_flipped(content, chance):
    damaged = bytearray(content)
    damaged[chance.randrange(8 + int.from_bytes(content[:8], "little"))] = chance.randrange(256)
    return bytes(damaged)


def spliced(content, chance):
    start, stop = sorted(chance.choices(range(len(content)), k=2))
    return (
        content[:start] + chance.randbytes(chance.choice([0, 1, 40, stop - start])) + content[stop:]
    )


def header_edited(content, chance):
    """A well-formed header that says something else."""
    header, data = parts(content)
    entry = header[chance.choice(list(header))]
    entry[chance.choice(list(entry))] = chance.choice(
        [None, "F32", "F64", "U8", [96, 5], [5], [0, 20], [20, 0], -1, {}]
    )
    if chance.random() < 0.3:
        header[chance.choice(["more", "__metadata__"])] = chance.choice([{}, [], None, "x", entry])
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


@pytest.mark.parametrize("damage", [truncated, bit_flipped, header_flipped, spliced, header_edited])
def test_a_damaged_file_is_an_error_or_still_the_same_agent(path, damage):
    content, whole, chance = (
        path.read_bytes(),
        load(str(path), ROOM),
        random.Random(damage.__name__),
    )
    refused = 0
    for _ in range(400):
        path.write_bytes(damage(content, chance))
        try:
            assert eqx.tree_equal(load(str(path), ROOM), whole)
        except InputError as error:
            assert str(error).startswith(f"{path}: ")
            refused += 1
    assert refused > 300


def test_a_file_that_is_no_agent_is_an_error(tmp_path):
    for content in (
        b"",
        b"\0" * 8,
        b"\xff" * 100,
        b"{}",
        b"\x02\0\0\0\0\0\0\0{}",
        b"\x02\0\0\0\0\0\0\0[]",
    ):
        path = tmp_path / "noise.safetensors"
        path.write_bytes(content)
        with pytest.raises(InputError, match="not an agent file, or cut short"):
            load(str(path), ROOM)
