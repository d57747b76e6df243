"""A shared store never gives what was not stored whole, and a job is claimed by one at a time."""

import hashlib
import json
import subprocess
import sys
import time

import fsspec
import pytest

from cochef.errors import InputError
from cochef.experiments import claims
from cochef.experiments.claims import ClaimLostError, StaleWatch, acquire
from cochef.experiments.shared_store import COMPLETE, SharedStore

NAME = "write-a-0123"


@pytest.fixture(params=["directory", "memory"])
def store(request, tmp_path):
    if request.param == "directory":
        return SharedStore(str(tmp_path / "store"))
    return SharedStore(f"memory://{tmp_path.name}")


@pytest.fixture
def result(tmp_path):
    """The directory of a finished job, with a lock and a part of a file that belong to nobody."""
    directory = tmp_path / "result"
    (directory / "agents").mkdir(parents=True)
    (directory / "agents" / "00.safetensors").write_bytes(bytes(range(256)))
    (directory / "done.json").write_text("{}")
    (directory / ".lock").write_text("")
    return directory


def contents(directory):
    paths = [path for path in directory.rglob("*") if path.is_file()]
    return {str(path.relative_to(directory)): path.read_bytes() for path in paths}


def test_what_was_published_is_fetched_without_hidden_files(store, result, tmp_path):
    assert not store.is_complete(NAME)
    store.publish(NAME, result)
    assert store.is_complete(NAME)
    store.fetch(NAME, tmp_path / "copy")
    expected = contents(result)
    del expected[".lock"]
    assert contents(tmp_path / "copy") == expected


def test_a_copy_that_was_cut_short_is_not_taken_for_done(store, result, tmp_path):
    (result / "metrics.jsonl").write_text("x")
    store.publish(NAME, result)
    copy = tmp_path / "copy"
    (copy / "metrics.jsonl").mkdir(parents=True)  # cannot be written
    with pytest.raises(InputError):
        store.fetch(NAME, copy)
    assert not (copy / "done.json").exists()


def test_the_first_result_stays(store, result, tmp_path):
    store.publish(NAME, result)
    (result / "done.json").write_text("{ }")
    store.publish(NAME, result)
    store.fetch(NAME, tmp_path / "copy")
    assert (tmp_path / "copy" / "done.json").read_text() == "{}"


def test_files_without_the_list_are_not_a_result(store, result, tmp_path):
    store.publish(NAME, result)
    store.files.rm_file(store.path(NAME, COMPLETE))
    assert not store.is_complete(NAME)
    with pytest.raises(InputError, match="not finished there"):
        store.fetch(NAME, tmp_path / "copy")


@pytest.mark.parametrize("length", [0, 1, 20, -2])
def test_a_list_that_was_cut_short_is_no_list(store, result, length):
    store.publish(NAME, result)
    path = store.path(NAME, COMPLETE)
    whole = store.read(path)
    store.files.pipe_file(path, whole[:length])
    assert not store.is_complete(NAME)
    store.publish(NAME, result)
    assert store.is_complete(NAME)


def test_a_damaged_file_is_not_given(store, result, tmp_path):
    store.publish(NAME, result)
    checksum = hashlib.sha256(bytes(range(256))).hexdigest()
    store.files.pipe_file(store.path(NAME, "files", checksum), bytes(256))
    with pytest.raises(InputError, match=r"00\.safetensors .* is missing or damaged"):
        store.fetch(NAME, tmp_path / "copy")


def test_an_upload_that_was_cut_short_is_done_again(store, result, tmp_path):
    """The file is there, but shorter: as after a kill on storage that is not atomic."""
    checksum = hashlib.sha256(bytes(range(256))).hexdigest()
    store.files.makedirs(store.path(NAME, "files"), exist_ok=True)
    store.files.pipe_file(store.path(NAME, "files", checksum), bytes(100))
    store.publish(NAME, result)
    store.fetch(NAME, tmp_path / "copy")
    assert (tmp_path / "copy" / "agents" / "00.safetensors").read_bytes() == bytes(range(256))


@pytest.mark.parametrize("name", ["../out", "/etc/out", "a/../../out", "a\\b", ""])
def test_a_list_cannot_lead_out_of_the_directory(store, tmp_path, name):
    found = {name: hashlib.sha256(b"").hexdigest()}
    checksum = hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()
    store.write(
        store.path(NAME, COMPLETE), json.dumps({"files": found, "sha256": checksum}).encode()
    )
    with pytest.raises(InputError, match="no name of a job's file"):
        store.fetch(NAME, tmp_path / "copy")


