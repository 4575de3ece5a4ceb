"""Server under test of the official conformance suite; names and texts are the suite's.

`python -m tests.conformance.server --port 8000` serves it over HTTP, on the loopback interface.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from typing import Any

import mcp_wire
from mcp_gen import Context, Server, ToolError, user
from mcp_gen.server.content import blocks
from mcp_gen.server.serving.http import run_http
from mcp_gen.types import EmbeddedResource, ImageContent, TextContent, Tool
from tests.conformance.data import JSON_SCHEMA_2020_12, PNG, WAV
from tests.conformance.input_requests import asking_tools
from tests.conformance.tasks import task_tools

__all__ = ["build"]

PAUSE_S = 0.05
RETRY_MS = 100


def build(revisions: Sequence[str] = mcp_wire.REVISIONS) -> Server:
    """Return a new server with all tools, resources and prompts of the suite."""
    server = Server("conformance", "1.0.0", revisions=revisions)
    _contents(server)
    _telling(server)
    _described(server)
    _changing(server)
    asking_tools(server)
    task_tools(server)
    _resources(server)
    _prompts(server)
    return server


def _contents(server: Server) -> None:
    @server.tool
    async def test_simple_text() -> str:
        """Return a text. The suite calls the first tool of the list without arguments."""
        return "This is a simple text response for testing."

    @server.tool
    async def test_image_content() -> ImageContent:
        """Return an image."""
        return blocks.image(PNG, mime_type="image/png")

    @server.tool
    async def test_audio_content() -> Any:
        """Return a sound."""
        return blocks.audio(WAV, mime_type="audio/wav")

    @server.tool
    async def test_embedded_resource() -> EmbeddedResource:
        """Return a resource with its text."""
        text = "This is an embedded resource content."
        return blocks.embedded("test://embedded-resource", text, mime_type="text/plain")

    @server.tool
    async def test_multiple_content_types() -> list[TextContent | ImageContent | EmbeddedResource]:
        """Return contents of three kinds."""
        uri, data = "test://mixed-content-resource", '{"test":"data","value":123}'
        return [
            blocks.text("Multiple content types test:"),
            blocks.image(PNG, mime_type="image/png"),
            blocks.embedded(uri, data, mime_type="application/json"),
        ]

    @server.tool
    async def test_error_handling() -> str:
        """Fail."""
        raise ToolError("This tool intentionally returns an error for testing")


def _telling(server: Server) -> None:
    @server.tool
    async def test_tool_with_logging(ctx: Context) -> str:
        """Log three times."""
        await ctx.log("info", "Tool execution started")
        await asyncio.sleep(PAUSE_S)
        await ctx.log("info", "Tool processing data")
        await asyncio.sleep(PAUSE_S)
        await ctx.log("info", "Tool execution completed")
        return "Tool with logging executed successfully"

    @server.tool
    async def test_logging_tool(ctx: Context) -> str:
        """Log once, for requests with a log level."""
        await ctx.log("info", "Diagnostic trace")
        return "Logging evaluated"

    @server.tool
    async def test_tool_with_progress(ctx: Context) -> str:
        """Report progress three times."""
        for done in (0, 50, 100):
            await ctx.report_progress(done, 100, f"{done} of 100")
            await asyncio.sleep(PAUSE_S)
        return "Tool with progress executed successfully"

    @server.tool
    async def test_streaming_elicitation(ctx: Context) -> str:
        """Report progress, and ask nothing meanwhile."""
        await ctx.report_progress(50, 100)
        return "Streaming complete"

    @server.tool
    async def test_reconnection(ctx: Context) -> str:
        """Disconnect before the response: the client resumes the stream."""
        await ctx.close_stream(retry_ms=RETRY_MS)
        await asyncio.sleep(PAUSE_S)
        return "Reconnection test completed successfully"


def _described(server: Server) -> None:
    async def named(ctx: Context, arguments: dict[str, Any]) -> str:
        return f"JSON Schema 2020-12 tool called with {sorted(arguments)}"

    described = "A tool whose schema says all that JSON Schema 2020-12 can say"
    server.add_tool(
        Tool(
            name="json_schema_2020_12_tool",
            description=described,
            input_schema=JSON_SCHEMA_2020_12,
        ),
        named,
    )

    async def regional(ctx: Context, arguments: dict[str, Any]) -> str:
        return f"Region: {arguments.get('region')}"

    region = {"type": "string", "description": "A region", "x-mcp-header": "Region"}
    server.add_tool(
        Tool(
            name="test_x_mcp_header",
            description="A tool with a parameter that clients mirror into a header",
            input_schema={"type": "object", "properties": {"region": region}},
        ),
        regional,
    )


def _changing(server: Server) -> None:
    async def test_added_tool() -> str:
        """A tool that is added and removed."""
        return "here"

    async def test_added_prompt() -> str:
        """A prompt that is added and removed."""
        return "here"

    @server.tool
    async def test_trigger_tool_change() -> str:
        """Change the list of tools."""
        server.add_tool(test_added_tool)
        server.remove_tool("test_added_tool")
        return "Mutation triggered"

    @server.tool
    async def test_trigger_prompt_change() -> str:
        """Change the list of prompts."""
        server.add_prompt(test_added_prompt)
        server.remove_prompt("test_added_prompt")
        return "Mutation triggered"


def _resources(server: Server) -> None:
    @server.resource("test://static-text", mime_type="text/plain")
    async def static_text() -> str:
        """A text."""
        return "This is the content of the static text resource."

    @server.resource("test://static-binary", mime_type="image/png")
    async def static_binary() -> bytes:
        """An image."""
        return PNG

    @server.resource("test://watched-resource", mime_type="text/plain")
    async def watched_resource() -> str:
        """The resource that clients subscribe to."""
        return "Watched resource content"

    @server.resource("test://template/{id}/data", mime_type="application/json")
    async def template(id: str) -> dict[str, Any]:
        """A resource that depends on its URI."""
        return {"id": id, "templateTest": True, "data": f"Data for ID: {id}"}


def _prompts(server: Server) -> None:
    @server.prompt
    async def test_simple_prompt() -> str:
        """A prompt without arguments."""
        return "This is a simple prompt for testing."

    @server.prompt
    async def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
        """A prompt with two arguments."""
        return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"

    @server.completion("test_prompt_with_arguments", "arg1")
    async def arg1(value: str) -> list[str]:
        return [one for one in ("paris", "park", "party") if one.startswith(value)]

    # The argument's name is the suite's.
    @server.prompt
    async def test_prompt_with_embedded_resource(resourceUri: str) -> list[Any]:  # noqa: N803
        """A prompt with a resource in it."""
        text = "Embedded resource content for testing."
        return [
            user(blocks.embedded(resourceUri, text, mime_type="text/plain")),
            user("Please process the embedded resource above."),
        ]

    @server.prompt
    async def test_prompt_with_image() -> list[Any]:
        """A prompt with an image in it."""
        return [
            user(blocks.image(PNG, mime_type="image/png")),
            user("Please analyze the image above."),
        ]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--revision", help="the only revision; without it, all of them")
    parser.add_argument("--redis", help="URL of the store that makes it a node of a cluster")
    told = parser.parse_args()
    revisions = [told.revision] if told.revision else mcp_wire.REVISIONS
    if told.redis is None:
        build(revisions).run("http", host="127.0.0.1", port=told.port)
        return
    # With the extra `redis`, which a server alone does not need.
    from mcp_gen.cluster import Redis

    run_http(build(revisions).asgi(cluster=Redis(told.redis)), "127.0.0.1", told.port)


if __name__ == "__main__":
    main()
