"""Acts of misbehaving clients: no other client, and no other request, may suffer."""

from __future__ import annotations

import asyncio
from contextlib import aclosing, suppress
from typing import Any

import msgspec

from mcp_wire.profile import Profile
from tests.soak.server import MAX_BODY_BYTES
from tests.soak.traffic.act import Act
from tests.soak.traffic.acts import add
from tests.soak.traffic.kinds import InSession, Paired, Web
from tests.soak.traffic.peers import ACCEPT, Peer, expect, text
from tests.soak.traffic.wire import WAYS_TO_HANG_UP, Answer, Connection, request
from tests.support.malformed import MALFORMED

__all__ = ["RUDE"]

POUR = {"messages": 300, "size": 8_000}
"""Arguments for more data than the machine buffers for a client, and than the server keeps."""


# --- disconnects ---


def _some_call(peer: Peer, id: Any) -> bytes:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("add", {"a": 1, "b": 2}),
        ("slow", {"ms": peer.rng.choice((1, 30, 90, 200)), "text": "x" * 2000}),
        ("work", {"steps": 10, "ms": peer.rng.choice((0, 1, 10))}),
        ("pour", {"messages": 20, "size": 10_000}),
    ]
    tool, arguments = peer.rng.choice(calls)
    return peer.call(id, tool, arguments)


async def hang_up(peer: Peer) -> None:
    """Disconnect at any point: in the head, in the body, before the response, or in it."""
    frame = _some_call(peer, peer.new_id())
    peer.watch.saw("client", frame)
    raw = peer.raw(frame)
    connection = await Connection.open(peer.port)
    try:
        point = peer.rng.random()
        if point < 0.4:
            await connection.send(raw[: peer.rng.randrange(len(raw))])
        else:
            await connection.send(raw)
        await asyncio.sleep(peer.rng.choice((0, 0, 0.001, 0.02, 0.15)))
        if point > 0.7:
            with suppress(ConnectionError):
                await connection.some()
    finally:
        await connection.hang_up(peer.rng.choice(WAYS_TO_HANG_UP))


async def hang_up_and_go_on(peer: Peer) -> None:
    """Disconnect from some requests; the client's other requests are not affected."""
    await asyncio.gather(hang_up(peer), add(peer), hang_up(peer))
    await add(peer)


async def hang_up_on_streams(peer: InSession) -> None:
    """Open several streams for the session, and disconnect from them at any time."""
    for _ in range(peer.rng.randint(1, 4)):
        async with peer.listening(peer.get()):
            await asyncio.sleep(peer.rng.choice((0, 0.01, 0.12)))
    await add(peer)


async def leave_in_the_middle(peer: Paired) -> None:
    """Leave a call open without ever reading its response."""
    for _ in range(peer.rng.randint(1, 3)):
        await peer.tell(_some_call(peer, peer.new_id()))
    peer.gone = True


async def owe_an_answer(peer: InSession) -> None:
    """Get a request, disconnect, and answer later; or end the session instead."""
    id, word = peer.new_id(), f"accept-{peer.rng.random()}"
    frame = peer.call(id, "ask_model", {"word": word})
    peer.watch.saw("client", frame)
    asked, last = None, None
    async with peer.listening(peer.raw(frame)) as (_, answer), aclosing(answer.events()) as events:
        async for event in events:
            last = event.id or last
            if event.data:
                peer.saw(event.data)
                asked = msgspec.json.decode(event.data)
                break
    expect(asked and asked["method"] == "sampling/createMessage", f"not asked: {asked}")
    if peer.rng.random() < 0.5:
        await peer.end(politely=True)
        peer.gone = True
        return
    async with peer.listening(peer.get(last)) as (_, answer):
        await peer.reply(asked)
        said = await peer.hear(answer, id)
    expect(text(said.result) == word, f"expected {word!r}, got {said.answer}")


# --- reading slowly ---


async def read_slowly(peer: Web) -> None:
    """Read slowly: notifications may get lost, the response may not."""
    tool, id, began_s = peer.rng.choice(("pour", "shout")), peer.new_id(), peer.now_s()
    frame = peer.call(id, tool, POUR)
    async with peer.listening(peer.raw(frame), slow=True) as (_, answer):
        await asyncio.sleep(peer.rng.choice((0.05, 0.3)))
        found: list[Any] = []
        async with aclosing(answer.events()) as events:
            async for event in events:
                if event.data:
                    found.append(event.data)
                if len(found) < 10:
                    await asyncio.sleep(0.005)
    said = msgspec.json.decode(found[-1])
    expect(said.get("id") == id, f"{tool}: the answer is not the last: {said}")
    expect(text(said["result"]) == {"pour": "poured", "shout": "shouted"}[tool], f"{said}")
    # The server may have sent everything already: it does not see the socket buffers.
    peer.gone = peer.now_s() - began_s > peer.idle_s / 4
    expect(tool == "shout" or len(found) == POUR["messages"] + 1, f"{len(found)} messages")


async def never_read(peer: Web) -> None:
    """Request much data, read nothing of it, and disconnect."""
    frame = peer.call(peer.new_id(), peer.rng.choice(("pour", "shout")), POUR)
    async with peer.connected(slow=True) as connection:
        await connection.send(peer.raw(frame))
        await asyncio.sleep(peer.rng.choice((0.05, 0.3)))
        await connection.hang_up(peer.rng.choice(("reset", "close")))
    await add(peer)


async def listen_without_reading(peer: InSession) -> None:
    """Do not read a stream: it is closed, or the handler that waits for it continues."""
    wait = peer.rng.random() < 0.5
    async with peer.listening(peer.get(), slow=True) as (connection, _):
        calling = asyncio.create_task(peer.text("tell_session", wait=wait, **POUR))
        await asyncio.wait([calling], timeout=0.3)
        await connection.hang_up(peer.rng.choice(("reset", "close")))
        expect(await calling == "told", "the call was not answered")