def test_a_full_disk_is_an_error_and_leaves_no_result(result, tmp_path):
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))"
    program = f"""
import signal, sys, pathlib
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
{limit}
from cochef.experiments.shared_store import SharedStore
SharedStore(sys.argv[1]).publish("{NAME}", pathlib.Path(sys.argv[2]))
"""
    command = [sys.executable, "-c", program, str(tmp_path / "store"), str(result)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "cannot be written (File too large)" in done.stderr
    assert not SharedStore(str(tmp_path / "store")).is_complete(NAME)


def test_storage_that_keeps_less_than_it_was_given_is_an_error(result, tmp_path):
    class Short(fsspec.get_filesystem_class("memory")):
        protocol = "short"

        def pipe_file(self, path, value, mode="overwrite", **kwargs):
            super().pipe_file(path, value[:200], mode, **kwargs)

    fsspec.register_implementation("short", Short, clobber=True)
    store = SharedStore(f"short://{tmp_path.name}")
    with pytest.raises(InputError, match=r"of 256 bytes .* only 200 are stored; make room"):
        store.publish(NAME, result)
    assert not store.is_complete(NAME)


@pytest.mark.parametrize("error", [PermissionError, FileNotFoundError])
def test_storage_that_is_read_only_or_not_there_is_an_error(result, tmp_path, error):
    class NotWritten(fsspec.get_filesystem_class("memory")):
        protocol = "notwritten"

        def pipe_file(self, path, value, mode="overwrite", **kwargs):
            raise error(path)

    fsspec.register_implementation("notwritten", NotWritten, clobber=True)
    store = SharedStore(f"notwritten://{tmp_path.name}")
    with pytest.raises(InputError, match=rf"cannot be written \({error.__name__}"):
        store.publish(NAME, result)
    with pytest.raises(InputError, match=rf"cannot be written \({error.__name__}"):
        acquire(store, NAME, "me")


@pytest.mark.parametrize("url", ["s3://key:secret@bucket/runs", "s3://bucket/runs?token=secret"])
def test_a_secret_in_the_url_is_refused_and_not_repeated(url):
    with pytest.raises(InputError, match="credentials") as refused:
        SharedStore(url)
    assert "secret" not in str(refused.value)


def test_storage_of_an_unknown_kind_is_refused():
    with pytest.raises(InputError, match="nonsense"):
        SharedStore("nonsense://there").is_complete(NAME)


def test_an_unfinished_attempt_is_resumed_by_the_next_one(store, result, tmp_path):
    assert not store.resume(NAME, tmp_path / "copy")
    store.save_progress(NAME, 1, result)
    (result / "done.json").write_text('{"more": 1}')
    store.save_progress(NAME, 1, result)
    assert len(store.names(NAME, "progress/000001")) == 3
    assert store.resume(NAME, tmp_path / "copy")
    assert (tmp_path / "copy" / "done.json").read_text() == '{"more": 1}'
    store.publish(NAME, result)
    assert store.names(NAME, "progress") == []


def test_a_job_is_claimed_by_one_driver_until_it_gives_up(store):
    with acquire(store, NAME, "mine") as claim:
        assert acquire(store, NAME, "other") is None
        claim.check()
    assert acquire(store, NAME, "other") is None  # it ended well: the result is there
    with pytest.raises(KeyboardInterrupt), acquire(store, NAME, "mine"):
        raise KeyboardInterrupt
    assert acquire(store, NAME, "other").number == 3
    assert claims.attempts(store, NAME) == 3


def test_a_claim_is_stale_only_if_it_has_not_changed_for_a_lease(store):
    watch = StaleWatch(store, lease=0.6)
    with acquire(store, NAME, "mine", lease=0.6):
        for _ in range(12):  # two leases
            wait_for_renewal(store)
            assert watch.stale(NAME) is None
    began = time.monotonic()
    stale = None
    while stale is None:
        assert time.monotonic() < began + 60
        stale = watch.stale(NAME)
        time.sleep(0.05)
    assert acquire(store, NAME, "other", stale=b"what it was before") is None
    assert acquire(store, NAME, "other", stale=stale).number == 2
    assert acquire(store, NAME, "third", stale=stale) is None


def wait_for_renewal(store):
    """Wait until the holder of a claim has changed it."""
    before = claims.latest(store, NAME)
    deadline = time.monotonic() + 60
    while claims.latest(store, NAME) == before:
        assert time.monotonic() < deadline, "the claim is not renewed"
        time.sleep(0.01)


def test_a_slow_holder_gives_up_when_somebody_else_has_taken_over(store):
    with pytest.raises(ClaimLostError), acquire(store, NAME, "mine", lease=0.6) as claim:
        seen = claims.latest(store, NAME)
        assert acquire(store, NAME, "other", stale=seen.content)
        while True:
            claim.check()
            time.sleep(0.05)
    assert claims.latest(store, NAME).driver == "other"


def test_of_many_processes_that_claim_at_once_one_succeeds(tmp_path):
    program = """
import sys, time
from cochef.experiments.claims import acquire
from cochef.experiments.shared_store import SharedStore
store = SharedStore(sys.argv[1])
store.is_complete("a")
time.sleep(max(0, float(sys.argv[3]) - time.time()))
print(acquire(store, "a", sys.argv[2]) is not None)
"""
    start = str(time.time() + 4)
    command = [sys.executable, "-c", program, str(tmp_path)]
    processes = [
        subprocess.Popen([*command, str(number), start], stdout=subprocess.PIPE, text=True)
        for number in range(4)
    ]
    assert sorted(process.communicate()[0].strip() for process in processes) == [
        *["False"] * 3,
        "True",
    ]
    held = tmp_path / "jobs" / "a" / "claims"
    assert [path.name for path in held.iterdir()] == ["000001"]
