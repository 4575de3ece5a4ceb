"""Logs in to a protected server with a browser, and calls it; a second start needs no browser.

python -m examples.oauth.client http://127.0.0.1:8000/mcp
"""

from __future__ import annotations

import asyncio
import sys

from mcp_gen import AuthError, Client
from mcp_gen.auth import FileTokenStore, OAuth
from mcp_gen.core.transport.authorizing import RequestAuthorizer


async def call(url: str, auth: RequestAuthorizer) -> list[str]:
    """Add a note, and return all notes of the user.

    The first request is refused: `auth` then finds the authorization server, registers this client
    and sends the user there. `add` needs one scope more, and the user is asked again.
    """
    async with Client("notes-client", "1.0.0") as client:
        session = await client.connect(url, auth=auth)
        await session.call_tool("add", {"text": "buy bolts"})
        result = await session.call_tool("show")
        return [str(getattr(block, "text", block)) for block in result.content]


def main() -> None:
    url = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8000/mcp"
    # The file is in the user's own data folder, and only the user can read it.
    auth = OAuth(client_name="notes-client", store=FileTokenStore())
    try:
        print("\n".join(asyncio.run(call(url, auth))))
    except AuthError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
