"""A client that answers: a form for its user, folders, log messages, changes, typed results."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from mcp_gen import Client, ClientSession, text_of
from mcp_gen.types import ElicitRequestFormParams, ElicitResult

SERVER = [sys.executable, str(Path(__file__).with_name("notes_server.py"))]
client = Client("agent", "1.0.0", roots=[Path(__file__).parent], timeout_s=30)


@client.elicitation
async def show_form(
    session: ClientSession, params: ElicitRequestFormParams
) -> dict[str, str] | ElicitResult:
    """A program would show the fields and who asks; this one gives each its first choice."""
    print(f"{params.message} {sorted(params.requested_schema.properties)}")
    if "why" not in params.requested_schema.properties:
        return ElicitResult(action="decline")
    return {"why": "done"}


async def main(revision: str | None = None) -> None:
    async with client:
        session = await client.connect(SERVER, revision=revision)
        print(session.revision, [tool.name async for tool in session.tools()])
        async with session.watch("note://shopping") as changes:
            said = await session.call_tool("delete", {"name": "shopping"}, returns=str)
            change = await anext(changes)
        print(said, change.uri)
        print(text_of(await session.read_resource("note://birthdays")))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
