"""Live values in replays: how far tasks are, and the secrets that were replaced."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mcp_gen.compat.recordings.replaying.replay import ReplayReport, replay
from mcp_gen.compat.wire.openers import CommandOpener
from tests.compat.recordings.talking import WAIT_S

REVISION = "2025-11-25"
SERVER = """
import json, sys
said = json.loads(sys.argv[1])
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    answer = said[asked["method"]]
    result = answer.pop(0) if len(answer) > 1 else answer[0]
    if result == "echo":
        result = {"was": asked["params"]["arguments"]}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""
"""A server that answers each method with results that it was told; the last one stays."""

WORKING = {"taskId": "1", "status": "working", "statusMessage": "page 1"}
FURTHER = {"taskId": "2", "status": "working", "statusMessage": "page 2"}
DONE = {"taskId": "2", "status": "completed"}
FAILED = {"taskId": "2", "status": "failed"}


def recorded(path: Path, *exchanges: tuple[dict[str, Any], dict[str, Any]]) -> None:
    """Write a recording of requests and their results."""
    head = {"recording": 1, "started": "", "transport": "stdio", "server": "s"}
    lines: list[dict[str, Any]] = [head]
    for id, (request, result) in enumerate(exchanges, 1):
        for sender, rest in (("client", request), ("server", {"result": result})):
            message = {"jsonrpc": "2.0", "id": id, **rest}
            line = {"at_s": 0, "from": sender, "kind": "message", "revision": REVISION}
            lines.append({**line, "message": message})
    path.write_text("\n".join(map(json.dumps, lines)) + "\n")


def played(
    path: Path,
    said: dict[str, Sequence[Any]],
    filled: dict[str, str] | None = None,
    revision: str | None = None,
) -> ReplayReport:
    """Replay against a server that says what it was told."""
    command = [sys.executable, "-S", "-c", SERVER, json.dumps(said)]
    stderr = os.open(os.devnull, os.O_WRONLY)
    try:
        opens = CommandOpener(command, stderr=stderr)
        return asyncio.run(replay(path, opens, filled=filled, revision=revision, timeout_s=WAIT_S))
    finally:
        os.close(stderr)


GET = {"method": "tasks/get", "params": {"taskId": "1"}}


@pytest.mark.parametrize(
    ("then", "now", "differs"),
    [
        (DONE, [DONE], False),
        (DONE, [WORKING, FURTHER, DONE], False),
        (WORKING, [FURTHER], False),
        (WORKING, [DONE], False),
        (DONE, [WORKING, FAILED], True),
    ],
)
def test_how_far_a_task_is_does_not_differ_and_how_it_ends_does(
    then: dict[str, Any], now: list[Any], differs: bool, tmp_path: Path
) -> None:
    path = tmp_path / "talk.jsonl"
    recorded(path, (GET, then))
    report = played(path, {"tasks/get": now})
    assert (report.is_equal, report.compared) == (not differs, 1), str(report)


def call(**arguments: Any) -> dict[str, Any]:
    return {"method": "tools/call", "params": {"name": "a", "arguments": arguments}}


@pytest.mark.parametrize(
    ("live", "differs"), [(45, False), (-2.5e3, False), ("45", True), (None, True), (True, True)]
)
def test_a_number_that_was_replaced_may_be_any_number(
    live: Any, differs: bool, tmp_path: Path
) -> None:
    path = tmp_path / "talk.jsonl"
    text = '{"total_tokens":<redacted-number-1>}'
    result = {"total_tokens": "<redacted-number-1>", "text": text}
    recorded(path, (call(), result))
    now = {"total_tokens": live, "text": json.dumps({"total_tokens": live}, separators=(",", ":"))}
    assert played(path, {"tools/call": [now]}).is_equal is not differs


@pytest.mark.parametrize(("filled", "sent"), [({"3": "7.5"}, 7.5), (None, 3)])
def test_a_number_that_was_replaced_is_sent_as_a_number(
    filled: dict[str, str] | None, sent: float, tmp_path: Path
) -> None:
    path = tmp_path / "talk.jsonl"
    recorded(path, (call(max_tokens="<redacted-number-3>"), {"was": {"max_tokens": sent}}))
    assert played(path, {"tools/call": ["echo"]}, filled).is_equal


OPENING: dict[str, Any] = {
    "protocolVersion": REVISION,
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "s", "version": "1"},
}
ISSUED: dict[str, Any] = {"content": [], "structuredContent": {"token": "live-1", "tokens": 45}}


def test_secrets_are_compared_as_they_came_in_a_restated_conversation(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    hidden = {"token": "<redacted-7>", "tokens": "<redacted-number-8>"}
    echoed = {"content": [{"type": "text", "text": "live-1"}]}
    recorded(
        path,
        (call(), {"content": [], "structuredContent": hidden}),
        (call(token="<redacted-7>"), {"content": [{"type": "text", "text": "<redacted-7>"}]}),
    )
    said: dict[str, Sequence[Any]] = {"initialize": [OPENING], "tools/call": [ISSUED, echoed]}
    report = played(path, said, revision=REVISION)
    assert (report.compared, report.differences, report.losses) == (2, (), ())


def test_a_task_is_a_loss_of_a_restated_conversation_as_is_what_asks_for_it(
    tmp_path: Path,
) -> None:
    path = tmp_path / "talk.jsonl"
    recorded(path, (call(), {"task": WORKING}), (GET, DONE))
    said: dict[str, Sequence[Any]] = {
        "initialize": [OPENING],
        "tools/call": [{"content": []}],
        "tasks/get": [DONE],
    }
    report = played(path, said, revision=REVISION)
    assert (report.compared, report.differences) == (0, ())
    assert report.losses == (
        "line 2: answer to tools/call is a task, which is not restated",
        f"line 4: tasks/get: there is no such task at {REVISION}",
    )
