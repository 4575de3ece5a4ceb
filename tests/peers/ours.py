"""Uses servers of others with our client; returns observations by name."""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
from collections.abc import Awaitable, Callable
from typing import Any

from mcp_gen import Client, ClientSession, UrlElicitation, media_of, text_of
from mcp_wire import latest

__all__ = ["exercise"]

WAIT_S = 40.0
NOTE = "demo://resource/dynamic/text/1"
PAGE = "https://example.org/page"
GIVEN: dict[str, dict[str, str]] = {
    "simple-prompt": {},
    "args-prompt": {"city": "Oslo"},
    "completable-prompt": {"department": "Sales", "name": "Eve"},
    "resource-prompt": {"resourceType": "Text", "resourceId": "1"},
}
"""Arguments of the prompts."""


class Us:
    """Client callbacks, and the notifications received."""

    def __init__(self) -> None:
        self.pages: list[str] = []
        self.reports: list[str] = []
        self.logged: asyncio.Queue[Any] = asyncio.Queue()

    def client(self) -> Client:
        client = Client(
            "agent",
            "1.0.0",
            sampling=lambda session, params: latest.CreateMessageResult(
                role="assistant", content=latest.TextContent(text="A summary."), model="model"
            ),
            # Its default is a fraction: right, but the published JSON Schema has none here.
            elicitation=lambda session, form: {"name": "Ada", "check": True, "number": 3},
            url_elicitation=self._visit,
            roots=["file:///home/ada"],
            validation="report",
            timeout_s=WAIT_S,
        )
        client.hooks.on_logging_message(lambda ctx, params: self.logged.put_nowait(params.data))
        client.on_violation(lambda report: self.reports.append(str(report)))
        return client

    def _visit(self, session: ClientSession, page: UrlElicitation) -> str:
        self.pages.append(page.url)
        return "accept"


async def exercise(target: str | list[str]) -> dict[str, Any]:
    """Return all observations; `{"failed": ...}` in place of one that raised."""
    us = Us()
    seen: dict[str, Any] = {}
    async with asyncio.timeout(2 * WAIT_S), us.client() as client:
        session = await client.connect(target)
        for name, look in looks(us, client, session).items():
            try:
                async with asyncio.timeout(WAIT_S):
                    seen[name] = await look()
            except Exception as error:  # the other observations are still made
                seen[name] = {"failed": repr(error)}
    return seen


