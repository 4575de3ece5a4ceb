"""Retry repeats reads, and tools only where that is asked for and safe."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import mcp_wire
from mcp_gen import (
    Client,
    HttpError,
    McpError,
    MessageTooLarge,
    RequestTimeout,
    Retry,
    Server,
    UsageError,
)
from mcp_gen.types import ToolAnnotations
from tests.client.using import using
from tests.support.frames import ALL, every_revision

HINTED = [one for one in ALL if hasattr(mcp_wire.types(one), "ToolAnnotations")]


def tools() -> Server:
    server = Server("tools")

    @server.tool(annotations=ToolAnnotations(idempotent_hint=True))
    async def safe() -> str:
        return "done"

    @server.tool
    async def unsafe() -> str:
        return "done"

    return server


class Failing:
    """Middleware that raises instead of sending a method, the first times."""

    def __init__(self, method: str, error: BaseException, times: int) -> None:
        self._method, self._error, self._times = method, error, times
        self.sent = 0

    async def __call__(self, session: Any, method: str, params: Any, call_next: Any) -> Any:
        if session is None or method != self._method:
            return await call_next(params)
        self.sent += 1
        if self.sent <= self._times:
            raise self._error
        return await call_next(params)


def client_with(failing: Failing, **options: Any) -> Client:
    client = Client("test")
    client.add_sending_middleware(Retry(first_delay_s=0, **options))
    client.add_sending_middleware(failing)
    return client


@every_revision
async def test_a_read_is_repeated_until_it_succeeds(revision: str) -> None:
    failing = Failing("tools/list", RequestTimeout("slow"), 2)
    async with using(client_with(failing), tools(), revision) as session:
        assert len((await session.list_tools()).tools) == 2
    assert failing.sent == 3


async def test_a_read_is_sent_no_more_often_than_allowed() -> None:
    failing = Failing("tools/list", RequestTimeout("slow"), 9)
    async with using(client_with(failing, attempts=4), tools(), None) as session:
        with pytest.raises(RequestTimeout):
            await session.list_tools()
    assert failing.sent == 4


@pytest.mark.parametrize(
    ("error", "sent"),
    [
        (HttpError("busy", 429), 2),
        (HttpError("down", 503), 2),
        (HttpError("no", 403), 1),
        (MessageTooLarge("large"), 1),
        (McpError(-32000, "no"), 1),
        (asyncio.CancelledError(), 1),
    ],
)
async def test_only_errors_that_may_pass_are_repeated(error: BaseException, sent: int) -> None:
    failing = Failing("tools/list", error, 1)
    async with using(client_with(failing), tools(), None) as session:
        await asyncio.gather(session.list_tools(), return_exceptions=True)
    assert failing.sent == sent


@pytest.mark.parametrize("revision", HINTED)
@pytest.mark.parametrize(
    ("opted_in", "name", "sent"), [(True, "safe", 2), (True, "unsafe", 1), (False, "safe", 1)]
)
async def test_a_tool_is_called_again_only_if_opted_in_and_idempotent(
    revision: str, opted_in: bool, name: str, sent: int
) -> None:
    failing = Failing("tools/call", RequestTimeout("slow"), 1)
    async with using(client_with(failing, tools=opted_in), tools(), revision) as session:
        await asyncio.gather(session.call_tool(name), return_exceptions=True)
    assert failing.sent == sent


@pytest.mark.parametrize("options", [{"attempts": 0}, {"first_delay_s": -1}, {"max_delay_s": -1}])
def test_limits_that_are_none_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="Retry"):
        Retry(**options)
