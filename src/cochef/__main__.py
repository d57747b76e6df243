"""The program: `cochef`, or `python -m cochef`."""

from cochef import interrupts


def main() -> None:
    """Watch for Ctrl-C, then load and run the command line."""
    interrupts.install()
    from cochef.cli.main import main as command_line  # noqa: PLC0415  (may take seconds)

    try:
        command_line()
    finally:
        interrupts.stop_watching()


if __name__ == "__main__":
    main()
