"""With `mask_errors` clients read an id in place of a failure, and the log has both."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, cast

import pytest
from msgspec import Struct

import mcp_wire
from mcp_gen import (
    Client,
    ClientSession,
    Context,
    Depends,
    McpError,
    McpGenError,
    RequestTimeout,
    ResourceNotFound,
    Server,
    ToolError,
    TransportError,
    UsageError,
    text_of,
)
from mcp_gen.core.errors import InvalidParams, ProjectionError
from mcp_gen.types import (
    CompletionArgument,
    PromptReference,
)
from tests.server.tasks.raw_client import conversing
from tests.support.peers.raw import talking

SECRET = "/srv/s3cret"
MASKED = re.compile(r"internal error ([0-9a-f]{12}); the log of the server says more")

FAILURES: dict[str, Callable[[], BaseException]] = {
    "an exception": lambda: ValueError(SECRET),
    "an exception without a text": lambda: type(f"Secret{SECRET}", (Exception,), {})(),
    "an error of a call": lambda: UsageError(SECRET),
    "an error of another server's transport": lambda: TransportError(SECRET),
    "an error of this library": lambda: ProjectionError(SECRET),
    "a group": lambda: ExceptionGroup(SECRET, [ValueError(SECRET), KeyError(SECRET)]),
    "the end of the process": lambda: SystemExit(SECRET),
}
FOR_CLIENTS: dict[str, Callable[[], BaseException]] = {
    "McpError": lambda: McpError(-7, SECRET),
    "a group of one": lambda: ExceptionGroup("", [McpError(-7, SECRET)]),
    "a group with a failure": lambda: ExceptionGroup("", [ValueError("own"), ToolError(SECRET)]),
    "ProtocolError": lambda: InvalidParams(SECRET),
    "ToolError": lambda: ToolError(SECRET),
    "ResourceNotFound": lambda: ResourceNotFound(SECRET),
    "RequestTimeout": lambda: RequestTimeout(SECRET),
}


class Nothing(Struct):
    """No params."""


Raise = Callable[[], BaseException]
Ask = Callable[[ClientSession], Awaitable[Any]]
Plants = Callable[[Server, Raise], Ask]


async def call(session: ClientSession) -> Any:
    """Call the tool."""
    return await session.call_tool("work")


def in_a_tool(server: Server, made: Raise) -> Ask:
    @server.tool
    async def work() -> str:
        raise made()

    return call


def in_a_tool_in_a_thread(server: Server, made: Raise) -> Ask:
    @server.tool
    def work() -> str:
        raise made()

    return call


def in_a_dependency(server: Server, made: Raise) -> Ask:
    async def given() -> str:
        raise made()

    async def work(value: str) -> str:
        return value

    # Names of a function's own scope are not found in annotations.
    work.__annotations__["value"] = Annotated[str, Depends(given)]
    server.add_tool(work)
    return call


def in_a_resource(server: Server, made: Raise) -> Ask:
    @server.resource("note://work")
    async def work() -> str:
        raise made()

    return lambda session: session.read_resource("note://work")


def in_a_template(server: Server, made: Raise) -> Ask:
    @server.resource("note://{name}")
    async def work(name: str) -> str:
        raise made()

    return lambda session: session.read_resource("note://work")


def in_a_prompt(server: Server, made: Raise) -> Ask:
    @server.prompt
    async def work() -> str:
        raise made()

    return lambda session: session.get_prompt("work")


def in_a_completion(server: Server, made: Raise) -> Ask:
    @server.prompt
    async def work(name: str) -> str:
        return name

    @server.completion("work", "name")
    async def names(value: str) -> list[str]:
        raise made()

    argument = CompletionArgument(name="name", value="")
    return lambda session: session.complete(PromptReference(name="work"), argument)


def in_a_hook(server: Server, made: Raise) -> Ask:
    in_a_tool(server, made)

    @server.hooks.before_call_tool
    async def before(ctx: Context, params: Any) -> None:
        raise made()

    return call


def in_an_after_hook(server: Server, made: Raise) -> Ask:
    @server.tool
    async def work() -> str:
        return ""

    @server.hooks.after_call_tool
    async def after(ctx: Context, params: Any, result: Any) -> None:
        raise made()

    return call


def in_middleware(server: Server, made: Raise) -> Ask:
    in_a_tool(server, made)

    @server.middleware
    async def around(ctx: Context, method: str, params: Any, call_next: Any) -> Any:
        if method == "tools/call":
            raise made()
        return await call_next(params)

    return call


PLACES: tuple[Plants, ...] = (
    in_a_tool,
    in_a_tool_in_a_thread,
    in_a_dependency,
    in_a_resource,
    in_a_template,
    in_a_prompt,
    in_a_completion,
    in_a_hook,
    in_an_after_hook,
    in_middleware,
)
"""Places of a server of which each can fail."""


async def shown(server: Server, ask: Ask) -> str:
    """Return all that a client reads of an answer that is an error."""
    async with Client("test") as client:
        session = await client.connect(server)
        try:
            result = await ask(session)
        except McpError as error:
            return f"{error.message} {error.data}"
        assert result.is_error
        return f"{text_of(result)} {result}"


def check_masked(read: str, log: str) -> None:
    """Check that a client read an id alone, and that the log has the id and the failure."""
    found = MASKED.search(read)
    assert found is not None, read
    assert SECRET not in read
    assert "ValueError" not in read
    assert found[1] in log
    assert SECRET in log


class TestMasked:
    """A server that masks errors."""

    @pytest.mark.parametrize("made", FAILURES.values(), ids=FAILURES)
    @pytest.mark.parametrize("plants", PLACES)
    async def test_a_failure_is_an_id(
        self, plants: Plants, made: Raise, caplog: pytest.LogCaptureFixture
    ) -> None:
        server = Server("masks", mask_errors=True)
        check_masked(await shown(server, plants(server, made)), caplog.text)

    @pytest.mark.parametrize("made", FOR_CLIENTS.values(), ids=FOR_CLIENTS)
    @pytest.mark.parametrize("plants", PLACES)
    async def test_an_error_for_clients_is_sent(self, plants: Plants, made: Raise) -> None:
        server = Server("masks", mask_errors=True)
        read = await shown(server, plants(server, made))
        assert MASKED.search(read) is None
        assert "own" not in read
        assert SECRET in read or "resource not found: note://work" in read

    @pytest.mark.parametrize("made", FAILURES.values(), ids=FAILURES)
    async def test_a_failure_of_a_custom_method_is_an_id(
        self, made: Raise, caplog: pytest.LogCaptureFixture
    ) -> None:
        server = Server("masks", mask_errors=True)

        @server.method("acme/work", params=Nothing, result=Nothing)
        async def work(ctx: Context, params: Nothing) -> Nothing:
            raise made()

        async with talking(server, mcp_wire.LATEST, custom=True) as client:
            answer = await client.ask(client.speaker.request(1, "acme/work"))
        check_masked(str(answer), caplog.text)

    async def test_each_failure_has_its_own_id(self) -> None:
        server = Server("masks", mask_errors=True)
        ask = in_a_tool(server, lambda: ValueError(SECRET))
        assert await shown(server, ask) != await shown(server, ask)

    async def test_a_result_that_does_not_fit_is_an_id(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        server = Server("masks", mask_errors=True)

        @server.tool
        async def work() -> int:
            return cast("int", SECRET)

        check_masked(await shown(server, call), f"{caplog.text} {SECRET}")

    async def test_wrong_arguments_are_told(self) -> None:
        server = Server("masks", mask_errors=True)

        @server.tool
        async def work(count: int) -> int:
            return count

        read = await shown(server, lambda session: session.call_tool("work", {"count": "a"}))
        assert "Expected `int`" in read

    @pytest.mark.parametrize("plants", PLACES)
    async def test_so_is_one_of_a_mounted_server(
        self, plants: Plants, caplog: pytest.LogCaptureFixture
    ) -> None:
        inner, outer = Server("inner"), Server("outer", mask_errors=True)
        ask = plants(inner, lambda: TransportError(SECRET))
        outer.mount(None, inner)
        check_masked(await shown(outer, ask), caplog.text)

    @pytest.mark.parametrize("plants", PLACES)
    async def test_so_is_one_of_a_server_in_a_mounted_server(
        self, plants: Plants, caplog: pytest.LogCaptureFixture
    ) -> None:
        inner, middle, outer = Server("a"), Server("b"), Server("c", mask_errors=True)
        ask = plants(inner, lambda: TransportError(SECRET))
        middle.mount(None, inner)
        outer.mount(None, middle)
        check_masked(await shown(outer, ask), caplog.text)

    @pytest.mark.parametrize("plants", PLACES)
    async def test_so_is_one_of_a_mounted_server_that_masks_itself(
        self, plants: Plants, caplog: pytest.LogCaptureFixture
    ) -> None:
        inner, outer = Server("inner", mask_errors=True), Server("outer")
        ask = plants(inner, lambda: TransportError(SECRET))
        outer.mount(None, inner)
        check_masked(await shown(outer, ask), caplog.text)

    async def test_so_is_a_remote_server_that_cannot_be_reached(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        remote, outer = Server("remote"), Server("outer", mask_errors=True)
        ask = in_a_resource(remote, lambda: ValueError(SECRET))
        async with Client("gateway") as client:
            session = await client.connect(remote)
            outer.mount("s3cret-mount", session)
            await session.aclose()
            read = await shown(outer, ask)
        found = MASKED.fullmatch(read.removesuffix(" None"))
        assert found is not None, read
        assert f"error {found[1]}" in caplog.text
        assert "s3cret-mount" in caplog.text

    @pytest.mark.parametrize("made", FAILURES.values(), ids=FAILURES)
    async def test_a_task_that_fails_has_an_id(
        self, made: Raise, caplog: pytest.LogCaptureFixture
    ) -> None:
        server = Server("masks", mask_errors=True)

        @server.tool(task="required")
        async def work() -> str:
            raise made()

        async with conversing(server) as client:
            id = await client.make("work")
            result = await client.ask("tasks/result", taskId=id)
            task = await client.ask("tasks/get", taskId=id)
        check_masked(str(result), caplog.text)
        check_masked(str(task), caplog.text)

    async def test_a_task_of_a_mounted_server_that_fails_has_an_id(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        inner, outer = Server("inner"), Server("outer", mask_errors=True)

        @inner.tool(task="required")
        async def work() -> str:
            raise ValueError(SECRET)

        outer.mount(None, inner)
        async with conversing(outer) as client:
            id = await client.make("work")
            result = await client.ask("tasks/result", taskId=id)
        check_masked(str(result), caplog.text)

    async def test_a_task_that_is_cancelled_elsewhere_has_an_id(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        server = Server("masks", mask_errors=True)

        @server.tool(task="required")
        async def work() -> str:
            raise asyncio.CancelledError(SECRET)

        async with conversing(server) as client:
            id = await client.make("work")
            result = await client.ask("tasks/result", taskId=id)
            task = await client.ask("tasks/get", taskId=id)
        check_masked(str(result), caplog.text)
        check_masked(str(task), caplog.text)


class TestWithoutMask:
    """Texts that a server without `mask_errors` sends, as docs/failures.md says."""

    @pytest.mark.parametrize("plants", [in_a_tool, in_a_tool_in_a_thread, in_a_dependency])
    async def test_the_text_of_a_tools_exception_is_sent(self, plants: Plants) -> None:
        server = Server("tells")
        assert SECRET in await shown(server, plants(server, lambda: ValueError(SECRET)))

    @pytest.mark.parametrize("plants", [one for one in PLACES if one not in PLACES[:3]])
    async def test_nothing_is_sent_of_another_exception(self, plants: Plants) -> None:
        server = Server("tells")
        read = await shown(server, plants(server, lambda: ValueError(SECRET)))
        assert read == "internal error None"

    @pytest.mark.parametrize("plants", PLACES)
    async def test_the_text_of_an_error_of_this_library_is_sent(self, plants: Plants) -> None:
        server = Server("tells")
        error: McpGenError = TransportError(SECRET)
        assert SECRET in await shown(server, plants(server, lambda: error))
