"""Runs commands one after the other in one process, and prints what each answered as JSON.

Run as a program: python -m tests.cli.answering, with a JSON list of lists of words as its input.
"""

import contextlib
import io
import json
import sys

from cochef.cli.main import main


def answer(words):
    """A command's exit code, all that it printed, and whether JAX is loaded after it."""
    sys.argv[1:] = words
    printed = io.StringIO()
    code = None
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            main()
        except SystemExit as end:
            code = end.code
    return {"code": code, "text": printed.getvalue(), "jax": "jax" in sys.modules}


if __name__ == "__main__":
    print(json.dumps([answer(words) for words in json.load(sys.stdin)]))
