"""Session of a test with the server under test, written down and judged."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from mcp_gen.client.client import Client
from mcp_gen.client.connecting.targets import resolve_target
from mcp_gen.compat.plugin.conversation import Conversation
from mcp_gen.compat.plugin.reaching import reached, shown
from mcp_gen.compat.plugin.recorder import Recorder
from mcp_gen.core.errors import HttpError, McpError, McpGenError, ProtocolError

if TYPE_CHECKING:
    from mcp_gen.client.connecting.targets import Target
    from mcp_gen.client.session.session import ClientSession
    from mcp_gen.compat.plugin.judged_test import JudgedTest
    from mcp_gen.compat.plugin.reaching import AsgiCallable

__all__ = ["Refused", "connected"]


class Refused(Struct, frozen=True):
    """A connection that was not made, because the server does not speak the revision.

    Args:
        text: The reason.
    """

    text: str


@asynccontextmanager
async def connected(
    test: JudgedTest,
    client: Client,
    server: Target | AsgiCallable,
    over: str,
    root: Path,
) -> AsyncGenerator[ClientSession | Refused, None]:
    """Connect a client to the server under test, and close it afterwards.

    Args:
        test: The test that judges what is said. Its revision is asked for; if it has none, the
            newest that both sides speak.
        client: The client.
        server: A target of `Client.connect`, or an ASGI app.
        over: `memory`, `stdio` or `http`; empty for that which the server needs the least for.
        root: Folder of relative paths.

    Raises:
        UsageError: the server cannot be reached so.
        McpGenError: the connection failed, for another reason than the revision.
    """
    async with AsyncExitStack() as ended:
        way = await ended.enter_async_context(reached(server, over, root))
        recorder = Recorder(way.transport)
        serving: set[asyncio.Task[None]] = set()

        def serve(work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
            task = asyncio.get_running_loop().create_task(work)
            serving.add(task)
            task.add_done_callback(serving.discard)
            return task

        async def close() -> None:
            await client.aclose()
            await asyncio.gather(*serving)

        ended.push_async_callback(close)
        target = recorder.recorded(resolve_target(way.target, serve, env=way.env))
        asked = test.revision

        def said() -> list[Conversation]:
            transcripts = recorder.transcripts(test.revision) if test.revision else []
            name = shown(server)
            return [
                Conversation(name, way.transport, one, ("server", "client")) for one in transcripts
            ]

        try:
            session = await client.connect(target, revision=asked or None)
        except McpGenError as error:
            if asked and _is_about_revision(error):
                yield Refused(f"the server does not speak {asked}: {error}")
                return
            # The frames may show why.
            test.sources += [said] if asked else []
            raise
        test.revision = session.revision
        test.sources.append(said)
        yield session


def _is_about_revision(error: McpGenError) -> bool:
    """Return True if a server has refused the connection, and has not failed."""
    if isinstance(error, HttpError):
        return error.error is not None or error.status in (400, 404, 405, 406)
    # Its subclasses are faults in what the server sent.
    return isinstance(error, McpError) or type(error) is ProtocolError
