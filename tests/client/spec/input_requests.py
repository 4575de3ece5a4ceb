"""Requests from servers to the client at every revision, and their outcome."""

from __future__ import annotations

import asyncio
from typing import Any

from mcp_gen import McpGenError
from tests.client.scripted import CannedServer
from tests.client.spec.scripted_servers import DONE, in_a_call
from tests.support.peers.reach import Reach, Reached

__all__ = ["answered", "declared", "put"]


async def put(
    reach: Reach, reached: Reached, server: CannedServer, method: str, params: Any = None
) -> dict[str, Any]:
    """Make an input request during a call, or in its result, and return its `result` or `error`.

    In a result, the error is the exception of the call.
    """
    question = {"method": method, **({} if params is None else {"params": params})}
    if reach.profile.handshake:
        async with in_a_call(reached, server):
            server.send(id="q", **question)
            answer: dict[str, Any] = await server.next(None)
            return answer
    call = asyncio.get_running_loop().create_task(reached.session.call_tool("t"))
    first = await server.next("tools/call")
    asks = {"resultType": "input_required", "inputRequests": {"q": question}}
    server.send(id=first["id"], result=asks)
    asking = asyncio.get_running_loop().create_task(server.next("tools/call"))
    try:
        await asyncio.wait([asking, call], return_when=asyncio.FIRST_COMPLETED)
        if not asking.done():
            await call
        again = await asking
    except McpGenError as error:
        return {"error": error}
    finally:
        asking.cancel()
    server.send(id=again["id"], **server.complete(DONE))
    await call
    return {"result": again["params"]["inputResponses"]["q"]}


async def answered(
    reach: Reach, reached: Reached, server: CannedServer, method: str, params: Any = None
) -> Any:
    """Return the result of an input request."""
    return (await put(reach, reached, server, method, params))["result"]


def declared(reach: Reach, reached: Reached) -> Any:
    """Return the capabilities that the client has declared."""
    if reach.profile.handshake:
        return reached.asked("initialize")[0]["params"]["capabilities"]
    key = "io.modelcontextprotocol/clientCapabilities"
    said = [one["params"]["_meta"][key] for one in reached.sent if "id" in one]
    assert all(one == said[0] for one in said)
    return said[0]