def looks(
    us: Us, client: Client, session: ClientSession
) -> dict[str, Callable[[], Awaitable[Any]]]:
    """Return the observations to make, in order. Tools are named after the server's tools."""

    async def text(tool: str, **arguments: Any) -> str:
        result = await session.call_tool(tool, arguments)
        assert not result.is_error, result
        return text_of(result)

    async def kinds(tool: str, **arguments: Any) -> Any:
        result = await session.call_tool(tool, arguments)
        return [block.type for block in result.content]

    async def refused(tool: str, **arguments: Any) -> Any:
        result = await session.call_tool(tool, arguments)
        return [result.is_error, text_of(result).partition(":")[0]]

    async def research() -> Any:
        task = await session.start_tool("simulate-research-query", {"topic": "python"}, ttl_s=60)
        found = [task.state, await task.refresh(), await task.cancel()]
        return [state and state.status for state in found]

    async def server() -> Any:
        return [session.server_info.name, session.server_info.version, session.revision]

    async def instructions() -> Any:
        return (session.instructions or "").splitlines()[0]

    async def tools() -> Any:
        return sorted([tool.name async for tool in session.tools()])

    async def environment() -> Any:
        return "PATH" in json.loads(await text("get-env"))

    async def weather() -> Any:
        return await session.call_tool(
            "get-structured-content", {"location": "Chicago"}, returns=dict[str, Any]
        )

    async def image() -> Any:
        (found,) = media_of(await session.call_tool("get-tiny-image"), "image/png")
        return found.data[1:4].decode()

    async def packed() -> Any:
        arguments = {"name": "hello.gz", "data": "data:text/plain,hello"}
        async with session.watch(resources=True) as changes:
            result = await session.call_tool("gzip-file-as-resource", arguments)
            change = await anext(aiter(changes))
        (link,) = result.content
        (part,) = (await session.read_resource(link.uri)).contents
        return [change.kind, gzip.decompress(base64.b64decode(part.blob)).decode()]

    async def progress() -> Any:
        reports: list[Any] = []
        await session.call_tool(
            "trigger-long-running-operation",
            {"duration": 0.2, "steps": 2},
            progress=lambda *report: reports.append(list(report)),
        )
        return reports

    async def logging() -> Any:
        await session.set_level("debug")
        while not us.logged.empty():
            us.logged.get_nowait()
        await text("toggle-simulated-logging")
        told = await us.logged.get()
        await text("toggle-simulated-logging")
        return "message" in told

    async def updates() -> Any:
        async with session.watch(NOTE) as changes:
            await text("toggle-subscriber-updates")
            change = await anext(aiter(changes))
            await text("toggle-subscriber-updates")
        return list(change)

    async def form() -> Any:
        result = await session.call_tool("trigger-elicitation-request")
        answer = json.loads(result.content[-1].text.partition("Raw result: ")[2])
        return [answer["action"], *(answer["content"][key] for key in ("name", "check", "integer"))]

    async def page(**how: Any) -> Any:
        us.pages.clear()
        await text("trigger-url-elicitation", url=PAGE, **how)
        return list(us.pages)

    async def sampling() -> Any:
        told = await text("trigger-sampling-request", prompt="Say something", maxTokens=10)
        return json.loads(told.partition("\n")[2])["content"]["text"]

    async def roots() -> Any:
        return [
            line.strip() for line in (await text("get-roots-list")).splitlines() if "URI" in line
        ]

    async def other_roots() -> Any:
        await client.add_roots("file:///home/bob")
        # The server requests the new roots, and answers afterwards.
        while "2 root(s)" not in str(await us.logged.get()):
            pass
        return await roots()

    async def resources() -> Any:
        return sorted([one.uri.rpartition("/")[2] async for one in session.resources()])

    async def reading() -> Any:
        found = [await session.read_resource(one.uri) async for one in session.resources()]
        return sum(bool(text_of(one)) or bool(media_of(one)) for one in found)

    async def templates() -> Any:
        found = [one.uri_template async for one in session.resource_templates()]
        uris = [one.replace("{resourceId}", "7") for one in found]
        return [type((await session.read_resource(uri)).contents[0]).__name__ for uri in uris]

    async def prompts() -> Any:
        return {
            one.name: text_of(await session.get_prompt(one.name, GIVEN[one.name])).partition(":")[0]
            async for one in session.prompts()
        }

    async def completion() -> Any:
        ref = latest.PromptReference(name="completable-prompt")
        argument = latest.CompletionArgument(name="name", value="")
        context = latest.CompletionContext(arguments={"department": "Sales"})
        return (await session.complete(ref, argument, context)).completion.values

    async def alive() -> Any:
        return [type(await session.ping()).__name__, us.reports]

    return {
        "server": server,
        "instructions": instructions,
        "tools": tools,
        "echo": lambda: text("echo", message="hello"),
        "get-annotated-message": lambda: kinds(
            "get-annotated-message", messageType="error", includeImage=True
        ),
        "get-env": environment,
        "get-resource-links": lambda: kinds("get-resource-links", count=2),
        "get-resource-reference": lambda: kinds(
            "get-resource-reference", resourceType="Blob", resourceId=2
        ),
        "get-roots-list": roots,
        "get-structured-content": weather,
        "get-sum": lambda: text("get-sum", a=1, b=2.5),
        "get-tiny-image": image,
        "gzip-file-as-resource": packed,
        "simulate-research-query": research,
        "toggle-simulated-logging": logging,
        "toggle-subscriber-updates": updates,
        "trigger-elicitation-request": form,
        "trigger-long-running-operation": progress,
        "trigger-sampling-request": sampling,
        "trigger-url-elicitation": page,
        "a page first": lambda: page(errorPath=True),
        "bad arguments": lambda: refused("get-sum", a="one", b=2),
        "other roots": other_roots,
        "resources": resources,
        "reading": reading,
        "templates": templates,
        "prompts": prompts,
        "completion": completion,
        "alive": alive,
    }
