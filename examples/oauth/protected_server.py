"""Notes of whoever is logged in: a server that asks for access tokens, with scopes per tool.

In two terminals, and then log in and call it:

    python -m examples.oauth.authorization_server --port 9000
    python -m examples.oauth.protected_server --issuer http://127.0.0.1:9000 --port 8000

    mcp-gen login http://127.0.0.1:8000/mcp --scope "notes:write"
    mcp-gen call http://127.0.0.1:8000/mcp add --arg text="buy bolts"
"""

from __future__ import annotations

import argparse
from collections import defaultdict

from mcp_gen import Context, Server
from mcp_gen.auth import ResourceServer

HOST = "127.0.0.1"

server = Server("notes-of-users", "1.0.0", instructions="Short notes, for each user its own.")
# The principal is the issuer with the user: equal user names of two issuers are two users.
notes: defaultdict[str | None, list[str]] = defaultdict(list)


@server.tool
async def show(ctx: Context) -> list[str]:
    """Show my notes."""
    return notes[ctx.principal]


@server.tool(scopes=["notes:write"])
async def add(text: str, ctx: Context) -> int:
    """Add a note, and return how many there are."""
    notes[ctx.principal].append(text)
    return len(notes[ctx.principal])


def gate(issuer: str, url: str) -> ResourceServer:
    """Return what admits requests: tokens of the issuer, for the server at the URL."""
    return ResourceServer(issuer=issuer, audience=url, scopes=["notes:read"])


def main() -> None:
    parser = argparse.ArgumentParser(prog="protected_server")
    parser.add_argument("--issuer", default="http://127.0.0.1:9000")
    parser.add_argument("--port", type=int, default=8000)
    told = parser.parse_args()
    auth = gate(told.issuer, f"http://{HOST}:{told.port}/mcp")
    server.run("http", host=HOST, port=told.port, auth=auth)


if __name__ == "__main__":
    main()
