"""Requests of both sides of a transcript, with their answers."""

from __future__ import annotations

from typing import Any

import msgspec

import mcp_wire
from mcp_gen.compat.transcript import Transcript
from mcp_gen.compat.views.dialogue import Dialogue
from tests.support.frames import HANDSHAKE, PER_REQUEST


def capabilities_in(revision: str, *frames: tuple[str, dict[str, Any]]) -> Any:
    """Return what the server declares in a transcript."""
    transcript = Transcript(revision, "stdio")
    for sender, frame in frames:
        data = msgspec.json.encode({"jsonrpc": "2.0", **frame})
        transcript.add("client" if sender == "client" else "server", "message", data)
    return Dialogue(transcript).server_capabilities()


PING = {"id": 0, "method": "ping"}
PONG = {"id": 0, "result": {}}
LIST = {"id": 0, "method": "tools/list"}
LISTED = {"id": 0, "result": {"tools": []}}
DECLARED = {"id": 1, "result": {"capabilities": {"logging": {}}}}


def test_a_ping_before_the_handshake_is_not_the_handshake() -> None:
    initialize = {"id": 1, "method": "initialize"}
    frames = [("client", PING), ("server", PONG), ("client", initialize), ("server", DECLARED)]
    assert capabilities_in(HANDSHAKE, *frames) == {"logging": {}}


def test_a_list_before_the_discovery_is_not_the_discovery() -> None:
    discover = mcp_wire.profile(PER_REQUEST).discover
    assert discover is not None
    asked = {"id": 1, "method": discover.name}
    frames = [("client", LIST), ("server", LISTED), ("client", asked), ("server", DECLARED)]
    assert capabilities_in(PER_REQUEST, *frames) == {"logging": {}}


def test_of_a_server_that_has_not_answered_nothing_is_known() -> None:
    assert capabilities_in(HANDSHAKE, ("client", {"id": 1, "method": "initialize"})) is None


def test_what_is_no_response_has_no_status() -> None:
    transcript = Transcript(HANDSHAKE, "memory")
    assert transcript.add("client", "message", b"{}").status == 0
