"""Results of after hooks are checked before anything else sees them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

import mcp_wire
from mcp_gen import Context, Server, UsageError
from mcp_gen.core import envelope
from mcp_wire import latest
from mcp_wire.hook_machinery import HookSet
from mcp_wire.method import Method
from tests.session.kernel.test_every_hook import each, listen, open_client, pair, params_of
from tests.support.frames import every_revision
from tests.support.peers.connect import Connect
from tests.support.peers.minimal_peers import Everything, minimal_params, request_names, rows
from tests.support.peers.raw import WAIT_S, talking

INTERNAL = {"code": -32603, "message": "internal error"}
REFUSED = ["before_any", "before", "handler", "after", "error", "on_error"]
either = pytest.mark.parametrize("later", [False, True], ids=["sync", "async"])


def returns(hooks: HookSet, wire: str, result: Any, *, later: bool = False) -> list[BaseException]:
    """Add an after hook that returns this result; return the errors that the error hooks get."""

    def wrong_hook(ctx: Any, params: Any, given: Any) -> Any:
        return result

    async def wrong_hook_later(ctx: Any, params: Any, given: Any) -> Any:
        return result

    errors: list[BaseException] = []
    getattr(hooks, f"after_{request_names(hooks)[wire]}")(wrong_hook_later if later else wrong_hook)
    hooks.on_error(lambda ctx, method, params, error: errors.append(error))
    return errors


def check(errors: list[BaseException], method: Method[Any, Any], got: str) -> None:
    """Check that one error names the hook, the method, what was expected and what came."""
    (error,) = errors
    assert type(error) is UsageError
    text = str(error)
    assert text.startswith(f"{method.name}: the after hook {__name__}.returns.<locals>.wrong_hook")
    expected = " or ".join(kind.__name__ for kind in method.results)
    assert f" returned {got}; expected {expected}" in text
    assert text.endswith(", or None to keep the result")


@each("request", "server")
@either
async def test_a_server_refuses_what_is_no_result_and_calls_it_no_success(
    revision: str, method: Method[Any, Any], later: bool
) -> None:
    server = Everything(revision)
    listen(server.hooks, method.name, server.said)
    errors = returns(server.hooks, method.name, "secret", later=later)
    async with talking(server, revision, opened=method.name != "initialize") as client:
        server.said.clear()
        params = minimal_params(revision, method)
        answer = await client.ask(client.speaker.request(1, method.name, params))
    assert answer["error"] == INTERNAL
    assert server.said == REFUSED
    check(errors, method, "str")
    assert "secret" not in str(errors)


@each("request", "server")
async def test_a_server_refuses_the_result_of_another_request(
    revision: str, method: Method[Any, Any]
) -> None:
    server = Everything(revision)
    listen(server.hooks, method.name, server.said)
    types = mcp_wire.types(revision)
    errors = returns(server.hooks, method.name, types.ListRootsResult(roots=[]))
    async with talking(server, revision, opened=method.name != "initialize") as client:
        server.said.clear()
        params = minimal_params(revision, method)
        answer = await client.ask(client.speaker.request(1, method.name, params))
    assert answer["error"] == INTERNAL
    assert server.said == REFUSED
    check(errors, method, "ListRootsResult")


@each("request", "client")
@either
async def test_a_client_refuses_what_is_no_result_and_calls_it_no_success(
    revision: str, method: Method[Any, Any], later: bool
) -> None:
    async with open_client(revision) as client:
        listen(client.hooks, method.name, client.said)
        errors = returns(client.hooks, method.name, 5, later=later)
        answer = await client.ask(method.name, minimal_params(revision, method))
    assert envelope.read_error(answer.error).message == INTERNAL["message"]
    assert client.said == REFUSED
    check(errors, method, "int")


@pytest.mark.parametrize(("asked", "asks"), [("server", "client"), ("client", "server")])
@every_revision
async def test_the_sender_of_a_request_gets_the_error_of_its_own_hook(
    revision: str, asked: str, asks: str
) -> None:
    for method in rows(revision, kind="request", to=asked):
        async with pair(revision, opened=method.name != "initialize") as both:
            asking, hooks = both.asking(asks)
            said: list[str] = []
            listen(hooks, method.name, said)
            errors = returns(hooks, method.name, ["no", "result"])
            with pytest.raises(UsageError) as caught:
                await asking.request(method, params_of(revision, method), timeout_s=WAIT_S)
        assert errors == [caught.value]
        check(errors, method, "list")
        assert said == [kind for kind in REFUSED if kind != "handler"], method


@pytest.mark.parametrize("of", mcp_wire.REVISIONS)
@every_revision
async def test_a_hook_on_what_is_sent_may_return_a_result_of_any_revision(
    revision: str, of: str
) -> None:
    method = mcp_wire.profile(revision).methods["tools/call"]
    other = mcp_wire.types(of)
    async with pair(revision) as both:
        asking, hooks = both.asking("client")
        content = [other.TextContent(text="other")]
        assert not returns(hooks, method.name, other.CallToolResult(content=content))
        result = await asking.request(method, params_of(revision, method), timeout_s=WAIT_S)
    own = mcp_wire.types(revision)
    assert result == own.CallToolResult(content=[own.TextContent(text="other")])


# --- through a whole server ---


def tidy_server() -> Server:
    """Return a server whose after hook returns what the call asks for, and that says what it heard.

    The tool `heard` returns the labels of the hooks that ran for calls of `echo`.
    """
    server = Server("tidy")
    heard: list[str] = []

    @server.tool
    async def echo(text: str) -> str:
        return text

    @server.tool(name="heard")
    async def tell() -> str:
        return " ".join(heard)

    def wrong(label: str, revision: str) -> Any:
        own, old = mcp_wire.types(revision), mcp_wire.types(mcp_wire.REVISIONS[0])
        given: dict[str, Callable[[], Any]] = {
            "text": lambda: "secret",
            "number": lambda: 0,
            "false": lambda: False,
            "empty": dict,
            "class": lambda: latest.CallToolResult,
            "other": lambda: latest.ListToolsResult(tools=[], ttl_ms=0, cache_scope="private"),
            "other-own": lambda: own.EmptyResult(),
            "field": lambda: latest.CallToolResult(content="secret"),  # type: ignore[arg-type]
            "item": lambda: latest.CallToolResult(content=["secret"]),  # type: ignore[list-item]
            "deep": lambda: own.CallToolResult(content=[own.TextContent(text=5)]),
            "unsendable": lambda: own.CallToolResult(content=[], meta={"a": object()}),
            "nothing": lambda: None,
            "newest": lambda: latest.CallToolResult(content=[latest.TextContent(text="new")]),
            "oldest": lambda: old.CallToolResult(content=[old.TextContent(text="old")]),
        }
        return given[label]()

    @server.hooks.after_call_tool
    def change(ctx: Context, params: Any, result: Any) -> Any:
        if params.name == "echo":
            heard.append("first")
            return wrong(params.arguments["text"], ctx.revision)
        return None

    @server.hooks.after_call_tool
    def second(ctx: Context, params: Any, result: Any) -> None:
        if params.name == "echo":
            heard.append("second")

    @server.hooks.on_success
    def succeeded(ctx: Context, method: str, params: Any, result: Any) -> None:
        if method == "tools/call" and params.name == "echo":
            heard.append("success")

    @server.hooks.on_error
    def failed(ctx: Context, method: str, params: Any, error: BaseException) -> None:
        heard.append(f"error:{type(error).__name__}")

    return server


WRONG = ("text", "number", "false", "empty", "class", "other", "other-own")
WRONG_INSIDE = ("field", "item", "deep", "unsendable")


@pytest.mark.parametrize("label", WRONG + WRONG_INSIDE)
async def test_a_wrong_result_is_an_internal_error_over_every_transport(
    connect: Connect, label: str
) -> None:
    async with connect(tidy_server) as client:
        refused = await client.refusal("tools/call", {"name": "echo", "arguments": {"text": label}})
        assert refused.error == INTERNAL
        assert await client.text("heard") == "first error:UsageError"


@pytest.mark.parametrize(
    ("label", "text"), [("nothing", "nothing"), ("newest", "new"), ("oldest", "old")]
)
async def test_a_right_result_of_any_revision_is_sent_at_that_of_the_client(
    connect: Connect, label: str, text: str
) -> None:
    async with connect(tidy_server) as client:
        assert await client.text("echo", text=label) == text
        assert await client.text("heard") == "first second success"


@pytest.mark.parametrize(
    ("label", "said"),
    [
        ("field", "Expected `array`, got `str` - at `$.content`"),
        ("item", "Expected `object`, got `str` - at `$.content[0]`"),
        ("deep", "Expected `str`, got `int` - at `$.content[0].text`"),
    ],
)
@every_revision
async def test_the_log_says_which_field_is_wrong_and_the_peer_learns_nothing(
    revision: str, label: str, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with talking(tidy_server(), revision) as client:
        with caplog.at_level(logging.ERROR):
            answer = await client.ask(client.speaker.call(1, "echo", text=label))
    assert answer["error"] == INTERNAL
    assert f"change returned CallToolResult that is not valid ({said}); expected" in caplog.text


@every_revision
async def test_a_handler_of_an_own_method_that_returns_no_object_is_no_success(
    revision: str,
) -> None:
    server = Server("own")
    said: list[str] = []

    @server.method("acme/list", params=dict[str, Any], result=list[int])
    async def numbers(ctx: Context, params: dict[str, Any]) -> list[int]:
        return [1]

    server.hooks.on_success(lambda ctx, method, *_: said.append(f"success {method}"))
    server.hooks.on_error(lambda ctx, method, *_: said.append(f"error {method}"))
    async with talking(server, revision) as client:
        said.clear()
        answer = await client.ask(client.speaker.request(1, "acme/list"))
    assert answer["error"] == INTERNAL
    assert said == ["error acme/list"]
