"""State of importing a user's code: `server.run()` in it names the server instead of serving."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

__all__ = ["RunReached", "importing", "stop_import"]

_importing: ContextVar[bool] = ContextVar("importing", default=False)


class RunReached(BaseException):
    """Code that is imported as a target called `run`. No `except Exception` of it may catch this.

    Args:
        server: The server that it would run.
    """

    def __init__(self, server: Any) -> None:
        super().__init__("server.run() while the code is imported")
        self.server = server


@contextmanager
def importing() -> Generator[None]:
    """Import a user's code in this context manager."""
    token = _importing.set(True)
    try:
        yield
    finally:
        _importing.reset(token)


def stop_import(server: Any) -> None:
    """Raise RunReached if code of a target is being imported; else do nothing."""
    if _importing.get():
        raise RunReached(server)
