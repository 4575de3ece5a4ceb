"""A client that ends its session while a request is open has caused that itself."""

from __future__ import annotations

from dataclasses import dataclass

from mcp_gen import Context, Server
from tests.support.frames import HANDSHAKE, Speaker
from tests.support.http.asgi import end, open_request, request


@dataclass
class Form:
    word: str


async def test_a_request_whose_session_its_client_ends_is_no_internal_error() -> None:
    server = Server("asks")

    @server.resource("note://a")
    async def note(ctx: Context) -> str:
        return (await ctx.elicit("word?", Form)).action

    app, speaker = server.asgi(), Speaker(HANDSHAKE)
    first = speaker.initialize(0).replace(
        b'"capabilities":{}', b'"capabilities":{"elicitation":{}}'
    )
    name = str(speaker.profile.session_header)
    begun = await request(app, first)
    session = {name: begun.headers[name.lower()]}
    await request(app, speaker.initialized, session)
    message = speaker.request(7, "resources/read", {"uri": "note://a"})
    asked = open_request(app, message, session)
    await asked.frame()
    await end(app, session)
    response = await asked.frame()
    await asked.ended()
    assert response["error"]["code"] == -32600
