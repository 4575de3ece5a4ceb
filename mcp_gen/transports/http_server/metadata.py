"""Metadata documents of a RequestGate: public, cacheable, open to every origin; its endpoints.

Source: https://www.rfc-editor.org/rfc/rfc9728.html#section-3
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_gen.core.transport.authorizing import GateEndpoints
from mcp_gen.core.transport.protocols import Answer
from mcp_gen.transports.http_server.asgi import send_answer
from mcp_gen.transports.http_server.request import error_answer

if TYPE_CHECKING:
    from mcp_gen.core.transport.authorizing import RequestGate
    from mcp_gen.transports.http_server.asgi import Line, Receive, Scope, Send
    from mcp_gen.transports.http_server.security import OriginGuard

__all__ = ["MetadataDocuments", "WellKnownApp"]

MAX_AGE_S = 3600
"""Seconds for which clients and proxies may keep a document."""
WELL_KNOWN = "/.well-known/"

_ANY_ORIGIN: Line = (b"access-control-allow-origin", b"*")
_METHODS = b"GET, HEAD"
_DOCUMENT: list[Line] = [_ANY_ORIGIN, (b"cache-control", b"public, max-age=%d" % MAX_AGE_S)]
_PREFLIGHT: list[Line] = [
    _ANY_ORIGIN,
    (b"access-control-allow-methods", _METHODS),
    (b"access-control-allow-headers", b"*"),
    (b"access-control-max-age", b"600"),
]


class MetadataDocuments:
    """Serves the documents of a gate without credentials, and its endpoints if it has some.

    The `Host` header is validated. `Origin` is not: the documents are public, and clients in web
    pages of any origin read them.

    Args:
        gate: The gate.
        guard: Validates the `Host` header.
    """

    def __init__(self, gate: RequestGate, guard: OriginGuard) -> None:
        self._gate = gate
        self._guard = guard
        self._endpoints = gate if isinstance(gate, GateEndpoints) else None

    async def answer(self, scope: Scope, receive: Receive, send: Send, path: str) -> bool:
        """Answer a request for a document or an endpoint; return False if there is none.

        Args:
            scope: ASGI scope of the request.
            receive: The ASGI receive callable.
            send: The ASGI send callable.
            path: Path of the document.
        """
        document = await self._gate.document(scope, path)
        endpoints = self._endpoints
        if document is None and (endpoints is None or not endpoints.serves(path)):
            return False
        host = next((value for name, value in scope["headers"] if name == b"host"), None)
        objection = self._guard.check(scope.get("server"), host, None)
        method = scope["method"]
        if objection:
            await send_answer(send, error_answer(*objection))
        elif document is None:
            if endpoints is not None:
                await endpoints.respond(scope, receive, send, path)
        elif method == "GET":
            await send_answer(send, Answer(200, document), _DOCUMENT)
        elif method == "HEAD":
            length = (b"content-length", b"%d" % len(document))
            headers = [length, (b"content-type", b"application/json"), *_DOCUMENT]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": b""})
        elif method == "OPTIONS":
            await send_answer(send, Answer(204), _PREFLIGHT)
        else:
            refusal = error_answer(405, f"{method} has no answer here")
            await send_answer(send, refusal, [_ANY_ORIGIN, (b"allow", _METHODS)])
        return True


class WellKnownApp:
    """ASGI app for the root of a site, where clients look for the metadata of a mounted server.

        mcp = server.asgi(auth=auth)
        app = Starlette(routes=[Mount("/.well-known", mcp.well_known), Mount("/api", mcp)])

    Args:
        documents: The documents.
    """

    def __init__(self, documents: MetadataDocuments) -> None:
        self._documents = documents

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request for a document; 404 for every other path."""
        if scope["type"] != "http":
            return
        path: str = scope["path"]
        root: str = scope.get("root_path", "")
        if not path.startswith(root):
            # Some frameworks take the path of the mount out of `path`.
            path = root + path
        at = path.find(WELL_KNOWN)
        if at < 0 or not await self._documents.answer(scope, receive, send, path[at:]):
            await send_answer(send, Answer(404), [_ANY_ORIGIN])
