"""Server of the tests of recordings: says something of every kind. `changed` is another version."""

from __future__ import annotations

import sys
import time
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime

from mcp_gen import Context, Server
from mcp_gen.server.context.answers import Accepted

__all__ = ["make"]


@dataclass
class Name:
    name: str


def make(*, is_changed: bool = False) -> Server:
    """Return the server; a changed one counts in another way, and says so."""
    server = Server("shelf", "1.0.0", page_size=2)

    @server.tool(description="Count them all." if is_changed else "Count them.")
    def count(item: str) -> int:
        return len(item) + is_changed

    @server.tool
    async def open_shelf(api_key: str, body: str, ctx: Context) -> str:
        """Open a shelf."""
        await ctx.report_progress(1, 2)
        return f"opened with {api_key} at {datetime.now(UTC).isoformat()}: {body} {uuid.uuid4()}"

    @server.tool
    async def ask(ctx: Context) -> str:
        """Ask the user for a name."""
        answer = await ctx.elicit("Your name?", Name)
        return answer.content.name if isinstance(answer, Accepted) else "nobody"

    @server.tool
    def refuse(password: str) -> str:
        """Refuse a password."""
        print(f"refused {password}", file=sys.stderr)
        raise ValueError(f"wrong: {password}")

    @server.resource("shelf://settings")
    def settings() -> str:
        """The settings."""
        return f'{{"access_token": "planted-in-text", "shelves": 3, "at": {int(time.time()) * 0}}}'

    @server.prompt
    def order(item: str) -> str:
        """Ask for an order."""
        return f"Write an order for 20 {item}s."

    return server


if __name__ == "__main__":
    make(is_changed="changed" in sys.argv).run()
