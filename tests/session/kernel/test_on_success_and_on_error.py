"""Each started request ends in exactly one of `on_success` and `on_error`, however it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

import mcp_wire
from mcp_gen import Context, McpError, Server, ToolError
from tests.support.frames import every_revision
from tests.support.peers.raw import WAIT_S, talking


class Unusual(BaseException):
    """Exception that `except Exception` does not catch."""


class Heard:
    """Server whose hooks record all that they receive of `tools/call`."""

    def __init__(self, *, later: bool = False) -> None:
        self.server = Server("heard")
        self.said: list[str] = []
        self.ended = asyncio.Event()
        self.began = asyncio.Event()
        self.later = later

        @self.server.tool
        async def add(a: int, b: int) -> int:
            self.said.append("tool")
            return a + b

        @self.server.tool
        async def wait() -> None:
            self.said.append("tool")
            self.began.set()
            await asyncio.Event().wait()

    @property
    def hooks(self) -> Any:
        return self.server.hooks

    def fails(self, error: BaseException) -> None:
        @self.server.tool
        async def fail() -> None:
            self.said.append("tool")
            raise error

    def listen(self, kinds: str, label: str = "") -> Heard:
        """Add hooks of these kinds, all sync or all coroutines; call it last."""
        for kind in kinds.split():
            getattr(self.hooks, kind)(self._says(kind + label))
        return self

    def _says(self, what: str) -> Callable[..., Any]:
        def told(ctx: Context, *rest: Any) -> None:
            if rest[0] in ("initialize", "tools/list"):
                return
            self.said.append(what)
            if what in ("on_success", "on_error"):
                self.ended.set()

        async def told_later(*arguments: Any) -> None:
            await asyncio.sleep(0)
            told(*arguments)

        return told_later if self.later else told

    async def after(self, revision: str, tool: str = "add") -> tuple[Any, list[str]]:
        """Return the response to one call, and the records of it."""
        arguments = {"a": 1, "b": 2} if tool == "add" else {}
        async with talking(self.server, revision) as client:
            answer = await client.ask(client.speaker.call(1, tool, **arguments))
            assert "result" in await client.ask(client.speaker.request(2, "tools/list"))
        return answer, self.said


EVERY = "before_any before_call_tool after_call_tool error_call_tool on_success on_error"
BEGINS = ["before_any", "before_call_tool", "tool"]
SUCCEEDS = [*BEGINS, "after_call_tool", "on_success"]
FAILS = [*BEGINS, "error_call_tool", "on_error"]

either = pytest.mark.parametrize("later", [False, True], ids=["sync", "async"])


@every_revision
@either
async def test_a_result_is_a_success(revision: str, later: bool) -> None:
    answer, said = await Heard(later=later).listen(EVERY).after(revision)
    assert "result" in answer
    assert said == SUCCEEDS


@every_revision
@either
@pytest.mark.parametrize("error", [ToolError("no"), ValueError("no"), SystemExit(3)], ids=repr)
async def test_a_result_that_says_that_the_tool_failed_is_a_success(
    revision: str, later: bool, error: BaseException
) -> None:
    heard = Heard(later=later)
    heard.fails(error)
    answer, said = await heard.listen(EVERY).after(revision, "fail")
    assert answer["result"]["isError"] is True
    assert said == SUCCEEDS


@every_revision
@either
@pytest.mark.parametrize(
    "error",
    [McpError(-31000, "no"), Unusual(), GeneratorExit(), asyncio.CancelledError()],
    ids=repr,
)
async def test_a_handler_that_raises_is_an_error(
    revision: str, later: bool, error: BaseException
) -> None:
    heard = Heard(later=later)
    heard.fails(error)
    answer, said = await heard.listen(EVERY).after(revision, "fail")
    assert "error" in answer
    assert said == FAILS


@every_revision
@either
@pytest.mark.parametrize(
    "error", [McpError(-31000, "no"), ValueError("no"), SystemExit(3)], ids=repr
)
@pytest.mark.parametrize("place", ["before_any", "before_call_tool", "after_call_tool"])
async def test_a_hook_that_raises_is_an_error_wherever_it_stands(
    revision: str, later: bool, error: BaseException, place: str
) -> None:
    heard = Heard(later=later)

    def veto(ctx: Context, *rest: Any) -> None:
        if rest[0] not in ("initialize", "tools/list"):
            raise error

    heard.listen(EVERY)
    getattr(heard.hooks, place)(veto)
    answer, said = await heard.after(revision)
    assert "error" in answer
    assert said == [*SUCCEEDS[: SUCCEEDS.index(place) + 1], "error_call_tool", "on_error"]


@every_revision
@either
async def test_a_cancellation_is_an_error(revision: str, later: bool) -> None:
    heard = Heard(later=later).listen(EVERY)
    async with talking(heard.server, revision) as client:
        client.send(client.speaker.call(1, "wait"))
        await asyncio.wait_for(heard.began.wait(), WAIT_S)
        client.send(client.speaker.cancel(1))
        await asyncio.wait_for(heard.ended.wait(), WAIT_S)
    assert heard.said == FAILS


@every_revision
@either
async def test_hooks_of_one_kind_run_in_the_order_in_which_they_were_added(
    revision: str, later: bool
) -> None:
    heard = Heard(later=later)
    for label in " 1", " 2", " 3":
        heard.listen(EVERY, label)
    _, said = await heard.after(revision)
    assert said == [
        *(f"{kind} {n}" for kind in BEGINS[:2] for n in (1, 2, 3)),
        "tool",
        *(f"{kind} {n}" for kind in SUCCEEDS[3:] for n in (1, 2, 3)),
    ]


@every_revision
async def test_every_error_hook_runs_even_if_one_of_them_fails(revision: str) -> None:
    heard = Heard()
    heard.fails(McpError(-31000, "no"))
    heard.hooks.error_call_tool(lambda *_: [][0])
    heard.hooks.on_error(lambda *_: [][0])
    answer, said = await heard.listen(EVERY).after(revision, "fail")
    assert (answer["error"]["code"], said) == (-31000, FAILS)


@every_revision
async def test_a_success_hook_that_fails_changes_nothing(
    revision: str, caplog: pytest.LogCaptureFixture
) -> None:
    heard = Heard()
    heard.hooks.on_success(lambda *_: [][0])
    answer, said = await heard.listen(EVERY).after(revision)
    assert "result" in answer
    assert said == SUCCEEDS
    assert "a hook failed" in caplog.text


@every_revision
@either
async def test_what_hooks_replace_is_what_everything_behind_them_sees(
    revision: str, later: bool
) -> None:
    server = Server("replaces")
    types = mcp_wire.types(revision)
    seen: list[Any] = []

    def hook(change: Callable[..., Any]) -> Callable[..., Any]:
        async def changes_later(*arguments: Any) -> Any:
            await asyncio.sleep(0)
            return change(*arguments)

        return changes_later if later else change

    def more(ctx: Context, method: str, params: Any) -> Any:
        if method != "tools/call":
            return None
        return msgspec.structs.replace(params, arguments={"text": params.arguments["text"] + "b"})

    def yet_more(ctx: Context, params: Any) -> Any:
        return msgspec.structs.replace(params, arguments={"text": params.arguments["text"] + "c"})

    def result(ctx: Context, params: Any, result: Any) -> Any:
        block = types.TextContent(text=result.content[0].text + "d")
        return types.CallToolResult(content=[block])

    def see(ctx: Context, method: str, params: Any, result: Any) -> None:
        if method == "tools/call":
            seen.append((params.arguments, result.content[0].text))

    @server.tool
    async def echo(text: str) -> str:
        return text

    server.hooks.before_any(hook(more))
    server.hooks.before_call_tool(hook(yet_more))
    server.hooks.after_call_tool(hook(result))
    server.hooks.on_success(hook(see))
    async with talking(server, revision) as client:
        answer = await client.ask(client.speaker.call(1, "echo", text="a"))
    assert answer["result"]["content"][0]["text"] == "abcd"
    assert seen == [({"text": "abc"}, "abcd")]
