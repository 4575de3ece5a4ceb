"""Clients and the processes of their servers: what is said of those that end them wrongly."""

from __future__ import annotations

import sys

import pytest

from mcp_gen.compat.checks.check import checks
from mcp_gen.compat.checks.client_run import STRICT, ClientRun, Ended
from mcp_gen.compat.checks.found import Found, NotTested
from mcp_gen.compat.doctor.client_examination import examine_client
from mcp_gen.compat.scenarios.commands import CommandStage
from mcp_gen.compat.scenarios.process_server import (
    LEFT_BY_ITSELF,
    LEFT_RUNNING,
    STILL_THERE,
    StubbornServer,
)
from mcp_gen.compat.transcript import Transcript
from tests.support.frames import HANDSHAKE, PER_REQUEST, Speaker

ROW = "lifecycle:client:shutdown"
SIGTERM_ROW = f"{ROW}:sigterm"
WELL = Ended(exit_code=0, limit_s=30.0)
HUNG = Ended(exit_code=None, limit_s=30.0)

LEAVES_ITS_SERVER = """
import shlex, subprocess, sys
pipe = subprocess.PIPE
server = subprocess.Popen(shlex.split(sys.argv[1]), stdin=pipe, stdout=pipe, start_new_session=True)
server.stdin.write(sys.argv[2].encode() + b"\\n")
server.stdin.flush()
assert b"result" in server.stdout.readline()
"""


def run_that(*closings: str, ended: Ended = WELL) -> ClientRun:
    """Return a run in which this was said of the end of the server's process; "" is its stdin."""
    transcript = Transcript(HANDSHAKE, "stdio")
    for about in closings:
        is_of_server = about in (STILL_THERE, LEFT_BY_ITSELF)
        transcript.add("server" if is_of_server else "client", "closed", about=about)
    run = ClientRun(ROW, HANDSHAKE, [transcript], ended)
    run.beside = {STRICT: ClientRun(STRICT, HANDSHAKE, [], WELL), ROW: run}
    return run


def found_in(run: ClientRun, row: str = ROW) -> list[str]:
    found = Found()
    judge = checks()[row].judge
    assert judge is not None
    judge(run, found)
    return [one.came for one in found.findings]


@pytest.mark.parametrize(
    ("closings", "came"),
    [
        (["", STILL_THERE, "got SIGTERM"], []),
        (["", STILL_THERE], []),
        (["got SIGTERM", "", STILL_THERE], ["SIGTERM came, before that"]),
        (["got SIGTERM"], ["SIGTERM came, and stdin was not closed"]),
        ([], ["the process was killed, and stdin was not closed"]),
        (["", "got SIGTERM", STILL_THERE], ["SIGTERM came at once"]),
        ([""], ["the process was killed at once"]),
        (["", STILL_THERE, LEFT_RUNNING], ["it still ran when the client had ended"]),
        (["", STILL_THERE, LEFT_BY_ITSELF], ["it was waited for, and not terminated"]),
    ],
)
def test_each_wrong_way_to_end_a_process_is_told(closings: list[str], came: list[str]) -> None:
    assert found_in(run_that(*closings)) == came


def test_a_client_that_waits_forever_for_a_process_is_told() -> None:
    run = run_that("", STILL_THERE, ended=HUNG)
    assert found_in(run) == ["it was waited for, and not terminated"]


def test_a_short_time_limit_says_nothing_of_a_client_that_waits() -> None:
    run = run_that("", STILL_THERE, ended=Ended(exit_code=None, limit_s=3.0))
    with pytest.raises(NotTested, match="too short"):
        found_in(run)


def test_a_process_that_is_killed_without_sigterm_is_told() -> None:
    assert found_in(run_that("", STILL_THERE, "got SIGINT"), SIGTERM_ROW) == [
        "it got SIGINT, and was killed"
    ]
    assert found_in(run_that("", STILL_THERE, "got SIGTERM"), SIGTERM_ROW) == []


async def test_a_command_that_leaves_its_server_running_is_told() -> None:
    discover = Speaker(PER_REQUEST).request(1, "server/discover").decode()
    command = [sys.executable, "-c", LEAVES_ITS_SERVER, "{command}", discover]
    report = await examine_client(
        CommandStage(command), target="leaves", revisions=(PER_REQUEST,), limit_s=40.0, only=(ROW,)
    )
    [finding] = next(one.findings for one in report.outcomes if one.requirement == ROW)
    assert finding.came == "it still ran when the client had ended"


async def test_a_stubborn_server_says_that_it_is_there_and_at_last_that_it_leaves() -> None:
    class Impatient(StubbornServer):
        moment_s = 0.0
        patience_s = 0.01

    server, told = Impatient(HANDSHAKE), list[tuple[str, str]]()
    server.note_closing = lambda sender, about: told.append((sender, about))
    server.connected(lambda frame: None)
    await server.aclose()
    assert told == [("server", STILL_THERE), ("server", LEFT_BY_ITSELF)]
