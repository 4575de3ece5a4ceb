"""Typing of `ctx.server`, for type checkers. `nox -s types` reads this; it is never run."""

from __future__ import annotations

from typing import assert_type

from mcp_gen import Argument, Context, Server, SessionState, current_context, transformed
from mcp_gen.server.context.server_view import ServerView
from mcp_gen.types import CallToolResult, ReadResourceResult, Tool

server = Server("typed")
view: ServerView[Context] = server


async def added(a: int) -> int:
    return a


@server.tool
async def change(ctx: Context, name: str) -> None:
    there = ctx.server
    assert_type(there, ServerView[Context])
    there.add_tool(added)
    there.add_tool(added, name=name, task="optional", ui="ui://clock/face")
    there.add_tool(Tool(name=name, input_schema={}), lambda ctx, arguments: ctx.revision)
    there.add_tool(transformed(there.tools[name], name="other"))
    there.transform_tool(name, arguments={"a": Argument(fixed=1)})
    there.remove_tool(name)
    there.tool(added)
    there.tool(title="Added")(added)
    there.resource("config://app", mime_type="text/plain")(added)
    there.add_resource("config://other", "text", size=4)
    there.add_resource_template("users://{id}", added)
    there.remove_resource("config://app")
    there.remove_resource_template("users://{id}")
    there.add_prompt(added, title="Prompt")
    there.remove_prompt("added")
    there.add_completion("added", "a", added)
    there.filter_tools(lambda ctx, tool: ctx.revision != tool.name)
    there.notify.tool_list_changed()
    there.notify.resource_updated("config://app")
    await there.notify.elicitation_complete("1")
    assert_type(there.name, str)
    assert_type(there.tools.names, list[str])
    assert_type([one.id for one in there.sessions()], list[str])

    own = there.for_session(ctx.session)
    own.add_tool(added)
    own.remove_tool("added")
    own.add_prompt(added)


@server.tool
async def calls(ctx: Context) -> None:
    assert_type(current_context(), Context)
    assert_type(await ctx.call_tool("added", {"a": 1}, returns=int), int)
    assert_type(await ctx.call_tool("added"), CallToolResult)
    assert_type(await ctx.read_resource("config://app"), ReadResourceResult)


@server.tool
def calls_in_a_thread(ctx: Context) -> None:
    assert_type(ctx.blocking.call_tool("added", {"a": 1}, returns=int), int)
    assert_type(ctx.blocking.call_tool("added"), CallToolResult)
    assert_type(ctx.blocking.read_resource("config://app"), ReadResourceResult)


@server.tool
async def keeps(ctx: Context) -> None:
    assert_type(await ctx.state.get("count", int, 0), int)
    assert_type(await ctx.state.get("count", int), int | None)
    await ctx.state.set("count", 1)
    assert_type(ctx.blocking.state.get("count", int, 0), int)
    Server("keeps", session_state=SessionState(key=lambda ctx: ctx.principal))
