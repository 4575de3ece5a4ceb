"""Mistakes that readers of the guides for clients made, who knew another SDK."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from functools import partial
from typing import Any

from pydantic import AnyUrl

import mcp_gen
import mcp_wire
from mcp_gen import Client, ClientManager, UsageError
from mcp_gen.types import Tool
from tests.everyday.mistakes.mistake import Mistake, add, server

__all__ = ["MISTAKES"]

client: Any = Client
manager: Any = ClientManager
package: Any = mcp_gen
wire: Any = mcp_wire
URL = "http://127.0.0.1:9/mcp"


def seen(
    name: str,
    do: Callable[[], Any],
    message: str,
    error: type[BaseException] = UsageError,
) -> Mistake:
    """Return a row for a mistake that a reader made."""
    return Mistake(name, do, message, error, seen=True)


def with_session(do: Callable[[Any], Awaitable[Any]]) -> Callable[[], Awaitable[None]]:
    """Return a function that does something with a session."""

    async def done() -> None:
        made = server()
        made.add_tool(add)
        async with Client("app") as one:
            await do(await one.connect(made))

    return done


def attribute(name: str) -> Callable[[], Awaitable[None]]:
    """Return a function that uses an attribute of a session."""

    async def used(session: Any) -> None:
        getattr(session, name)

    return with_session(used)


def call(**options: Any) -> Callable[[], Awaitable[None]]:
    """Return a function that calls a tool with options."""
    return with_session(lambda session: session.call_tool("add", {"a": 1, "b": 2}, **options))


def connect(target: Any, **options: Any) -> Callable[[], Awaitable[None]]:
    """Return a function that connects with options."""

    async def connected() -> None:
        async with Client("app") as one:
            await one.connect(target, **options)

    return connected


def anything(value: Any) -> Any:
    """Return a value untyped, as users without a type checker have it."""
    return value


def one_argument(params: Any) -> None:
    """Take one argument, where handlers have two."""


async def managed(do: Callable[[Any], Awaitable[Any]]) -> None:
    made = server()
    made.add_tool(add)
    async with ClientManager({"shop": made}) as one:
        await do(one)


async def watched(session: Any) -> None:
    session.watch(["note://a"])


async def a_listener_of(kind: str) -> None:
    manager({}).on_event(kind)


MISTAKES = [
    seen(
        "initializing a session",
        attribute("initialize"),
        "'ClientSession' object has no attribute 'initialize': leave it out: "
        "`client.connect(target)` returns when it is done",
        AttributeError,
    ),
    seen(
        "a ping by another name",
        attribute("send_ping"),
        ("'ClientSession' object has no attribute 'send_ping': write `await session.ping()`"),
        AttributeError,
    ),
    seen(
        "subscribing to a resource",
        attribute("subscribe_resource"),
        "'ClientSession' object has no attribute 'subscribe_resource': write `async with "
        "session.watch(uri) as changes`",
        AttributeError,
    ),
    seen(
        "setting the log level by another name",
        attribute("set_logging_level"),
        "'ClientSession' object has no attribute 'set_logging_level': write `await "
        'session.set_level("info")`',
        AttributeError,
    ),
    seen(
        "the capabilities of a server",
        attribute("get_server_capabilities"),
        "'ClientSession' object has no attribute 'get_server_capabilities': use "
        "`session.server_capabilities`",
        AttributeError,
    ),
    seen(
        "the protocol version of a session",
        attribute("protocol_version"),
        ("'ClientSession' object has no attribute 'protocol_version': use `session.revision`"),
        AttributeError,
    ),
    seen(
        "a request of one's own by another name",
        attribute("send_request"),
        "'ClientSession' object has no attribute 'send_request': write `await "
        'session.request("acme/search", {...})`',
        AttributeError,
    ),
    seen(
        "closing a session",
        attribute("close"),
        "'ClientSession' object has no attribute 'close': write `await session.aclose()`",
        AttributeError,
    ),
    seen(
        "an attribute of a session that is misspelled",
        attribute("server_inf"),
        ("'ClientSession' object has no attribute 'server_inf': did you mean `server_info`?"),
        AttributeError,
    ),
    seen(
        "a timeout of a call without its unit",
        call(timeout=3),
        "call_tool: no option `timeout`: write `timeout_s=`, in seconds",
    ),
    seen(
        "a timeout of a call by another name",
        call(read_timeout_seconds=3),
        "call_tool: no option `read_timeout_seconds`: write `timeout_s=`, in seconds",
    ),
    seen(
        "a timeout of a call that is no number",
        call(timeout_s=timedelta(seconds=3)),
        "call_tool: timeout_s: expected seconds as a number, such as 30, got timedelta",
    ),
    seen(
        "progress of a call by another name",
        call(progress_callback=print),
        "call_tool: no option `progress_callback`: write `progress=`",
    ),
    seen(
        "arguments of a call as keywords",
        call(city="Oslo"),
        "call_tool: no option `city`; arguments of the tool are one dict: "
        "`call_tool('add', {\"city\": ...})`",
    ),
    seen(
        "a progress callback of one argument",
        call(progress=one_argument),
        "progress: one_argument(params) is called with (progress, total, message): write "
        "`def one_argument(progress, total, message)`, async or not",
    ),
    seen(
        "a progress callback that is a method of a list",
        call(progress=[].append),
        "progress: list.append(object) is called with (progress, total, message): write "
        "a function of (progress, total, message), async or not",
    ),
    seen(
        "a progress callback that is a lambda",
        call(progress=lambda done: None),
        "progress: <lambda>(done) is called with (progress, total, message): write a "
        "function of (progress, total, message), async or not",
    ),
    seen(
        "progress that is no function",
        call(progress=True),
        "progress: expected a function of (progress, total, message), got True",
    ),
    seen(
        "a command that is no target but an option",
        connect("python", command="x"),
        "client.connect: no option `command`: write the command and its arguments as one "
        "list: `client.connect([...])`",
    ),
    seen(
        "a protocol version as an option of connect",
        connect(URL, protocol_version="2025-06-18"),
        "client.connect: no option `protocol_version`: write `revision=`",
    ),
    seen(
        "a token as an option of connect",
        connect(URL, auth="secret"),
        "auth: expected an authorizer of `mcp_gen.auth`, such as `OAuth()`, got str; write "
        "`bearer_token=` for a constant token",
    ),
    seen(
        "the kind of transport as an option of connect",
        connect(URL, transport="sse"),
        ("client.connect: no option `transport`: the kind of transport is found out; leave it out"),
    ),
    seen(
        "a working folder as an option of connect",
        connect("python", cwd="/srv"),
        "client.connect: no option `cwd`: write `CommandTransport([...], cwd=...)` of "
        "`mcp_gen.transports.command`",
    ),
    seen(
        "a timeout of connect that is no number",
        connect(URL, timeout_s=timedelta(seconds=3)),
        ("client.connect: timeout_s: expected seconds as a number, such as 30, got timedelta"),
    ),
    seen(
        "a URL object of pydantic as a URI",
        with_session(lambda session: session.read_resource(AnyUrl("note://a"))),
        "resources/read: cannot write AnyUrl as JSON; write `uri=str(...)`, or other JSON",
    ),
    seen(
        "a list of URIs to watch",
        with_session(watched),
        (
            'watch: expected each URI as a text of its own, as in `watch("note://a", '
            '"note://b")`, got list'
        ),
    ),
    seen(
        "a URL without its scheme",
        connect("127.0.0.1:8765/mcp"),
        "127.0.0.1:8765/mcp: a URL has its scheme: `http://127.0.0.1:8765/mcp`",
    ),
    seen(
        "a host and a port in place of a URL",
        connect("localhost:8765"),
        "localhost:8765: a URL has its scheme: `http://localhost:8765`",
    ),
    seen(
        "headers that are a list",
        connect(URL, headers=[("A", "b")]),
        "headers: expected a mapping of names to values, got list",
    ),
    seen(
        "headers that are a line",
        connect(URL, headers="A: b"),
        "headers: expected a mapping of names to values, got str",
    ),
    seen(
        "a header that is a number",
        connect(URL, headers={"A": 1}),
        "header 'A': expected text, got int",
    ),
    seen(
        "an environment variable that is a number",
        connect(["python"], env={"A": 1}),
        "env: A: expected text, got int",
    ),
    seen(
        "a log level that there is not",
        lambda: client("app", log_level="verbose"),
        "Client: log_level='verbose': there are 'debug', 'info', 'notice', 'warning', "
        "'error', 'critical', 'alert', 'emergency'",
    ),
    seen(
        "a validation that is misspelled",
        lambda: client("app", validation="srict"),
        "Client: validation='srict': did you mean 'strict'?",
    ),
    seen(
        "a timeout of a client that is text",
        lambda: client("app", timeout_s="3"),
        "Client: timeout_s: expected seconds as a number, such as 30, got str",
    ),
    seen(
        "one root without a list",
        lambda: client("app", roots="/srv"),
        "Client: roots='/srv': write `roots=[...]`, a list",
    ),
    seen(
        "a handler that is text",
        lambda: client("app", elicitation="yes"),
        "Client: elicitation: expected a function of (session, params), got 'yes'",
    ),
    seen(
        "a handler of one argument",
        lambda: client("app", sampling=one_argument),
        "Client: sampling: one_argument(params) is called with (session, params): write "
        "`def one_argument(session, params)`, async or not",
    ),
    seen(
        "a decorated handler of one argument",
        lambda: client("app").elicitation(one_argument),
        "elicitation: one_argument(params) is called with (session, params): write `def "
        "one_argument(session, params)`, async or not",
    ),
    seen(
        "the file of a manager in place of its servers",
        lambda: manager("servers.json"),
        'ClientManager: expected servers by name, such as `ClientManager({"files": "uvx '
        'a-server"})`, or a file: `ClientManager.from_file(path)`; got str',
    ),
    seen(
        "servers of a manager without names",
        lambda: manager([URL]),
        'ClientManager: expected servers by name, such as `ClientManager({"files": "uvx '
        'a-server"})`, or a file: `ClientManager.from_file(path)`; got list',
    ),
    seen(
        "a handler of a manager",
        lambda: manager({}, elicitation=one_argument),
        ("ClientManager: no option `elicitation`: write `client=Client(name, elicitation=...)`"),
    ),
    seen(
        "listing the tools of a manager",
        lambda: manager({}).list_tools(),
        ("'ClientManager' object has no attribute 'list_tools': write `await manager.tools()`"),
        AttributeError,
    ),
    seen(
        "adding a server to a manager",
        lambda: manager({}).add_server("a"),
        "'ClientManager' object has no attribute 'add_server': write `await "
        "manager.add(name, server)`",
        AttributeError,
    ),
    seen(
        "an event that is misspelled",
        partial(a_listener_of, "reconected"),
        "on_event: kind='reconected': did you mean 'reconnected'?",
    ),
    seen(
        "calling a tool of a manager that is not entered",
        lambda: manager({}).call_tool("mcp__shop__add"),
        "mcp__shop__add: no such server; there are none: write `async with "
        "ClientManager(...) as manager`, or `await manager.add(name, ...)`",
    ),
    seen(
        "a server that is misspelled in the name of a tool",
        partial(managed, lambda one: one.call_tool("mcp__shp__add")),
        "mcp__shp__add: no such server; did you mean 'shop'? there are 'shop'",
    ),
    seen(
        "a timeout of a manager's call without its unit",
        partial(managed, lambda one: one.call_tool("mcp__shop__add", timeout=3)),
        "call_tool: no option `timeout`: write `timeout_s=`, in seconds",
    ),
    seen(
        "a class of another SDK for many servers",
        lambda: package.ClientSessionGroup,
        "mcp_gen has no ClientSessionGroup: the class is `ClientManager`: `from mcp_gen "
        "import ClientManager`",
        ImportError,
    ),
    seen(
        "a function of another SDK that starts a command",
        lambda: package.stdio_client,
        'mcp_gen has no stdio_client: write `client.connect("command with arguments")`',
        ImportError,
    ),
    seen(
        "a function of another SDK for a URL",
        lambda: package.streamablehttp_client,
        "mcp_gen has no streamablehttp_client: write `client.connect(url)`",
        ImportError,
    ),
    seen(
        "a text in place of the result of a tool",
        lambda: mcp_gen.tool_result_for("anthropic", anything("done"), id="1"),
        "tool_result_for('anthropic'): expected a CallToolResult, got str",
    ),
    seen(
        "a command with a list among its words",
        connect(["stdio", ["python", "server.py"]]),
        (
            "connect: expected the words of a command as texts in one list, as in "
            '`["python", "server.py"]`, got list among them'
        ),
    ),
    seen(
        "data in place of the type to decode",
        lambda: wire.decode(b"{}", Tool),
        "the type comes first, and then the data: `decode(Tool, data)`",
        TypeError,
    ),
    seen(
        "the types as an attribute of the package",
        lambda: mcp_gen.__getattr__("types"),
        "module 'mcp_gen' has no attribute 'types': write `import mcp_gen.types`",
        AttributeError,
    ),
]
