"""`on_error` of a client hears of requests that are refused before their callback."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mcp_gen import Client, InvalidParams, MethodNotFound, ProtocolError
from mcp_gen.core import envelope
from mcp_wire.method import Method
from tests.client.spec.input_requests import put
from tests.client.spec.scripted_servers import far, in_a_call
from tests.client.using import IN_RESULTS, LIVE
from tests.session.kernel.test_every_hook import OpenClient, each, open_client
from tests.session.kernel.test_missing_methods import each_lacked
from tests.support.frames import every_revision
from tests.support.peers.minimal_peers import minimal_params, request_names
from tests.support.peers.raw import WAIT_S
from tests.support.peers.reach import Reach


class Told:
    """Calls of an `on_error` hook of a client."""

    def __init__(self, hooks: Any) -> None:
        self.calls: list[tuple[Any, str, Any, BaseException]] = []
        self._news = asyncio.Event()
        hooks.on_error(self._hear)

    def _hear(self, session: Any, method: str, params: Any, error: BaseException) -> None:
        self.calls.append((session, method, params, error))
        self._news.set()

    async def once(self) -> tuple[Any, str, Any, BaseException]:
        """Return the one call of the hook."""
        async with asyncio.timeout(WAIT_S):
            await self._news.wait()
        (only,) = self.calls
        return only


def listen(client: OpenClient) -> Told:
    """Add an `on_error` hook, and hooks of all other kinds, which must not run."""
    client.hooks.before_any(lambda ctx, method, params: client.said.append("before_any"))
    client.hooks.on_success(lambda ctx, method, *_: client.said.append("on_success"))
    for name in request_names(client.hooks).values():
        getattr(client.hooks, f"error_{name}")(lambda *_: client.said.append("error"))
    return Told(client.hooks)


@each_lacked("client")
async def test_it_hears_of_every_method_that_the_revision_lacks(revision: str, method: str) -> None:
    async with open_client(revision) as client:
        expected = await client.ask(method, {})
        told = listen(client)
        answer = await client.ask(method, {})
        _, name, params, error = await told.once()
    assert (name, params, type(error)) == (method, None, MethodNotFound)
    assert bytes(answer.error) == bytes(expected.error)
    assert envelope.read_error(answer.error).message == str(error)
    assert client.said == []


@each("request", "client")
async def test_it_hears_of_undecodable_params_of_every_method(
    revision: str, method: Method[Any, Any]
) -> None:
    broken = {**minimal_params(revision, method), "_meta": 5}
    async with open_client(revision) as client:
        expected = await client.ask(method.name, broken)
        told = listen(client)
        answer = await client.ask(method.name, broken)
        _, name, params, error = await told.once()
    assert (name, params, type(error)) == (method.name, None, InvalidParams)
    assert bytes(answer.error) == bytes(expected.error)
    assert envelope.read_error(answer.error).message == str(error)
    assert client.said == []


@every_revision
async def test_a_hook_that_fails_is_logged_and_the_answer_is_the_same(
    revision: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_client(revision) as client:
        client.hooks.on_error(lambda session, method, params, error: [][0])
        told = Told(client.hooks)
        client.theirs.send(b'{"jsonrpc":"2.0","id":1,"method":"acme/unknown"}')
        assert (await told.once())[1] == "acme/unknown"
    assert "a hook failed" in caplog.text


# --- over every transport ---


async def test_it_hears_of_an_unknown_method_over_every_transport(reach: Reach) -> None:
    server, client = far(reach), Client("test")
    told = Told(client.hooks)
    async with reach(server, client) as reached:
        async with in_a_call(reached, server):
            # A revision that puts requests into results gets no response to a message.
            server.send(id="q", method="acme/unknown")
            session, name, params, error = await told.once()
        assert session is reached.session
    assert (name, params, type(error)) == ("acme/unknown", None, MethodNotFound)


async def test_it_hears_of_a_question_that_was_not_declared(reach: Reach) -> None:
    server, client = far(reach), Client("test")
    told = Told(client.hooks)
    async with reach(server, client) as reached:
        answer = await put(reach, reached, server, "roots/list")
        session, name, params, error = await told.once()
        assert session is reached.session
    assert (name, params) == ("roots/list", None)
    if reach.revision in IN_RESULTS:
        assert answer["error"] is error
        assert type(error) is ProtocolError
    else:
        assert answer["error"] == {"code": MethodNotFound.code, "message": str(error)}


async def test_it_hears_of_a_question_that_cannot_be_read(reach: Reach) -> None:
    server, client = far(reach), Client("test", sampling=lambda session, params: None)
    inbound, outbound = Told(client.hooks), Told(client.hooks.outbound)
    async with reach(server, client) as reached:
        answer = await put(reach, reached, server, "sampling/createMessage", {"messages": 5})
        if reach.revision in LIVE:
            _, name, params, error = await inbound.once()
            assert (name, params, type(error)) == ("sampling/createMessage", None, InvalidParams)
            assert answer["error"] == {"code": InvalidParams.code, "message": str(error)}
        else:
            # There it is a part of the result of the client's own request.
            _, name, params, error = await outbound.once()
            assert (name, answer["error"]) == ("tools/call", error)
            assert inbound.calls == []