# --- invalid messages ---


async def send_nonsense(peer: Peer) -> None:
    """Send an invalid message, and check its error."""
    bad = peer.rng.choice(MALFORMED)
    frame = bad.make(peer.speaker)
    peer.watch.saw("client", frame)
    async with peer.posted(frame) as answer:
        body = await answer.body()
    expect(answer.status < 500, f"{bad.name}: {answer.status}")
    if isinstance(peer, InSession):
        frames = [msgspec.json.decode(body)] if body else []
        expect(bad.is_answered_by(frames), f"{bad.name}: {answer.status} {body!r}")
    elif body:
        expect("error" in msgspec.json.decode(body), f"{bad.name}: {body!r}")
    await add(peer)


async def send_bad_http(peer: Web) -> None:
    """Send a request that is refused before its message is decoded."""
    frame = peer.speaker.request(peer.new_id(), "tools/list")
    right = {**ACCEPT, **peer.headers(frame)}
    version = {str(peer.profile.version_header): "1999-01-01"}
    cases: list[tuple[int, bytes]] = [
        (404, request("POST", "/nowhere", right, frame)),
        (405, request("PUT", peer.path, right, frame)),
        (406, request("POST", peer.path, {**right, "accept": "text/html"}, frame)),
        (415, request("POST", peer.path, {**right, "content-type": "text/plain"}, frame)),
        (403, request("POST", peer.path, {**right, "host": "evil.example"}, frame)),
        (403, request("POST", peer.path, {**right, "origin": "https://evil.example"}, frame)),
        (400, request("DELETE", peer.path, {})),
        (400, request("POST", peer.path, right, b"")),
    ]
    if peer.profile.version_header:
        cases.append((400, request("POST", peer.path, {**right, **version}, frame)))
    if isinstance(peer, InSession):
        other = {str(peer.profile.session_header): "nobody's"}
        cases += [
            (404, request("POST", peer.path, {**right, **other}, frame)),
            (404, request("GET", peer.path, {**right, **other})),
            (400, request("POST", peer.path, ACCEPT, frame)),
            (406, request("GET", peer.path, {**right, "accept": "application/json"})),
            (400, peer.get("nothing-1")),
        ]
    status, raw = peer.rng.choice(cases)
    async with peer.sent(raw) as answer:
        body = await answer.body()
    expect(answer.status == status, f"expected {status}, got {answer.status}: {raw!r} {body!r}")


async def send_what_is_no_http(peer: Peer) -> None:
    """Send bytes that are not HTTP: refused or disconnected by the HTTP server."""
    head = f"POST {peer.path} HTTP/1.1\r\nhost: 127.0.0.1\r\n"
    kind = "content-type: application/json\r\n"
    cases = [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\r\n\r\nnonsense\r\n\r\n",
        f"{head}content-length: 5, 7\r\n\r\nhello".encode(),
        f"{head}content-length: -1\r\n\r\n".encode(),
        f"{head}{kind}transfer-encoding: chunked\r\n\r\nzz\r\n{{}}\r\n0\r\n\r\n".encode(),
        f"{head}x: {'y' * 100_000}\r\n\r\n".encode(),
    ]
    async with peer.connected() as connection:
        await connection.send(peer.rng.choice(cases))
        with suppress(ConnectionError, EOFError):
            answer = await connection.answer()
            expect(answer.status != 200 and answer.status < 500, f"and yet {answer.status}")


async def send_too_much(peer: Peer) -> None:
    """Send a body beyond the limit, in one piece or in chunks."""
    body = b" " * (MAX_BODY_BYTES + peer.rng.randrange(1, 200_000))
    raw = peer.raw(body)
    if peer.rng.random() < 0.5:
        head = peer.raw(b"").replace(b"content-length: 0", b"transfer-encoding: chunked")
        pieces = (body[at : at + 50_000] for at in range(0, len(body), 50_000))
        raw = head + b"".join(b"%x\r\n%b\r\n" % (len(one), one) for one in pieces) + b"0\r\n\r\n"
    async with peer.connected() as connection:
        await connection.send(raw)
        answer: Answer | None = None
        # A client that is still sending may lose the response with the connection.
        with suppress(ConnectionError, EOFError):
            answer = await connection.answer()
        expect(answer is None or answer.status == 413, f"too much, and yet {answer}")


async def post_to_strangers(peer: Paired) -> None:
    """Post a message to a stream that does not exist."""
    frame = peer.speaker.request(peer.new_id(), "ping")
    async with peer.sent(request("POST", peer.path + "x", ACCEPT, frame)) as answer:
        await answer.body()
    expect(answer.status == 404, f"a stranger's message: {answer.status}")


def _in_session(profile: Profile) -> object:
    return profile.session_header


def _paired(profile: Profile) -> bool:
    return profile.http_transport == "sse_pair"


def _one_endpoint(profile: Profile) -> bool:
    return not _paired(profile)


RUDE = (
    Act(hang_up, 4),
    Act(hang_up_and_go_on, 4),
    Act(hang_up_on_streams, 2, _in_session),
    Act(leave_in_the_middle, 1, _paired),
    Act(owe_an_answer, 2, _in_session),
    Act(read_slowly, 1, _one_endpoint),
    Act(never_read, 1, _one_endpoint),
    Act(listen_without_reading, 1, _in_session),
    Act(send_nonsense, 4),
    Act(send_bad_http, 3, _one_endpoint),
    Act(send_what_is_no_http, 1),
    Act(send_too_much, 1),
    Act(post_to_strangers, 1, _paired),
)
