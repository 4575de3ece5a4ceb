"""Health checks beside the endpoint: `/healthz` (the process answers), `/readyz` (send requests).

Bodies name one state and nothing of the server: everybody can read them.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Final

from mcp_gen.core.transport.protocols import Answer

__all__ = ["HEALTH_PATHS", "HealthChecks"]

_log = logging.getLogger("mcp_gen.server")

LIVE_PATH: Final = "/healthz"
READY_PATH: Final = "/readyz"
HEALTH_PATHS: Final = (LIVE_PATH, READY_PATH)

_METHODS = ("GET", "HEAD")
_HEADERS = {"Cache-Control": "no-store"}


class HealthChecks:
    """Answers health checks: short JSON, without credentials.

    `/healthz` is 200 while the process answers. `/readyz` is 200 while the server has started, is
    not about to end, and reaches what it shares with others; else it is 503. The state is one of
    `ok`, `ready`, `not started`, `draining` and `store down`.

    Args:
        is_up: Returns True while the server reaches what it shares with others; None if it shares
            nothing.
    """

    def __init__(self, is_up: Callable[[], bool] | None = None) -> None:
        self._is_up = is_up
        self._logged = False

    def serves(self, path: str) -> bool:
        """Return True if the path is that of a health check."""
        return path in HEALTH_PATHS

    async def answer(
        self,
        method: str,
        path: str,
        start: Callable[[], Awaitable[None]] | None,
        *,
        draining: bool,
    ) -> Answer:
        """Answer one health check.

        Args:
            method: HTTP method of the request.
            path: One of `HEALTH_PATHS`.
            start: Starts a server that has not started; None if it has. A balancer sends no request
                to a server that is not ready, and without a lifespan of ASGI requests start it.
            draining: True if the server is about to end.
        """
        if method not in _METHODS:
            return Answer(405, headers={"Allow": ", ".join(_METHODS)})
        state = "ok" if path == LIVE_PATH else await self._state(start, draining)
        body = b"" if method == "HEAD" else b'{"status":"%b"}' % state.encode()
        return Answer(200 if state in ("ok", "ready") else 503, body, _HEADERS)

    async def _state(self, start: Callable[[], Awaitable[None]] | None, draining: bool) -> str:
        if draining:
            return "draining"
        if start is not None:
            try:
                await start()
            except Exception:
                # Once: checks come every few seconds.
                if not self._logged:
                    self._logged = True
                    _log.exception("the server does not start, so it is not ready")
                return "not started"
        if self._is_up is not None and not self._is_up():
            return "store down"
        return "ready"
