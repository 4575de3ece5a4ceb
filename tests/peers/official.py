"""Uses every feature with the official Python SDK's client; returns observations by name."""

from __future__ import annotations

import json
import warnings
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import mcp_types as types
from mcp import Client, MCPDeprecationWarning, MCPError, StdioServerParameters, stdio_client
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from tests.peers.command import Command
from tests.peers.observations import ANSWERS
from tests.peers.web import Served

__all__ = ["exercise", "reaching"]

WAIT_S = 30.0
LISTS = {
    types.ToolListChangedNotification: "tools",
    types.PromptListChangedNotification: "prompts",
    types.ResourceListChangedNotification: "resources",
}


class Peer:
    """Callbacks of the client, and their received messages."""

    def __init__(self) -> None:
        self._news = anyio.Event()
        self.levels: list[str] = []
        self.lists: set[str] = set()
        self.updated: list[str] = []

    async def elicit(self, context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        if isinstance(params, types.ElicitRequestURLParams):
            return types.ElicitResult(action="accept")
        asked = params.requested_schema["properties"]
        given = {name: ANSWERS["form"][name] for name in asked}
        return types.ElicitResult(action="accept", content=given)

    async def sample(
        self, context: Any, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult:
        text = types.TextContent(type="text", text=ANSWERS["text"])
        return types.CreateMessageResult(role="assistant", content=text, model=ANSWERS["model"])

    async def roots(self, context: Any) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri=ANSWERS["root"])])

    async def until(self, ready: Callable[[], bool]) -> None:
        """Wait for a condition: notifications may arrive after a response."""
        while not ready():
            self._news = anyio.Event()
            await self._news.wait()

    async def log(self, params: types.LoggingMessageNotificationParams) -> None:
        self.levels.append(params.level)
        self._news.set()

    async def hear(self, message: Any) -> None:
        if isinstance(message, types.ResourceUpdatedNotification):
            self.updated.append(str(message.params.uri))
        elif type(message) in LISTS:
            self.lists.add(LISTS[type(message)])
        self._news.set()


def reaching(server: Command | Served) -> Any:
    """Return the client's transport."""
    if server.transport == "http":
        return streamable_http_client(*server.target)
    if server.transport == "sse":
        return sse_client(*server.target)
    program, *arguments = server.target
    return stdio_client(StdioServerParameters(command=program, args=arguments))


async def exercise(server: Command | Served, mode: str) -> dict[str, Any]:
    """Return all observations; `{"failed": ...}` in place of one that raised."""
    # Logging, sampling and roots: deprecated, but still spoken.
    warnings.simplefilter("ignore", MCPDeprecationWarning)
    peer = Peer()
    seen: dict[str, Any] = {}
    with anyio.fail_after(2 * WAIT_S):
        async with Client(
            reaching(server),
            mode=mode,
            elicitation_callback=peer.elicit,
            sampling_callback=peer.sample,
            list_roots_callback=peer.roots,
            logging_callback=peer.log,
            message_handler=peer.hear,
            log_level="warning",
        ) as client:
            for name, look in looks(client, peer, mode).items():
                try:
                    with anyio.fail_after(WAIT_S):
                        seen[name] = await look()
                except Exception as error:  # the other observations are still made
                    seen[name] = {"failed": repr(error)}
    return seen


