"""Warns of what several worker processes of one HTTP server must share, and do not."""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import PurePath

__all__ = ["warn_of_workers", "worker_count"]

_log = logging.getLogger("mcp_gen.server")

PROGRAMS = ("fastapi", "granian", "gunicorn", "hypercorn", "mcp-gen", "uvicorn")
"""HTTP servers whose command lines are understood."""
_OPTION = re.compile(r"(?:--workers=?|-w=?)(?P<number>[0-9]*)")
VARIABLE = "WEB_CONCURRENCY"
"""Environment variable with the number of workers; the option goes before it."""


def warn_of_workers(*, sessions: bool, states: bool) -> None:
    """Log a warning for each thing that the processes of this HTTP server do not share.

    Args:
        sessions: True if the server keeps sessions, and has no store for them.
        states: True if it seals the states of requests with a key of this process alone.
    """
    workers = worker_count(sys.argv, os.environ)
    if workers < 2:
        return
    if sessions:
        _log.warning(
            "%d workers share no sessions: a client is refused (404) by all but the one that it "
            "began with; give `asgi` a `session_store=` that they share, or `stateless=True`",
            workers,
        )
    if states:
        _log.warning(
            "%d workers share no keys: a request that was answered with input requests goes on "
            "with one of them alone; give `Server` its `request_state_keys=`, the same for all",
            workers,
        )


def worker_count(words: Sequence[str], variables: Mapping[str, str]) -> int:
    """Return how many processes a command line starts; 1 if it is not known.

    Args:
        words: Command line of this process. Workers have that of the process that started them.
        variables: Environment variables.
    """
    program = PurePath(words[0] if words else "")
    # `python -m uvicorn` runs `uvicorn/__main__.py`.
    name = program.parent.name if program.stem == "__main__" else program.stem
    if name not in PROGRAMS:
        return 1
    number = variables.get(VARIABLE, "")
    for word, following in zip(words, [*words[1:], ""], strict=True):
        found = _OPTION.fullmatch(word)
        if found is not None:
            number = found["number"] or following
    return int(number) if number.isdigit() else 1
