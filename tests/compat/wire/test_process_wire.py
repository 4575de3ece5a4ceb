"""Wires to processes: the transcript tells how each of them ended."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable

import pytest

import mcp_wire
from mcp_gen.compat.reference.client import ReferenceClient
from mcp_gen.compat.reference.server import ReferenceServer
from mcp_gen.compat.transcript import Transcript
from mcp_gen.compat.wire import process
from mcp_gen.compat.wire.openers import CommandOpener
from mcp_gen.compat.wire.process import NO_TIME, STDIN_CLOSED, TERMINATED
from mcp_gen.compat.wire.process_time import ProcessTime, Used
from tests.compat.examining import STDIO_TIMEOUT_S, examined_over_stdio, program_of

REVISION = mcp_wire.REVISIONS[-1]
FIRST_LINE_S = 10.0
EXITS = "import sys; print(1, flush=True); sys.stdin.read(); sys.exit(3)"
STAYS = "import sys, time; print(1, flush=True); sys.stdin.read(); time.sleep(60)"

WORKS = "import sys; print(1, flush=True); sys.stdin.read()\nwhile True: pass"


def ends(transcript: Transcript) -> list[tuple[str, str]]:
    return [(one.sender, one.about) for one in transcript.events if one.kind == "closed"]


def uses(found: Used) -> Callable[[ProcessTime], Used]:
    """Return a stand-in for what tells the use of a process."""

    def used(time: ProcessTime) -> Used:
        return found

    return used


async def closed(opens: CommandOpener) -> list[tuple[str, str]]:
    """Open a connection, wait for a line if one comes soon, and close it."""
    wire = opens(REVISION)
    await wire.open()
    await wire.transcript.first(lambda event: event.kind == "message", FIRST_LINE_S)
    await wire.aclose()
    return ends(wire.transcript)


async def test_the_exit_status_is_written_down_and_the_time_after_stdin_was_closed() -> None:
    stdin, (sender, about) = await closed(CommandOpener([sys.executable, "-c", EXITS]))
    assert stdin == ("client", STDIN_CLOSED)
    assert sender == "server"
    assert about.startswith("exit status 3, ")
    assert about.endswith(" s after stdin was closed")


async def test_a_process_that_stays_is_terminated_and_the_next_one_is_not_waited_for() -> None:
    opens = CommandOpener([sys.executable, "-c", STAYS])
    first = await closed(opens)
    assert first[:2] == [("client", STDIN_CLOSED), ("client", TERMINATED)]
    assert first[2][1].startswith("exit status -15, ")
    second = await closed(opens)
    assert second[0] == ("client", "the process was not waited for")


async def test_a_process_that_is_busy_is_terminated_once_it_has_had_its_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(process, "PROMPT_S", 0.1)
    first = await closed(CommandOpener([sys.executable, "-c", WORKS]))
    assert first[:2] == [("client", STDIN_CLOSED), ("client", TERMINATED)]


async def test_a_process_that_had_no_time_is_not_said_to_stay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # As on a machine on which others run all the time.
    monkeypatch.setattr(ProcessTime, "used", uses(Used(0.0, math.inf, True)))
    monkeypatch.setattr(process, "LONGEST_S", 0.2)
    opens = CommandOpener([sys.executable, "-c", STAYS])
    for _ in range(2):
        assert (await closed(opens))[:2] == [("client", STDIN_CLOSED), ("client", NO_TIME)]


async def test_a_process_that_has_not_started_is_not_said_to_stay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(process, "PROMPT_S", 0.05)
    monkeypatch.setattr(process, "START_S", 0.2)
    wire = CommandOpener([sys.executable, "-c", "import time; time.sleep(60)"])(REVISION)
    await wire.open()
    await wire.aclose()
    assert ends(wire.transcript)[:2] == [("client", STDIN_CLOSED), ("client", NO_TIME)]


async def test_time_in_which_a_process_was_kept_waiting_is_not_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    took_s = [await _exit_time_s(monkeypatch, held_s) for held_s in (0.0, 0.5)]
    assert took_s[1] >= took_s[0] + 0.4


async def _exit_time_s(monkeypatch: pytest.MonkeyPatch, held_s: float) -> float:
    monkeypatch.setattr(ProcessTime, "used", uses(Used(0.0, held_s, False)))
    monkeypatch.setattr(process, "PROMPT_S", 0.1)
    wire = CommandOpener([sys.executable, "-c", STAYS])(REVISION)
    await wire.open()
    await wire.transcript.first(lambda event: event.kind == "message", STDIO_TIMEOUT_S)
    await wire.aclose()
    stdin, terminated = [one.at_s for one in wire.transcript.events if one.kind == "closed"][:2]
    return terminated - stdin


def test_the_use_of_a_process_is_what_it_ran() -> None:
    with subprocess.Popen([sys.executable, "-c", WORKS], stdin=subprocess.DEVNULL) as child:
        time = ProcessTime(child.pid)
        found = time.used()
        while found.ran_s < 0.05:
            found = time.used()
        child.kill()
    assert found.ran_s >= 0.05


async def test_a_process_that_ends_by_itself_is_the_end_of_the_connection() -> None:
    opens = CommandOpener([sys.executable, "-c", "print('bye')"])
    wire = opens(REVISION)
    await wire.open()
    closing = await wire.transcript.first(lambda event: event.kind == "closed", STDIO_TIMEOUT_S)
    await wire.aclose()
    assert closing is not None
    assert closing.sender == "server"


async def test_the_reference_server_is_a_program() -> None:
    command = [sys.executable, *program_of(ReferenceServer), "--revision", REVISION]
    wire = CommandOpener(command, env="inherit")(REVISION)
    client = ReferenceClient(wire, REVISION, timeout_s=STDIO_TIMEOUT_S)
    opening = await client.open()
    await client.aclose()
    assert opening.result is not None


async def test_the_reference_server_breaks_no_rule_of_messages_over_stdio() -> None:
    report = await examined_over_stdio(ReferenceServer, REVISION)
    assert {one.requirement: one.findings for one in report.failed()} == {}
    passed = {one.requirement for one in report.outcomes if one.verdict == "passed"}
    assert {"stdio:lines", "stdio:stdout-clean", "stdio:exit"} <= passed