def looks(client: Client, peer: Peer, mode: str) -> dict[str, Callable[[], Awaitable[Any]]]:
    """Return the observations to make, in order."""
    legacy = mode == "legacy"

    async def text(tool: str, **arguments: Any) -> str:
        (block,) = (await client.call_tool(tool, arguments)).content
        return str(block.text)

    async def code(call: Awaitable[Any]) -> Any:
        try:
            return await call
        except MCPError as error:
            return error

    async def who() -> Any:
        return [client.server_info.name, client.server_info.version, client.protocol_version]

    async def instructions() -> Any:
        return client.instructions

    async def capabilities() -> Any:
        return sorted(client.server_capabilities.model_dump(exclude_none=True))

    async def tools() -> Any:
        return sorted(tool.name for tool in (await client.list_tools(cache_mode="refresh")).tools)

    async def add() -> Any:
        result = await client.call_tool("add", {"a": 1, "b": 2})
        return [result.content[0].text, result.structured_content]

    async def weather() -> Any:
        return (await client.call_tool("weather", {"city": "Oslo"})).structured_content

    async def kinds() -> Any:
        return [block.type for block in (await client.call_tool("mixture")).content]

    async def link() -> Any:
        (block,) = (await client.call_tool("link")).content
        return [block.type, str(block.uri)]

    async def bad_arguments() -> Any:
        return (await client.call_tool("dice", {"count": 0})).is_error

    async def failure() -> Any:
        result = await client.call_tool("fail", {"reason": "out of paper"})
        return [result.is_error, result.content[0].text]

    async def refusal() -> Any:
        error = await code(client.call_tool("refuse", {"reason": "not today"}))
        return [error.code, error.data]

    async def progress() -> Any:
        reports: list[Any] = []

        async def report(done: float, total: float | None, message: str | None) -> None:
            reports.append([done, total, message])

        await client.call_tool("count", {"to": 3}, progress_callback=report)
        return reports

    async def logging() -> Any:
        if legacy:
            await client.set_logging_level("warning")
        await client.call_tool("chatter")
        await peer.until(lambda: "emergency" in peer.levels)
        return peer.levels

    async def resources() -> Any:
        return sorted(str(one.uri) for one in (await client.list_resources()).resources)

    async def templates() -> Any:
        found = (await client.list_resource_templates()).resource_templates
        return [one.uri_template for one in found]

    async def read(uri: str) -> Any:
        (part,) = (await client.read_resource(uri)).contents
        return part

    async def welcome() -> Any:
        part = await read("notes://welcome")
        return [part.mime_type, part.text]

    async def binary() -> Any:
        part = await read("notes://logo")
        return [part.mime_type, part.blob[:11]]

    async def profile() -> Any:
        return json.loads((await read("users://2/profile")).text)

    async def missing() -> Any:
        return (await code(client.read_resource("notes://nowhere"))).code

    async def prompts() -> Any:
        return sorted(prompt.name for prompt in (await client.list_prompts()).prompts)

    async def filled(name: str, arguments: dict[str, str] | None = None) -> Any:
        (message,) = (await client.get_prompt(name, arguments)).messages
        return message.content.text

    async def conversation() -> Any:
        messages = (await client.get_prompt("trip", {"city": "Oslo"})).messages
        return [f"{message.role} {message.content.type}" for message in messages]

    async def complete(ref: Any, name: str, value: str) -> Any:
        result = await client.complete(ref, {"name": name, "value": value})
        return result.completion.values

    async def lists() -> Any:
        if legacy:
            await client.call_tool("show_more")
            await peer.until(lambda: len(peer.lists) == len(LISTS))
            return sorted(peer.lists)
        async with client.listen(
            tools_list_changed=True, prompts_list_changed=True, resources_list_changed=True
        ) as listening:
            await client.call_tool("show_more")
            heard: set[str] = set()
            async for event in listening:
                heard.add(type(event).__name__.removesuffix("ListChanged").lower())
                if len(heard) == len(LISTS):
                    return sorted(heard)
        return sorted(heard)

    async def updated() -> Any:
        uri = "notes://board"
        if legacy:
            await client.subscribe_resource(uri)
            await client.call_tool("write", {"text": "hello"})
            await peer.until(lambda: bool(peer.updated))
            return peer.updated[0]
        async with client.listen(resource_subscriptions=[uri]) as listening:
            await client.call_tool("write", {"text": "hello"})
            event = await anext(aiter(listening))
            return str(event.uri)

    prompt = types.PromptReference(type="ref/prompt", name="trip")
    template = types.ResourceTemplateReference(type="ref/resource", uri="users://{id}/profile")
    return {
        "server": who,
        "instructions": instructions,
        "capabilities": capabilities,
        "tools": tools,
        "echo": lambda: text("echo", text="hello"),
        "add": add,
        "weather": weather,
        "kinds": kinds,
        "link": link,
        "own schema": lambda: text("dice", count=2),
        "bad arguments": bad_arguments,
        "failure": failure,
        "refusal": refusal,
        "progress": progress,
        "logging": logging,
        "resources": resources,
        "templates": templates,
        "text": welcome,
        "binary": binary,
        "from a template": profile,
        "missing": missing,
        "prompts": prompts,
        "filled in": lambda: filled("greet", {"name": "Ada", "style": "short"}),
        "conversation": conversation,
        "completed argument": lambda: complete(prompt, "city", "li"),
        "completed variable": lambda: complete(template, "id", "2"),
        "form": lambda: text("book"),
        "two forms": lambda: text("order"),
        "page": lambda: text("sign"),
        "sampling": lambda: text("summarize", text="A long text."),
        "roots": lambda: text("folders"),
        "all at once": lambda: text("survey"),
        "from a thread": lambda: text("ask_from_a_thread"),
        "from a prompt": lambda: filled("introduce"),
        "changed lists": lists,
        "changed tools": tools,
        "updated resource": updated,
    }
