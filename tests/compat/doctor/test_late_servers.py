"""Answers that are late on a busy machine, or cross something on their way, are no findings."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mcp_gen.compat.checks.trial import ToolCall
from mcp_gen.compat.doctor.server_examination import examine_server
from mcp_gen.compat.json_values import Json
from mcp_gen.compat.reference.call import ReferenceCall
from mcp_gen.compat.reference.server import ReferenceServer
from mcp_gen.compat.reference.serving import DuplexServing
from mcp_gen.compat.report.model import Outcome
from mcp_gen.compat.wire.openers import MemoryOpener
from tests.support.frames import HANDSHAKE

UNANSWERED = "cancellation:received:unanswered"
TIMEOUT_S = 0.3
TAKES_S = 0.25
DONE: Json = {"content": [{"type": "text", "text": "done"}]}


class Crossing(ReferenceServer):
    """Answers a call that is being cancelled, as if the answer had been on its way before."""

    calls_made = 0
    """Number of calls until now, on all connections."""
    open_call: ReferenceCall | None = None

    async def run_wait(self, call: ReferenceCall, arguments: Json) -> Json:
        type(self).calls_made += 1
        self.open_call = call
        await self.work(call, arguments)
        return DONE

    async def work(self, call: ReferenceCall, arguments: Json) -> None:
        await asyncio.sleep(TAKES_S)

    def crosses(self) -> bool:
        return True

    def cancel(self, id: Any) -> None:
        super().cancel(id)
        if self.open_call is not None and self.crosses():
            self.open_call.outlet(self.result_frame(self.open_call, DONE))


class SlowOnce(Crossing):
    """Takes too long for its first call; the second crosses its cancellation, and others end."""

    async def work(self, call: ReferenceCall, arguments: Json) -> None:
        if self.calls_made == 1:
            await asyncio.get_running_loop().create_future()
        await asyncio.sleep(TAKES_S)

    def crosses(self) -> bool:
        return self.calls_made == 2


class AsksForItself(Crossing):
    """Asks for the roots during its second call, which has nothing to do with it."""

    async def work(self, call: ReferenceCall, arguments: Json) -> None:
        if self.calls_made > 1:
            asking = self.ask(self.question_frame("list_roots", {}))
            self.asking = asyncio.ensure_future(asking)
        await asyncio.sleep(TAKES_S)


async def outcome_of(peer: type[ReferenceServer]) -> Outcome:
    own: type[ReferenceServer] = type(peer.__name__, (peer,), {})
    opens = MemoryOpener(lambda spoken: DuplexServing(own(HANDSHAKE)))
    report = await examine_server(
        opens,
        target=peer.__name__,
        transport="memory",
        revisions=(HANDSHAKE,),
        calls=(ToolCall("wait", {}),),
        areas=("cancellation",),
        timeout_s=TIMEOUT_S,
    )
    await opens.aclose()
    return next(one for one in report.outcomes if one.requirement == UNANSWERED)


@pytest.mark.parametrize("peer", [Crossing, SlowOnce, AsksForItself])
async def test_an_answer_that_crosses_its_cancellation_is_no_finding(
    peer: type[ReferenceServer],
) -> None:
    outcome = await outcome_of(peer)
    assert (outcome.verdict, outcome.findings) == ("not tested", ())
