"""`cochef play`: play with an agent in the browser."""

import webbrowser
from dataclasses import dataclass
from pathlib import Path
from threading import Timer
from typing import Annotated

import tyro
from rich.console import Console

from cochef.errors import InputError


@dataclass
class Play:
    """Open a page to play with agents and scripts that ship, and with your own, which are found in runs/ and out/."""

    agents: Annotated[tuple[Path, ...], tyro.conf.Positional] = ()
    """Agent files to offer besides those that are found."""

    layouts: tuple[str, ...] = ()
    """Kitchens to offer: names, or paths of layout files; all that ship if not given."""

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
        if not 1 <= self.capacity <= 1000:
            raise InputError(f"capacity {self.capacity}; allowed: 1 to 1000")
        try:
            from cochef.web import kitchens, partners, server
        except ImportError as error:
            raise InputError(f"{error.name} is not installed; run: pip install 'cochef[web]'") from error
        from cochef.kitchen import layouts

        offered = kitchens.named(self.layouts or layouts.names())
        files = [*partners.check_files(self.agents), *partners.find_files()]
        server.check_port(self.host, self.port)
        address = f"http://{'localhost' if self.host in ('127.0.0.1', '0.0.0.0') else self.host}:{self.port}/"
        Console(highlight=False).print(f"Play at {address} and stop with Ctrl-C.")
        if self.browser:
            opening = Timer(1.0, webbrowser.open, [address])
            opening.daemon = True
            opening.start()
        server.serve_play(offered, files, host=self.host, port=self.port, capacity=self.capacity)
        return 0
