"""Documents that are too large, too deep, too slow or lead in circles: all of it is bounded."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from mcp_gen.auth.flows.exchange import Purpose
from mcp_gen.core.errors import AuthError, TransportError
from tests.auth.fetching.network import PUBLIC, Internet, get, server_tls
from tests.hostile.auth.attack import PASSED, Attack, Case, attacks
from tests.hostile.auth.world import (
    HONEST,
    METADATA,
    PRM,
    URL,
    World,
    json_answer,
    opened_world,
)
from tests.support.http.loopback import Got, Line, Script, scripted_web

NEST = b"[" * 100_000 + b"]" * 100_000


def deep(document: Mapping[str, Any]) -> bytes:
    """Return a document with one more member, which is very deep."""
    return msgspec.json.encode(document)[:-1] + b',"x":' + NEST + b"}"


def wide(document: Mapping[str, Any]) -> bytes:
    """Return a document with one more member, which is larger than what is read."""
    return msgspec.json.encode({**document, "x": "x" * 300_000})


def plain(document: Mapping[str, Any]) -> bytes:
    """Return a document with one more member."""
    return msgspec.json.encode({**document, "x": "x"})


Write = Callable[[Mapping[str, Any]], bytes]


def resource_of(world: World) -> Mapping[str, Any]:
    return {"resource": URL, "authorization_servers": [HONEST], "scopes_supported": ["mcp"]}


class Place(NamedTuple):
    """A document, and what is not asked for if it cannot be read."""

    urls: tuple[str, ...]
    document: Callable[[World], Mapping[str, Any]]
    next: Callable[[World], Sequence[object]]


RESOURCE = Place((PRM, PRM.removesuffix("/mcp")), resource_of, lambda world: world.sent(HONEST))
SERVER = Place(
    (HONEST + METADATA,), lambda world: world.server.document(), lambda world: world.visits()
)
CLIENT = Place(
    (f"{HONEST}/register",),
    lambda world: {"client_id": "app", "redirect_uris": ["http://127.0.0.1:4711/callback"]},
    lambda world: world.visits(),
)
KEYS = Place(
    (f"{HONEST}/jwks",),
    lambda world: world.server.keys.public(),
    lambda world: world.called,
)
PLACES = {"resource": RESOURCE, "server": SERVER, "client": CLIENT, "keys": KEYS}
SIZE, DEPTH = "262144", "expected a JSON document"


@attacks(
    "a document that is too much",
    Attack("deep metadata of the resource", ("resource", deep), ("resource", plain), DEPTH),
    Attack("large metadata of the resource", ("resource", wide), ("resource", plain), SIZE),
    Attack("deep metadata of the server", ("server", deep), ("server", plain), DEPTH),
    Attack("large metadata of the server", ("server", wide), ("server", plain), SIZE),
    Attack("a deep registration", ("client", deep), ("client", plain), DEPTH),
    Attack("a large registration", ("client", wide), ("client", plain), SIZE),
    Attack("deep keys", ("keys", deep), ("keys", plain), "503"),
    Attack("large keys", ("keys", wide), ("keys", plain), "503"),
)
async def test_a_document_is_read_up_to_a_size_and_a_depth(case: Case[tuple[str, Write]]) -> None:
    name, write = case.given
    place = PLACES[name]
    async with opened_world() as world:
        world.server.documents = ("oauth",)
        body = write(place.document(world))
        for url in place.urls:
            world.net.answers[url] = lambda _: json_answer(body)
        case.judge(await world.call(), place.next(world))


@attacks(
    "an error that is too much",
    Attack("deep", deep, plain, "failed at a token"),
)
async def test_an_error_of_a_token_endpoint_is_read_up_to_a_depth(case: Case[Write]) -> None:
    """Both are refused; the code of one that can be read is told."""
    async with opened_world() as world:
        body = case.given({"error": "access_denied"})
        world.net.answers[f"{HONEST}/token"] = lambda _: json_answer(body, 400)
        outcome = await world.call()
        told = ["access_denied"] if "access_denied" in outcome else []
        assert world.called == []
        case.judge(PASSED if told else outcome, told)


# --- over sockets ---


async def whole(got: Got, line: Line) -> None:
    await line.answer(200, b"{}")


async def silent(got: Got, line: Line) -> None:
    await line.silence()


async def slow_head(got: Got, line: Line) -> None:
    await line.raw(b"HTTP/1.1 200 OK\r\nx-a: ")
    await line.silence()


async def slow_body(got: Got, line: Line) -> None:
    await line.raw(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{")
    await line.silence()


async def endless_head(got: Got, line: Line) -> None:
    await line.raw(b"HTTP/1.1 200 OK\r\n")
    while True:
        await line.raw(b"x: " + b"y" * 60_000 + b"\r\n")


async def endless_body(got: Got, line: Line) -> None:
    await line.head(200, "application/json")
    while True:
        await line.raw(b" " * 65_536)


async def lying_length(got: Got, line: Line) -> None:
    await line.raw(b"HTTP/1.1 200 OK\r\ncontent-length: 999999999999\r\n\r\n{}")


async def endless_interim(got: Got, line: Line) -> None:
    while True:
        await line.raw(b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n" * 1000)


async def bomb(got: Got, line: Line) -> None:
    await line.answer(200, b"\x1f\x8b" + b"\0" * 100, content_encoding="gzip")


async def circle(got: Got, line: Line) -> None:
    await line.answer(302, location="/again")


@attacks(
    "a response without an end",
    Attack("silence", silent, whole, "in 0.3 s"),
    Attack("half a head", slow_head, whole, "in 0.3 s"),
    Attack("half a body", slow_body, whole, "in 0.3 s"),
    Attack("an endless head", endless_head, whole, "TransportError"),
    Attack("an endless body", endless_body, whole, "262144"),
    Attack("a length beyond the limit", lying_length, whole, "262144"),
    Attack("interim responses", endless_interim, whole, "TransportError"),
    Attack("an encoding that was not asked for", bomb, whole, "TransportError"),
    Attack("redirects in a circle", circle, whole, "at most 3 times"),
)
async def test_a_response_is_waited_for_and_read_for_so_long_and_no_longer(
    case: Case[Script],
) -> None:
    async with scripted_web(case.given, server_tls()) as web, asyncio.timeout(20):
        net = Internet({"as.example": [[PUBLIC]]}, {PUBLIC: web})
        # The twin has the time that a busy machine needs.
        fetcher = net.fetcher(timeout_s=0.3 if case.is_hostile else 20.0)
        read: list[bytes] = []
        try:
            answer = await fetcher.run(get("https://as.example/x", Purpose.JWKS))
            read.append(answer.body)
            outcome = PASSED
        except (AuthError, TransportError) as error:
            outcome = f"{type(error).__name__}: {error}"
        case.judge(outcome, read)
        assert len(web.got) <= 4
        await fetcher.aclose()
