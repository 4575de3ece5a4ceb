"""A response that is none is refused over HTTP without an id: nobody has asked with it."""

from __future__ import annotations

import pytest

from mcp_gen import Server
from tests.support.frames import HANDSHAKE, PER_REQUEST
from tests.support.http.asgi import surfing


@pytest.mark.parametrize("revision", [HANDSHAKE, PER_REQUEST])
@pytest.mark.parametrize(
    "message", [b'{"id":1,"result":{}}', b'{"id":1,"error":{"code":1,"message":"m"}}']
)
async def test_a_response_without_a_version_is_refused_without_an_id(
    revision: str, message: bytes
) -> None:
    async with surfing(Server("target").asgi(), revision) as client:
        reply = await client.ask(message)
    assert (reply.status, "id" in reply.json) == (400, False)
