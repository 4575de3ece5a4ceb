"""An HTTP endpoint as a plain ASGI app: one POST, one JSON answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import TYPE_CHECKING, Any, TypeAlias

from mcp_gen.core.transport import Answer

if TYPE_CHECKING:
    from mcp_gen.core.transport import Exchange

__all__ = ["AsgiApp", "Message", "Receive", "Scope", "Send"]

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]

MAX_BODY_BYTES = 16 * 1024 * 1024


class AsgiApp:
    """Serves one exchange at one path. Mount it anywhere; it needs no lifespan."""

    def __init__(
        self, exchange: Exchange, path: str, *, max_body_bytes: int = MAX_BODY_BYTES
    ) -> None:
        self._exchange = exchange
        self._path = path
        self._max_body_bytes = max_body_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one ASGI event."""
        if scope["type"] == "http":
            await _reply(send, await self._answer(scope, receive))
        elif scope["type"] == "lifespan":
            await _lifespan(receive, send)

    async def _answer(self, scope: Scope, receive: Receive) -> Answer:
        if scope["path"] != self._path and scope["path"] != scope.get("root_path", "") + self._path:
            return Answer(404)
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        if scope["method"] == "POST":
            body = await self._body(receive)
            return Answer(413) if body is None else await self._exchange.answer(body, headers)
        if scope["method"] == "DELETE":
            return await self._exchange.end_session(headers)
        return Answer(405, headers={"allow": "POST, DELETE"})

    async def _body(self, receive: Receive) -> bytes | None:
        """The whole body; None if it is larger than the limit, or the client hung up."""
        message = await receive()
        body: bytes = message.get("body", b"")
        if message.get("more_body") or message["type"] != "http.request":
            parts, size = [body], len(body)
            while message.get("more_body"):
                message = await receive()
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                if size > self._max_body_bytes:
                    return None
            if message["type"] != "http.request":
                return None
            body = b"".join(parts)
        return body if len(body) <= self._max_body_bytes else None


_JSON = (b"content-type", b"application/json")


async def _reply(send: Send, answer: Answer) -> None:
    body = answer.body
    headers = [(b"content-length", str(len(body)).encode())]
    if body:
        headers.append(_JSON)
    headers += [(k.lower().encode(), v.encode()) for k, v in answer.headers.items()]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        kind = message["type"].removeprefix("lifespan.")
        await send({"type": f"lifespan.{kind}.complete"})
        if kind == "shutdown":
            return
