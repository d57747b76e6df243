"""All that touches Ray: connecting, checking nodes, submitting jobs, messages from nodes."""

import os
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from ipaddress import ip_address
from typing import Any

from cochef.errors import InputError, how_to_install, missing_extra
from cochef.experiments.code_version import code_version
from cochef.experiments.ray_worker import JobOutcome, JobRequest, Message
from cochef.learning.writers import Log
from cochef.runtime import compile_settings

AUTH_MODE = "RAY_AUTH_MODE"
MEMORY_RETRIES = "RAY_task_oom_retries"
LOOPBACK = "127.0.0.1"
CHECK_SECONDS = 120.0  # for a node to answer
INBOX_SECONDS = 30.0  # for messages of nodes, which are only for the display


@contextmanager
def connected(address: str | None, log: Log, retries: int = 0) -> Iterator[None]:
    """Connect to a cluster whose nodes have this code, or start one on this machine."""
    # Ray counts those of workers that it kills for want of memory apart, and would never end.
    os.environ.setdefault(MEMORY_RETRIES, str(retries))
    with connection(address):
        _check_nodes(log)
        yield


@contextmanager
def connection(address: str | None) -> Iterator[None]:
    """A connection for as long as the context lasts; a process that has one already keeps it."""
    if address is not None and "://" in address:
        raise InputError(f"address is {address!r}; it takes HOST:PORT, run on a machine near it")
    _set_environment(address)
    ray = _ray()
    if ray.is_initialized():
        _check_address(address)
        yield
        return
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "error"}
    if address is None:
        options |= {"_node_ip_address": LOOPBACK, "include_dashboard": False}
    try:
        ray.init(address=address or "local", **options)
    except Exception as error:  # Ray raises this very type if a node does not start in time
        raise InputError(
            f"no Ray cluster at {address or 'this machine'} ({_first_line(error)}); start one, or "
            "give its --address; the token must be that of its nodes (docs/cluster.md)"
        ) from error
    try:
        yield
    finally:
        _inbox_of.cache_clear()
        ray.shutdown()


def _check_address(address: str | None) -> None:
    """Refuse another cluster than the one that this process is connected to."""
    here = _ray().get_runtime_context().gcs_address
    if address not in (None, "auto", here):
        raise InputError(f"address is {address}, but this process is connected to {here} already")


def _runtime_env() -> dict[str, Any]:
    """What processes of nodes need: programs compiled in another way give other bits."""
    return {"env_vars": compile_settings()}


def _set_environment(address: str | None) -> None:
    """Settings that Ray reads when it is loaded."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # Only who knows the token may talk to the cluster.
    os.environ.setdefault(AUTH_MODE, "token")
    if address is None:
        # Of this cluster alone; Ray would write one to the home directory, for others to read.
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
    if address is None or _is_loopback(address.rpartition(":")[0]):
        # Ray takes the address of a network card in place of loopback, and listens there, unless
        # it is told that there is no cluster of several machines; the name is Ray's.
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")


def _ray() -> Any:  # noqa: ANN401
    """Ray, which is an extra."""
    try:
        import ray  # noqa: PLC0415
        import ray.exceptions  # noqa: PLC0415
    except ImportError as error:
        raise InputError(missing_extra("Ray", "cluster")) from error
    return ray


def _warn_of_open_networks(asks: Mapping[str, bool], log: Log) -> None:
    """Warn of nodes that others can reach; `asks` has by address whether one asks for a token."""
    is_open = sorted(address for address in asks if not asks[address])
    outside = sorted(address for address in asks if not _is_loopback(address))
    if is_open:
        log(
            f"WARNING: the cluster listens on {', '.join(is_open)} and asks nobody for a token: "
            "whoever reaches it can run programs on it. Set RAY_AUTH_MODE=token on all machines "
            "(docs/cluster.md)"
        )
    elif outside:
        log(
            f"the cluster listens on {', '.join(outside)}; its traffic is not encrypted, so keep "
            "it in a private network (docs/cluster.md)"
        )


def _is_loopback(address: str) -> bool:
    with suppress(ValueError):
        return ip_address(address).is_loopback
    return address == "localhost"


def _check_nodes(log: Log) -> None:
    """Refuse a cluster with a node that has other code; warn of one that others can reach."""
    ray = _ray()
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy  # noqa: PLC0415

    nodes = _nodes()
    references = []
    for node in nodes:
        affinity = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
        options = {"num_cpus": 0, "runtime_env": _runtime_env()}
        task = _probe_task().options(scheduling_strategy=affinity, **options)
        references.append(task.remote())
    versions: dict[str, str] = {}
    asks: dict[str, bool] = {}
    for node, reference in zip(nodes, references, strict=True):
        name, address = node["NodeName"], node["NodeManagerAddress"]
        try:
            version, mode = ray.get(reference, timeout=CHECK_SECONDS)
        except ray.exceptions.RayError as error:
            if node["NodeID"] not in [found["NodeID"] for found in _nodes()]:
                continue  # it was lost; Ray takes some time to see that
            raise InputError(
                f"node {name} does not answer ({_first_line(error)}); "
                f"run {how_to_install('cluster')} there"
            ) from error
        versions[node["NodeID"]] = version
        asks[address] = asks.get(address, True) and mode == "token"
    _warn_of_open_networks(asks, log)
    for node in nodes:
        if node["NodeID"] in versions:
            _check_version(node["NodeName"], versions[node["NodeID"]])


def _nodes() -> list[Mapping[str, Any]]:
    """The nodes that are alive, as far as Ray knows."""
    return [node for node in _ray().nodes() if node["Alive"]]


def _check_version(node: str, found: str) -> None:
    own = str(code_version())
    if found != own:
        raise InputError(
            f"node {node} has {found}, but this driver has {own}; install the same on both"
        )


# Ray sends functions that are defined inside others as they are, and looks up all others in the
# package. So these two also run on a node whose package is another one, and can say so.


@lru_cache(maxsize=1)
def _probe_task() -> Any:  # noqa: ANN401
    ray = _ray()

    def probe() -> tuple[str, str]:
        """The version of a node's code, and how it knows who may talk to it."""
        import os  # noqa: PLC0415
        from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415

        mode = os.environ.get("RAY_AUTH_MODE", "").lower()
        try:
            from cochef.experiments.code_version import code_version  # noqa: PLC0415

            return str(code_version()), mode
        except ImportError:
            pass
        try:
            return f"cochef {version('cochef')}", mode
        except PackageNotFoundError:
            return "no cochef", mode

    return ray.remote(probe)


