"""Requests that come in one turn of the loop are handled side by side, step by step."""

from __future__ import annotations

from typing import Any

from mcp_gen import Server
from tests.support.frames import each_lifecycle
from tests.support.http.asgi import surfing


@each_lifecycle
async def test_requests_of_one_turn_are_all_handled_before_one_is_answered(revision: str) -> None:
    server, done = Server("turns"), list[str]()

    @server.tool
    async def note(name: str) -> str:
        done.append(f"handled {name}")
        return name

    app = server.asgi()

    async def told(scope: Any, receive: Any, send: Any) -> None:
        async def take() -> Any:
            done.append("read")
            return await receive()

        async def say(message: Any) -> None:
            if message["type"] == "http.response.start":
                done.append("answered")
            await send(message)

        await app(scope, take, say)

    async with surfing(app, revision) as client:
        # The first calls make what the others share.
        for id in range(3):
            await client.ask(client.speaker.call(id, "note", name="warm"))
        done.clear()
        # Any ASGI app answers here, not ours alone.
        client.app = told  # type: ignore[assignment]
        opened = [client.post(client.speaker.call(id, "note", name=f"{id}")) for id in (3, 4)]
        for one in opened:
            await one.whole()
        client.app = app
    assert done == ["read", "read", "handled 3", "handled 4", "answered", "answered"]
