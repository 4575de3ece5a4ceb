"""Raw client that starts and polls tasks, at the revisions where clients decide."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import mcp_wire
from mcp_gen import Server
from mcp_wire.extensions.tasks import EXTENSION
from tests.support.frames import ALL
from tests.support.peers.answering import EVERYTHING, Capable
from tests.support.peers.raw import RawClient, talking

__all__ = [
    "CORE",
    "DECLARED",
    "DIRECTED",
    "WITHOUT",
    "Conversation",
    "conversing",
    "directed",
    "related",
]

CONVERSATION_S = 90.0
"""Limit of a whole conversation, in seconds: a thousand tasks take long on a slow machine."""
CORE = next(one for one in ALL if mcp_wire.profile(one).tasks == "core")
"""Revision with tasks in the protocol itself."""
WITHOUT = [one for one in ALL if mcp_wire.profile(one).tasks == "none"]
"""Revisions without tasks."""
DIRECTED = EXTENSION.revisions[-1]
"""Revision with the tasks extension, where the server decides."""
DECLARED: Mapping[str, Any] = {**EVERYTHING, "extensions": {EXTENSION.identifier: {}}}
"""Capabilities of a client with the extension and all input requests."""


class Conversation:
    """Client with ids of its own; requests return the members of `result` or `error`."""

    def __init__(self, client: RawClient) -> None:
        self.client = client
        self._id = 0

    def send(self, method: str, **params: Any) -> int:
        """Send a request and return its id."""
        self._id += 1
        self.client.send(self.client.speaker.request(self._id, method, params))
        return self._id

    async def answer(self, id: int) -> Any:
        frame = await self.client.answer(id)
        return frame.get("result", frame.get("error"))

    async def ask(self, method: str, **params: Any) -> Any:
        return await self.answer(self.send(method, **params))

    async def call(self, tool: str, *, task: Any = None, **arguments: Any) -> Any:
        """Call a tool; `task` is the request's `task` param."""
        more = {} if task is None else {"task": task}
        return await self.ask("tools/call", name=tool, arguments=arguments, **more)

    async def make(self, tool: str, *, ttl: int | None = None, **arguments: Any) -> str:
        """Call a tool as a task and return the task's id."""
        made = await self.call(tool, task={} if ttl is None else {"ttl": ttl}, **arguments)
        return str(made["task"]["taskId"])

    async def begin(self, tool: str, **arguments: Any) -> str:
        """Call a tool that the server turns into a task, and return the task's id."""
        made = await self.call(tool, **arguments)
        assert made["resultType"] == "task", made
        return str(made["taskId"])

    async def look(self, id: str) -> Any:
        """Return the task from `tasks/get`."""
        return await self.ask("tasks/get", taskId=id)

    async def standing(self, id: str, status: str) -> Any:
        """Return a task once it has this status."""
        task = await self.look(id)
        while task["status"] != status:
            task = await self.look(id)
        return task

    async def status(self, id: str) -> str:
        return str((await self.ask("tasks/get", taskId=id))["status"])

    async def text(self, id: str) -> str:
        """Return the text of a task's result, once it has one."""
        result = await self.ask("tasks/result", taskId=id)
        return str(result["content"][0]["text"])

    async def told(self, method: str) -> Any:
        """Return the params of the next notification of a kind."""
        return (await self.came(method))["params"]

    async def came(self, method: str) -> Any:
        """Return the next message of a kind."""
        return await self.client.take(lambda frame: frame.get("method") == method)


@asynccontextmanager
async def conversing(
    server: Server,
    revision: str = CORE,
    *,
    capabilities: Mapping[str, Any] = EVERYTHING,
    last: bool = True,
) -> AsyncIterator[Conversation]:
    """Connect a client to the server over memory, after the handshake if there is one.

    The `last` client also ends the server's tasks.
    """
    async with talking(server, revision, opened=False) as client:
        client.speaker = Capable(revision, capabilities)
        if client.speaker.opening:
            client.send(*client.speaker.opening)
            await client.answer(0)
        async with asyncio.timeout(CONVERSATION_S):
            yield Conversation(client)
    if last:
        await server.aclose()


def directed(
    server: Server, capabilities: Mapping[str, Any] = DECLARED, *, last: bool = True
) -> AbstractAsyncContextManager[Conversation]:
    """Connect a client to the server at the revision where the server decides."""
    return conversing(server, DIRECTED, capabilities=capabilities, last=last)


def related(id: str) -> dict[str, Any]:
    """Return the `_meta` of messages that belong to a task."""
    key = mcp_wire.profile(CORE).related_task_key
    return {str(key): {"taskId": id}}
