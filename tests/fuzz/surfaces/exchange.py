"""One HTTP request to an ASGI app in this process, and an independent reader of SSE."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from tests.fuzz.making.requests import HttpRequest

__all__ = ["USER", "Events", "Exchange"]

USER = b"x-user"
"""Header with the principal, in place of an authenticating middleware."""


class Events:
    """Splits a stream of our server into the data of its events."""

    def __init__(self) -> None:
        self._left = b""

    def feed(self, data: bytes) -> list[bytes]:
        """Return the data of the events that end in these bytes."""
        *blocks, self._left = (self._left + data).split(b"\n\n")
        found: list[bytes] = []
        for block in blocks:
            lines = [line for line in block.split(b"\n") if line.startswith(b"data:")]
            data = b"\n".join(line[5:].removeprefix(b" ") for line in lines)
            if data:
                found.append(data)
        return found


class Exchange:
    """One request, from its scope to the end of its response.

    Args:
        app: The ASGI app.
        request: The request.
        came: Called with each message of the response.
    """

    def __init__(
        self, app: Any, request: HttpRequest, came: Callable[[Exchange, bytes], None]
    ) -> None:
        self.request = request
        self.status = 0
        self.headers: dict[bytes, bytes] = {}
        self.faults: list[str] = []
        self.answers = 0
        """Number of messages in the response."""
        self.gave_up = False
        """True if the response was not waited for to its end: it may come later."""
        self._came = came
        self._events: Events | None = None
        self._body: list[bytes] = []
        self._ended = False
        self._size = 0
        self._left = asyncio.Event()
        self._coming = self._incoming()
        self._task = asyncio.get_running_loop().create_task(self._run(app))

    @property
    def is_done(self) -> bool:
        """Return True if the app has returned."""
        return self._task.done()

    @property
    def task(self) -> asyncio.Task[None]:
        """The task that runs the app."""
        return self._task

    @property
    def is_stream(self) -> bool:
        """Return True if the response is an event stream."""
        return self._events is not None

    def leave(self) -> None:
        """Disconnect."""
        self._left.set()

    def _incoming(self) -> list[dict[str, Any]]:
        pieces, whole = self.request.pieces, self.request.leaves != "body"
        found: list[dict[str, Any]] = [
            {"type": "http.request", "body": piece, "more_body": at + 1 < len(pieces) or not whole}
            for at, piece in enumerate(pieces)
        ]
        return found if whole else [*found, {"type": "http.disconnect"}]

    async def _run(self, app: Any) -> None:
        scope = {
            "type": "http",
            "method": self.request.method,
            "path": self.request.path.partition("?")[0],
            "raw_path": self.request.path.encode(),
            "root_path": "",
            "query_string": self.request.query,
            "headers": self.request.headers,
            "server": ("127.0.0.1", 80),
            "client": ("127.0.0.1", 12345),
        }
        try:
            await app(scope, self._receive, self._send)
        except Exception as error:
            self.faults.append(f"the app raised {error!r}")
            return
        if self._left.is_set() or self.request.leaves:
            return
        if not self.status:
            self.faults.append("the request got no response")
        elif not self._ended:
            self.faults.append("the response has no end")
        body = b"".join(self._body)
        length = self.headers.get(b"content-length")
        if length is not None and length != b"%d" % self._size and self.request.method != "HEAD":
            self.faults.append(f"content-length {length!r} for {self._size} bytes")
        if body and self._events is None:
            self.answers += 1
            self._came(self, body)

    async def _receive(self) -> dict[str, Any]:
        if self._coming:
            return self._coming.pop(0)
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: dict[str, Any]) -> None:
        if self._left.is_set():
            return
        if message["type"] == "http.response.start":
            if self.status:
                self.faults.append("a response began twice")
            self.status = message["status"]
            self.headers = dict(message["headers"])
            if self.headers.get(b"content-type") == b"text/event-stream":
                self._events = Events()
            return
        if self._ended:
            self.faults.append("a response goes on after its end")
        self._ended = not message.get("more_body")
        data = message.get("body", b"")
        self._size += len(data)
        if self._events is None:
            self._body.append(data)
            return
        for one in self._events.feed(data):
            self.answers += 1
            self._came(self, one)
