"""`cochef play`: play with an agent in the browser."""

import webbrowser
from dataclasses import dataclass
from pathlib import Path
from threading import Timer
from typing import Annotated

import tyro

from cochef import interrupts
from cochef.cli.output import print_line
from cochef.errors import InputError, missing_extra
from cochef.runtime import compute_in_calling_thread
from cochef.validation import whole_number

MAX_CAPACITY = 1000


@dataclass
class Play:
    """Open a page to play with agents and scripts that ship, and with your own.

    Your own agents are found in runs/ and out/.
    """

    agents: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """Agent files to offer besides those that are found, or MODULE:FACTORY for own agents."""

    layouts: tuple[str, ...] = ()
    """Layouts to offer: names, or paths of layout files; all that ship if not given."""

    host: str = "127.0.0.1"
    """The address to listen at; 0.0.0.0 lets others in the network play, too."""

    port: int = 8000
    """The port to listen at."""

    capacity: int = 16
    """How many people may play at the same time."""

    browser: bool = True
    """Open the page in a browser."""

    def run(self) -> int:
        """Serve the page until Ctrl-C."""
        whole_number(self.capacity, "capacity", 1, MAX_CAPACITY)
        try:
            from cochef.web import layout_names, partners, server
        except ImportError as error:
            raise InputError(missing_extra(error.name, "web")) from error
        from cochef.agents import names
        from cochef.kitchen import layouts

        offered = layout_names.distinct(self.layouts or layouts.names())
        code = [name for name in self.agents if names.runs_code(name)]
        paths = [Path(name) for name in self.agents if name not in code]
        files = [*partners.check_files(paths), *partners.find_files()]
        for name in code:
            files += partners.check_own(name, offered)
        server.check_port(self.host, self.port)
        host = "localhost" if self.host in ("127.0.0.1", "0.0.0.0") else self.host
        address = f"http://{host}:{self.port}/"
        print_line(f"Play at {address} and stop with Ctrl-C.")
        if self.browser:
            # The server starts below and blocks; by then the page can be fetched.
            opening = Timer(1.0, webbrowser.open, [address])
            opening.daemon = True
            opening.start()
        compute_in_calling_thread()
        server.serve_play(offered, files, host=self.host, port=self.port, capacity=self.capacity)
        print_line("stopped")
        return interrupts.EXIT_CODE
