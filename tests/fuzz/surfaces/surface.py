"""Protocol of a surface, and what is watched in its process meanwhile."""

from __future__ import annotations

import asyncio
import logging
import sys
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Protocol

from tests.fuzz.findings import Block, Findings

__all__ = ["ANSWER_S", "Complaints", "Surface"]

ANSWER_S = 15.0
"""Seconds after which a request counts as not answered."""


class Surface(Protocol):
    """One way into the library.

    It is used as an async context manager, for many blocks.
    """

    async def __aenter__(self) -> Surface: ...

    async def __aexit__(self, *exc: object) -> None: ...

    async def run(self, block: Block, findings: Findings) -> None:
        """Send the inputs of a block in a new session, and a probe after them."""
        ...

    def live_kb(self) -> int | None:
        """Return the memory that the target's process uses, in kB; None if it is not known now."""
        ...


class Complaints(logging.Handler):
    """Collects tracebacks, errors and warnings of this process."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info or record.levelno >= logging.ERROR:
            self.lines.append(logging.Formatter().format(record))

    def take(self) -> list[str]:
        """Return and remove what was collected."""
        lines, self.lines = self.lines, []
        return lines

    @contextmanager
    def installed(self) -> Generator[None, None, None]:
        """Collect from here on; must be entered in the event loop."""
        loop = asyncio.get_running_loop()
        root = logging.getLogger()
        root.addHandler(self)
        loop.set_exception_handler(self._on_loop_error)
        before, sys.unraisablehook = sys.unraisablehook, self._on_unraisable
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("always")
                show: Any = self._on_warning
                warnings.showwarning = show
                yield
        finally:
            sys.unraisablehook = before
            loop.set_exception_handler(None)
            root.removeHandler(self)

    def _on_loop_error(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error: BaseException | None = context.get("exception")
        record = logging.LogRecord(
            "asyncio", logging.ERROR, "", 0, "%s", (context["message"],),
            (type(error), error, error.__traceback__) if error else None,
        )  # fmt: skip
        self.emit(record)

    def _on_unraisable(self, found: Any) -> None:
        self.lines.append(f"unraisable: {found.err_msg}: {found.exc_value!r} in {found.object!r}")

    def _on_warning(self, message: Any, category: Any, *where: Any) -> None:
        self.lines.append(f"{category.__name__}: {message} - at {where[0]}:{where[1]}")
