"""Tests of `mcp-gen record` and `mcp-gen replay` as a user runs them."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import mcp_wire
from tests.cli.running import complaint, run
from tests.compat.recordings.talking import SHELF, WAIT_S

MCP_GEN = (sys.executable, "-c", "from mcp_gen.cli import main; main()")
SHELF_FILE = str(Path(__file__).parents[2] / "compat/recordings/shelf.py") + ":make"
REVISION = "2025-06-18"
LINES: list[dict[str, Any]] = [
    {"recording": 1, "started": "", "transport": "stdio", "server": "shelf"},
    {"id": 1, "method": "initialize"},
    {"id": 1, "result": {"protocolVersion": REVISION, "serverInfo": {"name": "shelf"}}},
    {"method": "notifications/initialized"},
    {"id": 2, "method": "tools/call"},
    {"id": 2, "result": {"content": [{"type": "text", "text": "4"}]}},
]


@pytest.fixture
def talk(tmp_path: Path) -> str:
    """A recording that another server has made: its name and answers differ."""
    params = {
        "initialize": {
            "protocolVersion": REVISION,
            "capabilities": {},
            "clientInfo": {"name": "a", "version": "1"},
        },
        "tools/call": {"name": "count", "arguments": {"item": "bolts"}},
    }
    made = [json.dumps(LINES[0])]
    for frame in LINES[1:]:
        sender = "client" if "method" in frame else "server"
        method = str(frame.get("method"))
        more = {"params": params[method]} if method in params else {}
        message = {"jsonrpc": "2.0", **frame, **more}
        line = {"at_s": 0, "from": sender, "kind": "message", "revision": REVISION}
        made.append(json.dumps({**line, "message": message}))
    path = tmp_path / "talk.jsonl"
    path.write_text("\n".join(made) + "\n")
    return str(path)


def test_a_difference_is_a_line_with_the_path_what_was_expected_and_what_came(talk: str) -> None:
    ran = run(
        "replay", talk, "--to", SHELF_FILE, "--over", "memory", "--ignore", "/result/capabilities"
    )
    lines = ran.stdout.splitlines()
    assert ran.exit_code == 1
    assert 'line 6: answer to tools/call $.result.content[0].text: expected "4", came "5"' in lines
    assert lines[-1].endswith("talk.jsonl (2025-06-18): 2 messages compared, 3 differences")


def test_the_same_is_printed_as_json(talk: str) -> None:
    ran = run("replay", talk, "--to", SHELF_FILE, "--over", "memory", "--json")
    printed = json.loads(ran.stdout)
    assert (printed["equal"], printed["compared"]) == (False, 2)
    assert {
        "line": 6,
        "about": "answer to tools/call",
        "path": "$.result.content[0].text",
        "expected": '"4"',
        "came": '"5"',
    } in printed["differences"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--to", "no.py"), "no such file: no.py"),
        (("--to", SHELF_FILE, "--as", "2020-01-01"), "no revision '2020-01-01'"),
        (("--to", SHELF_FILE, "--fill", "x"), "--fill: expected `NUMBER=VALUE`"),
        (("--to", SHELF_FILE, "--fill", "x=1"), "expected the number of a placeholder"),
        (("--to", SHELF_FILE, "--ignore", "x"), "expected a JSON pointer"),
    ],
)
def test_a_mistake_is_said_in_one_line(talk: str, words: tuple[str, ...], said: str) -> None:
    assert said in complaint("replay", talk, *words)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "name a command"),
        (("no-such-program",), "there is no program 'no-such-program'"),
        (("--to", "http://127.0.0.1:9", "cat"), "name a command"),
        (("--to", "nothing"), "expected a URL"),
        (("--redact", "body", "cat"), "expected a JSON pointer"),
        (("-o", "/no-such-folder/talk.jsonl", "cat"), "cannot be written"),
    ],
)
def test_a_mistake_of_record_is_said_in_one_line_and_writes_no_file(
    words: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert said in complaint("record", *words)
    assert list(tmp_path.iterdir()) == []


def test_a_server_over_http_is_recorded_until_the_user_ends_it(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    to = "http://127.0.0.1:9/mcp?token=planted-query"
    command = [*MCP_GEN, "record", "--to", to, "-o", str(path)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as tap:
        assert tap.stderr is not None
        line = tap.stderr.readline()
        assert re.match(r"http://127\.0\.0\.1:\d+/mcp\?token=planted-query is recorded to ", line)
        tap.send_signal(signal.SIGINT)
        tap.wait(WAIT_S)
    assert "planted-query" not in path.read_text()
    assert json.loads(path.read_text())["server"] == "http://127.0.0.1:9/mcp?token=***"


def test_a_client_talks_to_a_command_through_the_tap(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    tap = " ".join([*MCP_GEN[:2], "'from mcp_gen.cli import main; main()'", "record", "-o"])
    command = f"{tap} {path} -- {' '.join(SHELF)}"
    ran = run("call", command, "count", "--arg", "item=bolt", "--env", "inherit")
    assert (ran.exit_code, ran.stdout) == (0, "4\n"), ran.stderr
    replayed = run("replay", str(path), "--to", SHELF_FILE, "--over", "memory")
    assert (replayed.exit_code, replayed.stdout.count("\n")) == (0, 1), replayed.stdout
    assert mcp_wire.LATEST in replayed.stdout
    assert os.access(path, os.R_OK)
