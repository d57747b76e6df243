"""Every test runs with the shapes and types of the package checked."""

import gc
import os
import sys
from collections import Counter
from importlib.metadata import version

import pytest
from jaxtyping import install_import_hook

install_import_hook("cochef", "beartype.beartype")

if os.environ.get("JAX_DISABLE_MOST_OPTIMIZATIONS") and version("jaxlib").startswith("0.10."):
    # The older way to make loops compiles twice as fast; newer versions do not have it any more.
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_use_fusion_emitters=false")

from cochef.runtime import keep_compiled_programs  # noqa: E402  (the hook has to be in place first)

keep_compiled_programs()

# Modules and directories; `pytest` prints at its end which modules took longest.
LONGEST_FIRST = (
    "cluster/test_ray.py",
    "experiments/test_pipeline.py",
    "web/test_rehearsal.py",
    "web/test_study_in_browser.py",
    "web/test_kills.py",
    "ladder",
    "experiments",
    "learning",
    "web",
    "benchmarks",
    "reference",
    "cli",
    "methods",
    "agents",
    "kitchen",
)
SHOWN_MODULES = 12


def pytest_collection_modifyitems(items):
    """Begin with what takes longest, so that no worker is left alone with it at the end."""
    rank = {name: number for number, name in enumerate(LONGEST_FIRST)}

    def place(item):
        directory = item.path.parent.name
        module = rank.get(f"{directory}/{item.path.name}", len(rank))
        return min(module, rank.get(directory, len(rank)))

    items.sort(key=place)


def pytest_collection_finish():
    """Search less for garbage: tracing makes many objects, and modules are never garbage."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 50, 50)


@pytest.fixture
def cochef(monkeypatch, capsys):
    """Run the command with some arguments: its exit code and all it printed."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["cochef", *map(str, arguments)])
        from cochef.cli.main import main  # noqa: PLC0415  (takes a second that few tests need)

        with pytest.raises(SystemExit) as stop:
            main()
        printed = capsys.readouterr()
        return stop.value.code, printed.out + printed.err

    return run


def pytest_terminal_summary(terminalreporter):
    """Print which modules took longest, and what the long proof of exactness compared."""
    _show_slowest_modules(terminalreporter)
    reports = terminalreporter.getreports("passed") + terminalreporter.getreports("failed")
    properties = [found for report in reports for found in getattr(report, "user_properties", [])]
    rows = dict(row for name, row in properties if name == "exactness")
    if rows:
        from tests.reference.table import render  # noqa: PLC0415  (needs the reference engine)

        terminalreporter.write_line(render(rows))


def _show_slowest_modules(terminalreporter):
    seconds = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if hasattr(report, "duration"):
                seconds[report.nodeid.partition("::")[0]] += report.duration
    slowest = seconds.most_common(SHOWN_MODULES)
    if sum(seconds.values()) > 60:
        described = ", ".join(f"{name} {spent:.0f}" for name, spent in slowest)
        terminalreporter.write_line(f"seconds of the slowest modules: {described}")
