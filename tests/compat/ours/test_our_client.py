"""Our own client comes out of its examination clean, in this process and as a command."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

import pytest

import mcp_wire
from mcp_gen import Client
from mcp_gen.client.connecting.in_process import InProcessTransport
from mcp_gen.compat.doctor.client_examination import examine_client
from mcp_gen.compat.report.model import Report
from mcp_gen.compat.scenarios.commands import CommandStage
from mcp_gen.compat.scenarios.http import HttpStage
from mcp_gen.core.errors import SessionLost
from tests.compat.examining_clients import LIMIT_S, NEVER_LISTS, TIMEOUT_S, PatientStage
from tests.compat.local_http import LocalHttpStage
from tests.compat.own_client import use_everything
from tests.support.frames import HANDSHAKE, PER_REQUEST

if TYPE_CHECKING:
    from mcp_gen.client.connecting.in_process import ConnectableServer

HTTP_TIMEOUT_S = 1.0
"""Longest wait for an answer in the scenario whose server never gives one."""
A_MOMENT_S = 0.2

NOT_DONE = {
    # Without a pinned revision it asks for the newest.
    "lifecycle:client:versions:supported",
    # It keeps whole lists, no pages.
    "caching:client:cursor",
    # It opens no pages for its user.
    "elicitation:client:id-opaque",
    "elicitation:client:no-fetch",
    # It has roots, which do not change.
    "roots:client:changed",
    "roots:client:errors",
    # Its model takes no tools.
    "sampling:client:tools:declared",
    "sampling:client:tools:undeclared",
    # It makes tasks of questions.
    "tasks:client:receives:ignored",
}
"""Requirements that our client has no occasion for, and is not judged by."""


async def own(server: ConnectableServer, revision: str, timeout_s: float) -> None:
    """Use everything of a server of this process, without a pinned revision."""
    transport = InProcessTransport(server, asyncio.ensure_future)
    await use_everything(transport, None, timeout_s=timeout_s)


def shown(report: Report) -> dict[tuple[str, str], object]:
    return {(one.requirement, one.revision): one.findings for one in report.failed()}


async def test_our_client_breaks_no_rule_at_any_revision() -> None:
    report = await examine_client(PatientStage(own), target="own", limit_s=LIMIT_S)
    assert shown(report) == {}
    assert [one.agreed for one in report.openings] == list(mcp_wire.REVISIONS)
    assert report.name == "own 1.0.0"
    untested = {one.requirement for one in report.outcomes if one.verdict == "not tested"}
    assert untested == NOT_DONE


async def own_over_http(said: Mapping[str, str]) -> None:
    """Use everything of a server over HTTP, without a pinned revision."""
    timeout_s = HTTP_TIMEOUT_S if said["scenario"] == NEVER_LISTS else TIMEOUT_S
    await use_everything(said["url"], None, timeout_s=timeout_s)


@pytest.mark.parametrize("revision", mcp_wire.REVISIONS)
async def test_our_client_breaks_no_rule_over_http(revision: str) -> None:
    report = await examine_client(
        LocalHttpStage(own_over_http), target="own", revisions=(revision,), limit_s=LIMIT_S
    )
    assert shown(report) == {}
    assert [one.agreed for one in report.openings] == [revision]


async def lists_tools(said: Mapping[str, str]) -> None:
    """List the tools of a server over HTTP, and do no more."""
    timeout_s = HTTP_TIMEOUT_S if said["scenario"] == NEVER_LISTS else TIMEOUT_S
    async with Client("small", "1.0.0", timeout_s=timeout_s) as client:
        session = await client.connect(said["url"])
        assert [tool async for tool in session.tools()]


async def test_a_client_that_only_lists_tools_breaks_no_rule() -> None:
    report = await examine_client(
        LocalHttpStage(lists_tools), target="small", revisions=(PER_REQUEST,), limit_s=LIMIT_S
    )
    assert shown(report) == {}
    assert report.name == "small 1.0.0"


@pytest.mark.parametrize("revision", [HANDSHAKE, PER_REQUEST])
async def test_our_client_breaks_no_rule_as_a_command(revision: str) -> None:
    command = [sys.executable, "-m", "tests.compat.own_client", "{command}"]
    report = await examine_client(
        CommandStage(command),
        target="own",
        revisions=(revision,),
        limit_s=40.0,
        only=(
            "lifecycle:client:shutdown",
            "pagination:client:both",
            "stdio:client:restarts",
            "stdio:client:stderr",
        ),
    )
    assert shown(report) == {}
    assert [one.agreed for one in report.openings] == [revision]
    of_commands = {
        one.requirement: one.verdict
        for one in report.outcomes
        if one.requirement.startswith(("lifecycle:client:shutdown", "stdio:"))
    }
    assert set(of_commands.values()) == {"passed"}, of_commands


async def pinned(server: ConnectableServer, revision: str, timeout_s: float) -> None:
    """Use everything of a server of this process, at its revision and no other."""
    transport = InProcessTransport(server, asyncio.ensure_future)
    await use_everything(transport, revision, timeout_s=timeout_s)


async def test_a_client_that_is_told_its_revision_is_not_judged_by_how_it_chooses_one() -> None:
    rows = ("lifecycle:client:fallback", "lifecycle:client:versions:selected")
    report = await examine_client(
        PatientStage(pinned),
        target="pinned",
        revisions=(HANDSHAKE, PER_REQUEST),
        limit_s=LIMIT_S,
        only=rows,
    )
    assert shown(report) == {}
    assert {one.why for one in report.outcomes if one.requirement in rows} == {
        "the client was not seen to choose between revisions by itself"
    }


async def watching(server: ConnectableServer, revision: str, timeout_s: float) -> None:
    """Watch the tools of a server of this process, and begin again when it is lost."""
    async with Client("own", timeout_s=timeout_s) as client:
        session = await client.connect(server, revision=revision)
        for _ in range(2):
            with contextlib.suppress(SessionLost, TimeoutError):
                async with session.watch(tools=True) as changes:
                    await session.list_tools()
                    async with asyncio.timeout(A_MOMENT_S):
                        await anext(changes)


async def test_our_client_subscribes_again_on_a_new_connection() -> None:
    row = "subscriptions:client:again"
    report = await examine_client(
        PatientStage(watching, "stdio"),
        target="own",
        revisions=(PER_REQUEST,),
        limit_s=LIMIT_S,
        only=(row,),
    )
    assert {one.requirement: one.verdict for one in report.outcomes}[row] == "passed"
    assert shown(report) == {}


@pytest.mark.parametrize("revision", [mcp_wire.REVISIONS[0], PER_REQUEST])
async def test_our_client_breaks_no_rule_as_a_command_with_a_url(revision: str) -> None:
    command = [sys.executable, "-m", "tests.compat.own_client", "{url}"]
    report = await examine_client(
        HttpStage(command),
        target="own",
        revisions=(revision,),
        limit_s=40.0,
        only=("pagination:client:both",),
    )
    assert shown(report) == {}
    assert [one.agreed for one in report.openings] == [revision]
    verdicts = {one.requirement: one.verdict for one in report.outcomes}
    assert verdicts["pagination:client:both"] == "passed"


async def test_a_command_that_does_not_connect_is_told_of_and_tests_nothing() -> None:
    command = [sys.executable, "-c", "raise SystemExit(3)", "{command}"]
    report = await examine_client(CommandStage(command), target="no client", limit_s=40.0)
    assert {one.verdict for one in report.outcomes} == {"not tested"}
    assert report.openings[0].answer == "it did not connect, and the client ended with exit code 3"


async def test_a_command_that_hangs_costs_its_limit_once_per_revision() -> None:
    command = [sys.executable, "-c", "import time; time.sleep(60)"]
    report = await examine_client(
        CommandStage(command), target="no client", revisions=(PER_REQUEST,), limit_s=0.5
    )
    assert {one.verdict for one in report.outcomes} == {"not tested"}
    assert report.openings[0].answer.endswith("the client did not end within 0.5 s")
