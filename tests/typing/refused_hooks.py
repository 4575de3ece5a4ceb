"""Errors for type checkers: exactly the lines that end in `# refused`. Never run."""

from __future__ import annotations

from mcp_gen import Client, ClientSession, Context, Server
from mcp_wire import v2024_11_05
from mcp_wire.hook_types import CallToolParams, CallToolResults, ListToolsParams


def wrong_hooks(server: Server, client: Client) -> None:
    def of_another_method(ctx: Context, params: ListToolsParams) -> None: ...

    def of_one_revision(ctx: Context, params: v2024_11_05.CallToolRequestParams) -> None: ...

    def without_params(ctx: Context) -> None: ...

    def that_returns_text(ctx: Context, params: CallToolParams) -> str:
        return ""

    async def that_returns_text_later(ctx: Context, params: CallToolParams) -> str:
        return ""

    def after(ctx: Context, params: CallToolParams, result: CallToolResults) -> None: ...

    def error(ctx: Context, params: CallToolParams, error: ValueError) -> None: ...

    server.hooks.before_call_tool(of_another_method)  # refused
    server.hooks.before_call_tool(of_one_revision)  # refused
    server.hooks.before_call_tool(without_params)  # refused
    server.hooks.before_call_tool(that_returns_text)  # refused
    server.hooks.before_call_tool(that_returns_text_later)  # refused
    server.hooks.before_call_tool(after)  # refused
    server.hooks.error_call_tool(error)  # refused
    server.hooks.before_any(without_params)  # refused
    server.hooks.session_opened(of_another_method)  # refused
    server.hooks.before_create_message(of_another_method)  # refused
    server.hooks.outbound.before_call_tool(of_another_method)  # refused
    client.hooks.outbound.before_call_tool(of_one_revision)  # refused
    client.hooks.before_no_such_method(after)  # refused
    server.hooks.after_call_tool(after)
    client.hooks.outbound.before_list_tools(of_another_method)


async def wrong_calls(session: ClientSession) -> None:
    await session.call_tool(1)  # refused
    await session.call_tool("add", ["a"])  # refused
    await session.call_tool("add", timeout_s="long")  # refused
    await session.no_such_request()  # refused
    await session.call_tool("add", {"a": 1}, timeout_s=1)
