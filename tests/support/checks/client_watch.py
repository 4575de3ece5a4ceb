"""Checks every frame that a client of ours sends in any test.

It must be valid by the published schema of the negotiated revision, and closed. A frame before the
negotiation is of the revision that it names. See `watch.py`, which does the same for servers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

import mcp_wire
from mcp_gen.compat.frame_check import FrameChecker, Sender
from mcp_gen.core.extensions.extensions import Extensions
from tests.support.checks.known_extensions import known_extensions
from tests.support.checks.published_schema import published

__all__ = ["ClientWatch"]

HANDSHAKE = [one for one in mcp_wire.REVISIONS if mcp_wire.profile(one).handshake][-1]
_NAMES_REVISION = {*mcp_wire.VERSION_KEYS.values()}


class ClientWatch:
    """Watch on one connection of a client.

    `spoken` returns the negotiated revision, if there is one; `offered` the client's extensions.
    """

    def __init__(
        self,
        spoken: Callable[[], str | None],
        offered: Callable[[], Extensions | None] = lambda: None,
    ) -> None:
        self._offered = offered
        self.violations: list[str] = []
        self._spoken = spoken
        self._used: set[bytes] = set()
        self._asked: dict[bytes, dict[str, Any]] = {}
        """Open requests of the server."""

    def saw(self, sender: Sender, data: bytes) -> None:
        """Check one message of the connection."""
        try:
            frame = msgspec.json.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            frame = None
        hear = self._said if sender == "client" else self._heard
        for entry in frame if isinstance(frame, list) else [frame]:
            hear(entry)

    def _heard(self, frame: Any) -> None:
        """Record the server's requests; a server message is never wrong."""
        if not isinstance(frame, dict):
            return
        if "method" in frame and "id" in frame:
            self._asked[_key(frame)] = frame

    def _said(self, frame: Any) -> None:
        assert isinstance(frame, dict), f"a client sent {frame!r}"
        if "method" in frame:
            self._asks_or_tells(frame)
        else:
            self._answers(frame)

    def _asks_or_tells(self, frame: dict[str, Any]) -> None:
        revision = _named(frame) or self._spoken() or mcp_wire.LATEST
        checker = self._checker(revision)
        self._add(revision, frame, checker.check(msgspec.json.encode(frame), "client"))
        self._add(revision, frame, published(revision).message(frame))
        if "id" not in frame:
            return
        id = _key(frame)
        # From 2026-07-28 on an id may be used again once it is answered; this client never does.
        if id in self._used:
            self._add(revision, frame, [f"$.id: {frame['id']!r} was used before"])
        self._used.add(id)

    def _answers(self, frame: dict[str, Any]) -> None:
        revision = self._spoken() or mcp_wire.LATEST
        asked = self._asked.pop(_key(frame), None)
        if asked is None:
            # The server's message with that id was no request, and this is the error for it.
            if "error" not in frame:
                self._add(revision, frame, ["$.id: answers nothing"])
            return
        checker = self._checker(revision)
        checker.check(msgspec.json.encode(asked), "server")
        self._add(revision, frame, checker.check(msgspec.json.encode(frame), "client"))
        schema = published(revision)
        if "result" in frame:
            self._add(revision, frame, schema.result(asked["method"], frame["result"]))
        else:
            self._add(revision, frame, schema.error(frame))

    def _checker(self, revision: str) -> FrameChecker:
        offered = self._offered()
        known = known_extensions() if offered is None else offered
        return FrameChecker(mcp_wire.profile(revision), known)

    def _add(self, revision: str, frame: Any, found: Any) -> None:
        what = frame.get("method", "an answer")
        self.violations += [f"{what}: {one} ({revision})" for one in found]


def _key(frame: dict[str, Any]) -> bytes:
    return msgspec.json.encode(frame.get("id"))


def _named(frame: dict[str, Any]) -> str | None:
    """Return the revision that a frame itself names."""
    params = frame.get("params")
    if not isinstance(params, dict):
        return None
    meta = params.get("_meta")
    named = [meta[key] for key in _NAMES_REVISION & meta.keys()] if isinstance(meta, dict) else []
    named += [params.get("protocolVersion"), HANDSHAKE] if frame["method"] == "initialize" else []
    return next((one for one in named if one in mcp_wire.REVISIONS), None)
