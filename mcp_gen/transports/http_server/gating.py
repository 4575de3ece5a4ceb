"""Admission of requests by a RequestGate."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from mcp_gen.core.transport.authorizing import UNVERIFIED, Refusal
from mcp_gen.transports.http_server.asgi import send_answer
from mcp_gen.transports.http_server.grant import Grant
from mcp_gen.transports.http_server.request import error_answer

if TYPE_CHECKING:
    from mcp_gen.core.transport.authorizing import Admission, RequestGate
    from mcp_gen.core.transport.headers import Headers
    from mcp_gen.transports.http_server.asgi import Line, Scope, Send

__all__ = ["Gatekeeper"]

_log = logging.getLogger("mcp_gen.server")

PREFLIGHT = "OPTIONS"
"""HTTP method of CORS preflight requests, which have no credentials."""
_UNCHECKED = Refusal(503, "credentials cannot be checked now; try again later")


class Gatekeeper:
    """Asks a gate about each request, before its body is read.

    Args:
        gate: The gate.
        serves: Returns True for the paths that are served.
    """

    def __init__(self, gate: RequestGate, serves: Callable[[str], bool]) -> None:
        self._gate = gate
        self._serves = serves

    async def admit(
        self, scope: Scope, headers: Headers, path: str, send: Send, more: Sequence[Line]
    ) -> Grant | None:
        """Return the grant of a request; answer a request that is refused.

        CORS preflights need no credentials, and paths that nobody serves are the same to everyone:
        a client that looks for metadata here must get a 404.

        Args:
            scope: ASGI scope of the request.
            headers: Headers of the request.
            path: Path below the one that the app is mounted at.
            send: The ASGI send callable.
            more: Header lines of every response to the request.

        Returns:
            The grant; None if the request was refused and answered.
        """
        gate = self._gate
        if scope["method"] == PREFLIGHT or not self._serves(path):
            return Grant(gate, scope, UNVERIFIED)
        admission: Admission | Refusal | None = gate.known(scope, headers)
        if admission is None:
            try:
                admission = await gate.admit(scope, headers)
            except Exception:
                # Nobody is let in by a check that failed.
                _log.exception("credentials could not be checked")
                admission = _UNCHECKED
        if isinstance(admission, Refusal):
            answer = error_answer(admission.status, admission.message)
            await send_answer(send, answer, [*more, *admission.headers])
            return None
        return Grant(gate, scope, admission)
