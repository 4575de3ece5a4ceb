"""Peers that break a rule in another way than the pair of the zoo does, or leave it untested."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mcp_gen import Client
from mcp_gen.compat.checks.servers.cancellation import SLOW_S
from mcp_gen.compat.json_values import Json
from mcp_gen.compat.reference.call import ReferenceCall
from mcp_gen.compat.reference.client_script import ClientScript, ScriptFailure
from mcp_gen.compat.reference.http.endpoint import ReferenceEndpoint
from mcp_gen.compat.reference.http.exchanges import EndpointRequest, EndpointResponse
from mcp_gen.compat.reference.server import ReferenceServer
from mcp_gen.compat.reference.serving import DuplexServing
from mcp_gen.compat.report.model import Outcome, Report
from mcp_gen.compat.zoo.servers.cancellation import AnswersTheCancelled
from mcp_gen.compat.zoo.servers.features.lists import CursorsForOneUse
from tests.compat.examining import examined
from tests.compat.examining_clients import examined_client
from tests.support.frames import HANDSHAKE, PER_REQUEST


def outcome(report: Report, requirement: str) -> Outcome:
    (found,) = [one for one in report.outcomes if one.requirement == requirement]
    return found


# --- servers ---


class KeepsSessions(ReferenceEndpoint):
    """Lets no client end its session."""

    async def respond(self, request: EndpointRequest) -> EndpointResponse:
        if request.method == "DELETE":
            return EndpointResponse(status=405)
        return await super().respond(request)


async def test_a_server_whose_sessions_cannot_be_ended_is_not_judged_by_what_comes_then() -> None:
    report = await examined(KeepsSessions, HANDSHAKE, areas={"http"})
    ended = outcome(report, "http:session:ended")
    why = "the server does not let clients end sessions"
    assert (ended.verdict, ended.why) == ("not tested", why)


class TurnsPages(ReferenceServer):
    """Gives for a cursor another page each time, on whatever connection."""

    second = 0

    def page(self, call: ReferenceCall, member: str, items: list[Json]) -> Json:
        made = super().page(call, member, items)
        if call.params.get("cursor") is not None:
            type(self).second += 1
            made[member] = items[: 1 + self.second % 2]
        return made


@pytest.mark.parametrize(
    ("server", "came"), [(TurnsPages, "another page"), (CursorsForOneUse, "an error")]
)
async def test_what_comes_at_the_second_use_of_a_cursor_is_told(
    server: type[ReferenceServer], came: str
) -> None:
    rule = "pagination:cursors:stable"
    report = await examined(server, HANDSHAKE, rule, areas={"pagination"})
    told = {one.came for one in outcome(report, rule).findings}
    assert told == {f"{came} at its second use"}


class EchoesSlowly(AnswersTheCancelled):
    """Answers a cancelled request, and has a call that is slow once."""

    has_echoed = False

    async def run_echo(self, call: ReferenceCall, arguments: Json) -> Json:
        if not type(self).has_echoed:
            type(self).has_echoed = True
            # Longer than a call takes that is not slow.
            await asyncio.sleep(SLOW_S)
        return await super().run_echo(call, arguments)


async def test_the_call_that_does_not_end_is_cancelled_before_one_that_was_slow_once() -> None:
    rule = "cancellation:received:unanswered"
    report = await examined(EchoesSlowly, PER_REQUEST, rule, areas={"cancellation"})
    assert outcome(report, rule).verdict == "failed"


class AsksNobody(ReferenceServer):
    """Asks the client nothing."""

    async def run_ask_user(self, call: ReferenceCall, arguments: Json) -> Json:
        return {"content": [{"type": "text", "text": "Nobody"}]}

    run_ask_model = run_ask_roots = run_ask_user


async def test_a_server_that_asks_nothing_is_not_judged_by_its_questions() -> None:
    rule = "cancellation:sent:late-answer"
    late = outcome(await examined(AsksNobody, HANDSHAKE, rule, areas={"cancellation"}), rule)
    why = "the server has cancelled no request of its own"
    assert (late.verdict, late.why) == ("not tested", why)


class AsksOnce(ReferenceServer):
    """Asks its user on its first connection, and nothing on later ones."""

    has_asked = False

    async def run_ask_user(self, call: ReferenceCall, arguments: Json) -> Json:
        if type(self).has_asked:
            return {"content": [{"type": "text", "text": "Known"}]}
        type(self).has_asked = True
        return await super().run_ask_user(call, arguments)


async def test_a_server_that_asks_once_is_not_judged_by_what_it_asks_no_more() -> None:
    rule = "cancellation:sent:late-answer"
    late = outcome(await examined(AsksOnce, HANDSHAKE, rule, areas={"cancellation"}), rule)
    why = "the server has cancelled no request of its own"
    assert (late.verdict, late.why) == ("not tested", why)


async def test_a_task_of_the_reference_server_fails_where_its_tool_tells_of_an_error() -> None:
    async with Client("near", "1.0.0") as client:
        server = DuplexServing(ReferenceServer(HANDSHAKE))
        session = await client.connect(server, revision=HANDSHAKE)
        task = await session.start_tool("slow_failing", {"how": "tool"})
        result = await task.result()
        assert result.is_error
        assert task.status == "failed"


# --- clients ---


class ListsAndGivesUp(ClientScript):
    """Lists the tools again after a call that is refused for its headers, and calls no more."""

    async def call(self, tool: Json, token: Any) -> None:
        if tool["name"] == "echo":
            reply = await self.ask("call_tool", {"name": "echo", "arguments": {"text": "hello"}})
            if reply.code == self.profile.errors.header_mismatch:
                await self.ask("list_tools", {})
                raise ScriptFailure("the call was refused")
        await super().call(tool, token)


async def test_a_client_that_lists_the_tools_again_and_does_not_call_is_told() -> None:
    rule = "http:client:param-headers:again"
    report = await examined_client(ListsAndGivesUp, (PER_REQUEST,), "http", only=[rule])
    assert [one.came for one in outcome(report, rule).findings] == ["the call was not made again"]
