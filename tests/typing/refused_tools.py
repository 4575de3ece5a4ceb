"""Errors for type checkers: exactly the lines that end in `# refused`. Never run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mcp_gen import Argument, Context, Depends, Server, Structured, content, transformed
from mcp_gen.types import Tool, ToolAnnotations

server = Server("typed")


@server.tool
async def plain(a: int) -> str:
    return str(a)


async def wrong_calls() -> None:
    await plain("one")  # refused
    await plain(1, 2)  # refused
    number: int = await plain(1)  # refused
    await plain(1)
    del number


def of_context_alone(ctx: Context) -> str:
    return ""


def of_other_arguments(ctx: Context, arguments: list[str]) -> str:
    return ""


def wrong_tools(tool: Tool) -> None:
    server.tool(5)  # refused
    server.tool(nme="other")  # refused
    server.tool(timeout_s="long")  # refused
    server.tool(annotations={"readOnlyHint": True})  # refused
    server.tool(icons=["https://example.org/i.png"])  # refused
    server.add_tool(tool)  # refused
    server.add_tool(tool, of_context_alone)  # refused
    server.add_tool(tool, of_other_arguments)  # refused
    server.add_tool(tool, plain, name="other")  # refused
    server.add_tool(plain, run_in_thread="no")  # refused
    server.remove_tool(plain)  # refused
    server.add_tool(plain, name="other", annotations=ToolAnnotations(title="Other"))


def wrong_transformations() -> None:
    transformed("plain")  # refused
    transformed(plain, arguments={"a": "b"})  # refused
    transformed(plain, arguments={"a": Argument(nme="b")})  # refused
    server.transform_tool(plain)  # refused
    server.add_tool(server.tools["plain"], name="other")  # refused
    server.tool(ui=["ui://a"])  # refused
    server.add_ui_resource("ui://a", "", permissions=["mouse"])  # refused
    server.add_ui_resource("ui://a", "", mime_type="text/html")  # refused
    server.add_tool(transformed(plain, arguments={"a": Argument(name="b")}))


def wrong_content(data: bytes) -> None:
    content.image("a.png")  # refused
    content.image(data, mimetype="image/png")  # refused
    content.link(Path("a"))  # refused
    Structured(1, [2])  # refused
    Depends("factory")  # refused
    content.image(Path("a.png"))


def wrong_data() -> Structured[int]:
    return Structured("text")  # refused


def right_data() -> Structured[Any]:
    return Structured("text")
