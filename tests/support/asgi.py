"""HTTP requests to an ASGI app in this process, with scopes made by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from mcp_gen.transports.http import AsgiApp, Message
from tests.support.frames import Speaker

__all__ = ["Reply", "begin", "end", "headers_of", "request"]


@dataclass(frozen=True)
class Reply:
    """What the app answered."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.body)


async def request(
    app: AsgiApp,
    body: bytes | Sequence[bytes] = b"",
    headers: Mapping[str, str] | None = None,
    *,
    method: str = "POST",
    path: str = "/mcp",
    root_path: str = "",
    hangs_up: bool = False,
) -> Reply:
    """One request; a body in pieces arrives in pieces. One who hangs up sends no last piece."""
    pieces = [body] if isinstance(body, bytes) else list(body)
    coming: list[Message] = [
        {"type": "http.request", "body": piece, "more_body": hangs_up or i + 1 < len(pieces)}
        for i, piece in enumerate(pieces)
    ]
    if hangs_up:
        coming.append({"type": "http.disconnect"})
    sent: list[Message] = []

    async def receive() -> Message:
        return coming.pop(0)

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "root_path": root_path,
        "headers": [
            (name.lower().encode(), value.encode()) for name, value in (headers or {}).items()
        ],
    }
    await app(scope, receive, send)
    start, end = sent
    assert (start["type"], end["type"]) == ("http.response.start", "http.response.body")
    assert not end.get("more_body")
    received = {name.decode(): value.decode() for name, value in start["headers"]}
    assert received["content-length"] == str(len(end["body"]))
    return Reply(start["status"], received, end["body"])


def headers_of(speaker: Speaker, message: bytes) -> dict[str, str]:
    """The headers that repeat what a message says, where its revision has them."""
    profile, frame = speaker.profile, msgspec.json.decode(message)
    names = (profile.version_header, profile.method_header, profile.name_header)
    values = (speaker.revision, frame["method"], frame.get("params", {}).get("name"))
    return {name: value for name, value in zip(names, values, strict=True) if name and value}


async def begin(app: AsgiApp, speaker: Speaker) -> dict[str, str]:
    """The headers of a session that has just begun; none where there are no sessions."""
    if speaker.profile.handshake is None:
        return {}
    name = str(speaker.profile.session_header)
    reply = await request(app, speaker.initialize(0))
    return {name: reply.headers[name.lower()]}


async def end(app: AsgiApp, session: Mapping[str, str]) -> Reply:
    """End a session, as its client would."""
    return await request(app, headers=session, method="DELETE")