@lru_cache(maxsize=1)
def _job_task() -> Any:  # noqa: ANN401
    ray = _ray()
    probe = _probe_task()._function

    def do_job(expected: str, boxed: list[Any], inbox: Any) -> Any:  # noqa: ANN401
        import platform  # noqa: PLC0415

        import ray  # noqa: PLC0415

        found, _ = probe()
        if found != expected:
            return {"node": platform.node(), "version": found}
        from cochef.experiments.ray_worker import perform  # noqa: PLC0415

        # Unpacked only now: other code may not know what is in it.
        return perform(ray.get(boxed[0]), inbox.put.remote)

    return ray.remote(do_job)


def has_room(options: Mapping[str, Any]) -> bool:
    """Whether some node is large enough for a task with these options, if it is free."""
    needs = {"CPU": "num_cpus", "GPU": "num_gpus", "memory": "memory"}

    def is_large_enough(node: Mapping[str, Any]) -> bool:
        found = node["Resources"]
        return all(found.get(name, 0) >= options[option] for name, option in needs.items())

    return any(is_large_enough(node) for node in _nodes())


def submit(request: JobRequest, inbox: Any, options: Mapping[str, Any]) -> Any:  # noqa: ANN401
    """Give a job to the cluster; returns Ray's reference to its outcome."""
    ray = _ray()
    task = _job_task().options(scheduling_strategy="SPREAD", runtime_env=_runtime_env(), **options)
    return task.remote(str(code_version()), [ray.put(request)], inbox)


def ended(references: Sequence[Any], seconds: float) -> list[Any]:
    """Those jobs that have ended, after waiting for the first one for some time."""
    ray = _ray()
    if not references:
        time.sleep(seconds)
        return []
    first, _ = ray.wait(list(references), timeout=seconds)
    if not first:
        return []
    return ray.wait(list(references), num_returns=len(references), timeout=0)[0]


def outcome(reference: Any, name: str) -> JobOutcome:  # noqa: ANN401
    """The outcome of a job that has ended."""
    ray = _ray()
    found: Any = None
    try:
        found = ray.get(reference)
    except ray.exceptions.RayTaskError:
        raise  # an error in the code
    except ray.exceptions.OutOfMemoryError as error:
        raise InputError(
            f"{name}: {_first_line(error).partition('. ')[0]}, also when it was tried again; give "
            "a larger --job-memory, so that fewer jobs share a node, and run again to resume"
        ) from error
    except ray.exceptions.RayError as error:
        raise InputError(
            f"{name}: its worker died, also when it was tried again ({_first_line(error)}); "
            "run again to resume"
        ) from error
    if not isinstance(found, JobOutcome):
        _check_version(found["node"], found["version"])
    return found


def cancel(references: Sequence[Any], seconds: float) -> None:
    """Stop jobs, and give them some time to end."""
    ray = _ray()
    with suppress(ray.exceptions.RayError):
        for reference in references:
            ray.cancel(reference)
        ray.wait(list(references), num_returns=len(references), timeout=seconds)


class Inbox:
    """Keeps messages of nodes until the driver takes them."""

    def __init__(self) -> None:
        """No messages yet."""
        self._messages: list[Message] = []

    def put(self, message: Message) -> None:
        """Keep a message."""
        self._messages.append(message)

    def take(self) -> list[Message]:
        """All messages since the last time."""
        messages, self._messages = self._messages, []
        return messages


def inbox() -> Any:  # noqa: ANN401
    """The empty inbox of this connection, on this node, which nodes can write to."""
    found = _inbox_of(_ray().get_runtime_context().get_job_id())
    found.take.remote()  # what is left of an earlier run
    return found


@lru_cache(maxsize=1)
def _inbox_of(connection_id: str) -> Any:  # noqa: ANN401
    """The inbox of a connection; Ray starts a process for it."""
    ray = _ray()
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy  # noqa: PLC0415

    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    # If its process dies, messages are lost, and nothing else.
    options = {"num_cpus": 0, "max_restarts": -1, "scheduling_strategy": here}
    return ray.remote(Inbox).options(runtime_env=_runtime_env(), **options).remote()


def messages(inbox: Any) -> list[Message]:  # noqa: ANN401
    """What nodes have told since the last time."""
    ray = _ray()
    with suppress(ray.exceptions.RayActorError, ray.exceptions.GetTimeoutError):
        return ray.get(inbox.take.remote(), timeout=INBOX_SECONDS)
    return []


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__
