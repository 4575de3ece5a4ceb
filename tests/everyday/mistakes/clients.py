"""Mistakes with clients, and with what is imported."""

from __future__ import annotations

from typing import Any

import mcp_gen
from mcp_gen import Client
from tests.everyday.mistakes.mistake import Mistake, add, server

__all__ = ["MISTAKES"]

BY_SESSION = "call it on the session that `await client.connect(target)` returns"
client: Any = Client
package: Any = mcp_gen


def heard(params: Any) -> None:
    """Take one argument, where hooks have two."""


async def connect_to_nothing() -> None:
    target: Any = 3
    async with Client("app") as one:
        await one.connect(target)


async def info_of_a_context() -> None:
    made = server()
    said: list[BaseException] = []

    async def say(ctx: mcp_gen.Context) -> None:
        anything: Any = ctx
        try:
            anything.info("hello")
        except AttributeError as error:
            said.append(error)

    made.add_tool(say)
    async with Client("app") as one:
        await (await one.connect(made)).call_tool("say")
    raise said[0]


MISTAKES = [
    Mistake(
        "a URL as the name of a client",
        lambda: Client("http://localhost:8000/mcp"),
        "Client('http://localhost:8000/mcp'): expected the name of the client first, such as "
        '`async with Client("app") as client`; then `await client.connect(target)`',
    ),
    Mistake(
        "a function as the name of a client",
        lambda: client(["python", "server.py"]),
        "Client(['python', 'server.py']): expected the name of the client first, such as "
        '`async with Client("app") as client`; then `await client.connect(target)`',
    ),
    Mistake(
        "an option of a client that is misspelled",
        lambda: client("app", timeouts=3),
        "Client: no option `timeouts`: did you mean `timeout_s`?",
    ),
    Mistake(
        "a callback by the name of another SDK",
        lambda: client("app", sampling_callback=add),
        "Client: no option `sampling_callback`: write `sampling=`",
    ),
    Mistake(
        "a method of the session on the client",
        lambda: client("app").call_tool("add"),
        f"'Client' object has no attribute 'call_tool': {BY_SESSION}",
        AttributeError,
    ),
    Mistake(
        "a target that is none",
        connect_to_nothing,
        "connect: expected a URL, a file or module with a server, a command (one line or a list of "
        "words), a Server or a transport, got int",
    ),
    Mistake(
        "a hook of a client with other parameters",
        lambda: client("app").hooks.on_logging_message(heard),
        "hook on notifications/message: heard(params) is called with (ctx, params): write "
        "`def heard(ctx, params)`, async or not",
    ),
    Mistake(
        "a log method of a context by the name of its level",
        info_of_a_context,
        "'Context' object has no attribute 'info': write `await ctx.log(\"info\", ...)`",
        AttributeError,
    ),
    Mistake(
        "the class of a server by the name of another SDK",
        lambda: package.FastMCP,
        "mcp_gen has no FastMCP: the class is `Server`: `from mcp_gen import Server`",
        ImportError,
    ),
    Mistake(
        "a name that the package does not have",
        lambda: package.Serve,
        "module 'mcp_gen' has no attribute 'Serve'",
        AttributeError,
    ),
]
"""Mistakes with clients."""
