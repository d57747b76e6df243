"""Every test runs with the shapes and types of the package checked."""

from jaxtyping import install_import_hook

install_import_hook("cochef", "beartype.beartype")

from cochef.compilation import keep_compiled  # noqa: E402  (the hook has to be in place first)

keep_compiled()


def pytest_terminal_summary(terminalreporter):
    """Print what the long proof of exactness compared, once all layouts are through."""
    reports = terminalreporter.getreports("passed") + terminalreporter.getreports("failed")
    properties = [found for report in reports for found in getattr(report, "user_properties", [])]
    rows = dict(row for name, row in properties if name == "exactness")
    if rows:
        from tests.reference.table import render  # noqa: PLC0415  (needs the reference engine)

        terminalreporter.write_line(render(rows))
