"""Verdicts on cells: conversations that a client tells, its end, and what passed."""

from __future__ import annotations

from typing import Any

import msgspec

from mcp_gen.compat.checks.client_run import Ended
from mcp_gen.compat.matrix.judging import ClientEnd, judged, said_conversations
from mcp_gen.compat.matrix.model import Cell
from mcp_gen.compat.matrix.recorded import Talk
from mcp_gen.compat.recordings.lines import RecordedLine, Recording, RecordingHead

REVISION = "2025-11-25"
CELL = Cell(server="s", client="c", transport="stdio", revision=REVISION, verdict="not tested")
WELL = Ended(exit_code=0, took_s=1.0, limit_s=9.0)
BADLY = Ended(exit_code=1, took_s=1.0, limit_s=9.0)
HUNG = Ended(exit_code=None, took_s=9.0, limit_s=9.0)


def end(ended: Ended = WELL, stdout: bytes = b"", last_line: str = "") -> ClientEnd:
    return ClientEnd(ended=ended, stdout=stdout, last_line=last_line)


def said(name: str, verdict: str, why: str = "") -> bytes:
    return msgspec.json.encode({"conversation": name, "verdict": verdict, "why": why}) + b"\n"


def line(sender: Any, message: dict[str, Any], revision: str | None) -> RecordedLine:
    return RecordedLine(
        at_s=0.0,
        sender=sender,
        kind="message",
        message={"jsonrpc": "2.0", **message},
        revision=revision,
    )


def talk(*after: tuple[str, dict[str, Any]], agreed: str = REVISION) -> Talk:
    """Return a connection on which a handshake was followed by some messages."""
    me = {"name": "n", "version": "1"}
    asked = {"protocolVersion": REVISION, "capabilities": {}, "clientInfo": me}
    told = {"protocolVersion": agreed, "capabilities": {}, "serverInfo": me}
    lines = [
        line("client", {"id": 1, "method": "initialize", "params": asked}, REVISION),
        line("server", {"id": 1, "result": told}, agreed),
        *(line(sender, message, agreed) for sender, message in after),
    ]
    head = RecordingHead(recording=1, started="", transport="stdio", server="s")
    return Talk(Recording(head, tuple(lines)), REVISION)


PING = ("client", {"id": 2, "method": "ping"})
PONG: tuple[str, dict[str, Any]] = ("server", {"id": 2, "result": {}})


def test_lines_that_are_no_conversation_are_not_read() -> None:
    lines = b"hello\n[1]\n{}\n\xff\n" + said("call", "passed") + said("x", "maybe")
    assert [one.name for one in said_conversations(lines)] == ["call"]


def test_a_cell_passes_with_its_conversations() -> None:
    cell = judged(CELL, end(stdout=said("call", "passed")), [talk(PING, PONG)])
    assert (cell.verdict, [one.name for one in cell.conversations]) == ("passed", ["call"])


def test_a_cell_fails_with_a_conversation() -> None:
    cell = judged(CELL, end(stdout=said("call", "failed", "no")), [talk(PING, PONG)])
    assert (cell.verdict, cell.failed()[0].why) == ("failed", "no")


def test_a_client_that_tells_nothing_is_judged_by_its_exit_code() -> None:
    cells = [judged(CELL, end(one, last_line="oh"), [talk()]) for one in (WELL, BADLY)]
    assert [one.verdict for one in cells] == ["passed", "failed"]
    assert cells[1].conversations[0].why == "the client ended with exit code 1: oh"


def test_a_client_that_fails_after_its_conversations_fails() -> None:
    cell = judged(CELL, end(BADLY, said("call", "passed")), [talk()])
    assert [one.name for one in cell.failed()] == ["end"]


def test_a_must_that_a_side_broke_fails_the_cell_whatever_the_client_says() -> None:
    cell = judged(CELL, end(stdout=said("call", "passed")), [talk(PING, ("server", {"id": 7}))])
    assert (cell.verdict, {one.side for one in cell.breaks("must")}) == ("failed", {"server"})


def test_another_revision_than_the_wanted_one_is_not_tested() -> None:
    cell = judged(CELL, end(stdout=said("call", "passed")), [talk(agreed="2025-06-18")])
    assert (cell.verdict, cell.why) == ("not tested", "the server refused: it offers 2025-06-18")


def test_a_refusal_is_not_tested_and_told() -> None:
    head = RecordingHead(recording=1, started="", transport="stdio", server="s")
    lines = (
        line("client", {"id": 1, "method": "initialize", "params": {}}, None),
        line("server", {"id": 1, "error": {"code": -32602, "message": "old"}}, None),
    )
    cell = judged(CELL, end(BADLY), [Talk(Recording(head, lines), REVISION)])
    assert (cell.verdict, cell.why) == ("not tested", "the server refused: -32602 old")


def test_a_client_that_does_not_connect_is_not_tested() -> None:
    cell = judged(CELL, end(BADLY, last_line="unknown revision"), [])
    why = "the client did not connect, and the client ended with exit code 1: unknown revision"
    assert (cell.verdict, cell.why, cell.conversations) == ("not tested", why, ())


def test_a_client_that_hangs_without_a_session_fails() -> None:
    cell = judged(CELL, end(HUNG), [])
    assert (cell.verdict, cell.failed()[0].name) == ("failed", "connect")


def test_a_client_that_a_signal_has_ended_has_failed_without_a_session_too() -> None:
    killed = Ended(exit_code=-9, took_s=1.0, limit_s=9.0)
    cell = judged(CELL, end(killed), [])
    why = "the client did not connect, and the client ended with exit code -9"
    assert (cell.verdict, cell.failed()[0].why) == ("failed", why)
