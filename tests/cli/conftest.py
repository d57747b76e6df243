"""A tiny layout file for the commands."""

import pytest
from tests.narrow_layout import NARROW


@pytest.fixture(scope="session")
def narrow(tmp_path_factory):
    """The path of the layout file."""
    path = tmp_path_factory.mktemp("layout") / "narrow.toml"
    path.write_text(NARROW)
    return str(path)
