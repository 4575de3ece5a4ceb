"""Stream transport over sockets: whole messages both ways, whatever the peer does."""

from __future__ import annotations

import asyncio
import gc
import socket
import stat
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mcp_gen import Client, Server, UsageError
from mcp_gen.transports.streams import StreamTransport
from tests.support.frames import HANDSHAKE, PER_REQUEST, Speaker, each_lifecycle, every_revision

WAIT_S = 30.0
OLD, NEW = Speaker(HANDSHAKE), Speaker(PER_REQUEST)


class Kept:
    """Receiver that keeps its messages."""

    def __init__(self) -> None:
        self.messages: list[bytes] = []
        self.too_long: list[int] = []
        self.ended = asyncio.Event()
        self.error: BaseException | None = None
        self._came = asyncio.Event()

    def receive(self, message: bytes) -> None:
        self.messages.append(message)
        self._came.set()

    def oversized(self, limit_bytes: int, beginning: bytes = b"", end: bytes = b"") -> None:
        self.too_long.append(limit_bytes)
        self._came.set()

    def closed(self, error: BaseException | None) -> None:
        assert not self.ended.is_set(), "told of the end twice"
        self.error = error
        self.ended.set()

    async def until(self, true: Callable[[], bool]) -> None:
        async with asyncio.timeout(WAIT_S):
            while not true():
                self._came.clear()
                await self._came.wait()


Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@asynccontextmanager
async def both_ends() -> AsyncIterator[tuple[Streams, Streams]]:
    """Return two ends of a pair of connected sockets, as streams."""
    pair = socket.socketpair()
    ends = [await asyncio.open_unix_connection(sock=one) for one in pair]
    try:
        yield ends[0], ends[1]
    finally:
        for _, writer in ends:
            # asyncio cannot abort what has closed after its last bytes.
            if not writer.is_closing():
                writer.transport.abort()
        await asyncio.sleep(0)


@asynccontextmanager
async def started(**options: Any) -> AsyncIterator[tuple[StreamTransport, Kept, Streams]]:
    """Return a started transport, its receiver, and the other end."""
    async with both_ends() as (ours, theirs):
        transport, kept = StreamTransport(*ours, **options), Kept()
        await transport.start(kept)
        yield transport, kept, theirs
        await transport.aclose()


async def test_lines_that_come_are_handed_on_one_by_one() -> None:
    async with started() as (_, kept, (_, writer)):
        writer.write(b'{"a":1}\n{"b')
        await kept.until(lambda: len(kept.messages) == 1)
        writer.write(b'":2}\n\n')
        await kept.until(lambda: len(kept.messages) == 2)
        assert kept.messages == [b'{"a":1}', b'{"b":2}']


async def test_what_is_sent_goes_out_as_lines_in_order() -> None:
    async with started() as (transport, _, (reader, _)):
        for number in range(3):
            transport.send(b"%d" % number)
        lines = [await asyncio.wait_for(reader.readline(), WAIT_S) for _ in range(3)]
        assert lines == [b"0\n", b"1\n", b"2\n"]


async def test_a_message_that_is_too_long_is_told_of_and_skipped() -> None:
    async with started(max_message_bytes=10) as (_, kept, (_, writer)):
        writer.write(b"x" * 100_000 + b"\nshort\n")
        await kept.until(lambda: bool(kept.messages))
        assert (kept.too_long, kept.messages) == ([10], [b"short"])


async def test_the_end_of_what_comes_is_told_once_and_without_an_error() -> None:
    async with started() as (_, kept, (_, writer)):
        writer.write(b"last")
        writer.write_eof()
        await asyncio.wait_for(kept.ended.wait(), WAIT_S)
        assert (kept.messages, kept.error) == ([b"last"], None)


async def test_one_who_sends_no_more_still_gets_what_is_sent() -> None:
    async with started() as (transport, kept, (reader, writer)):
        writer.write_eof()
        await asyncio.wait_for(kept.ended.wait(), WAIT_S)
        transport.send(b"still")
        assert await asyncio.wait_for(reader.readline(), WAIT_S) == b"still\n"


async def test_a_connection_that_is_reset_is_told_of_with_its_error() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    theirs = socket.create_connection(listener.getsockname())
    accepted, _ = listener.accept()
    listener.close()
    transport = StreamTransport(*await asyncio.open_connection(sock=accepted))
    kept = Kept()
    await transport.start(kept)
    # Without a moment to linger, closing a socket resets its connection.
    theirs.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
    theirs.close()
    await asyncio.wait_for(kept.ended.wait(), WAIT_S)
    assert isinstance(kept.error, ConnectionResetError)
    transport.send(b"to nobody")
    await transport.drain()
    await transport.aclose()


async def test_draining_waits_for_one_who_reads_slowly() -> None:
    async with started() as (transport, _, (reader, _)):
        transport.send(b"x" * 4_000_000)
        await asyncio.sleep(0)
        draining = asyncio.create_task(transport.drain())
        await asyncio.sleep(0)
        assert not draining.done()
        assert len(await asyncio.wait_for(reader.readexactly(4_000_001), WAIT_S)) == 4_000_001
        await asyncio.wait_for(draining, WAIT_S)


async def test_one_who_does_not_read_gets_nothing_further_taken_in() -> None:
    async with started() as (transport, kept, (reader, writer)):
        transport.send(b"x" * 4_000_000)
        await asyncio.sleep(0)
        writer.write(b"1\n")
        await kept.until(lambda: bool(kept.messages))
        writer.write(b"2\n")
        for _ in range(20):
            await asyncio.sleep(0)
        assert kept.messages == [b"1"]
        await asyncio.wait_for(reader.readexactly(4_000_001), WAIT_S)
        await kept.until(lambda: len(kept.messages) == 2)


async def test_closing_sends_what_is_queued_and_hangs_up() -> None:
    async with started() as (transport, _, (reader, _)):
        transport.send(b"last")
        await transport.aclose()
        await transport.aclose()
        assert await asyncio.wait_for(reader.read(), WAIT_S) == b"last\n"


async def test_closing_sends_everything_to_one_who_reads_slowly() -> None:
    async with started() as (transport, _, (reader, _)):
        transport.send(b"x" * 4_000_000)
        closing = asyncio.create_task(transport.aclose())
        for _ in range(20):  # turns in which it could give up
            await asyncio.sleep(0)
        assert len(await asyncio.wait_for(reader.read(), WAIT_S)) == 4_000_001
        await asyncio.wait_for(closing, WAIT_S)


async def test_closing_that_is_cancelled_still_sends_everything() -> None:
    async with started() as (transport, _, (reader, _)):
        transport.send(b"x" * 4_000_000)
        closing = asyncio.create_task(transport.aclose())
        await asyncio.sleep(0)
        closing.cancel()
        await asyncio.wait([closing])
        assert len(asyncio.all_tasks()) == 1
        received = 0
        while data := await asyncio.wait_for(reader.read(1 << 20), WAIT_S):
            received += len(data)
        assert received == 4_000_001


async def test_one_who_has_closed_is_handed_nothing_more() -> None:
    async with started() as (transport, kept, (_, writer)):
        writer.write(b"1\n")
        await transport.aclose()
        for _ in range(20):  # turns in which it could come
            await asyncio.sleep(0)
        assert (kept.messages, kept.ended.is_set()) == ([], False)


async def test_closing_gives_up_on_one_who_never_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_gen.transports.streams.LAST_WRITE_WAIT_S", 0.02)
    async with started() as (transport, _, _):
        transport.send(b"x" * 4_000_000)
        await asyncio.wait_for(transport.aclose(), WAIT_S)
        assert transport._writer.get_extra_info("socket").fileno() == -1


async def test_a_transport_that_was_never_started_can_be_closed() -> None:
    async with both_ends() as (ours, (reader, _)):
        await StreamTransport(*ours).aclose()
        assert await asyncio.wait_for(reader.read(), WAIT_S) == b""


# --- a server at a socket ---


def a_server(**options: Any) -> Server:
    server = Server("sockets", **options)

    @server.tool
    async def add(a: int, b: int) -> int:
        return a + b

    return server


class Peer:
    """Client that writes and reads lines."""

    def __init__(self, streams: Streams) -> None:
        self.reader, self.writer = streams

    async def ask(self, *messages: bytes) -> Any:
        for message in messages:
            self.writer.write(message + b"\n")
        return msgspec.json.decode(await asyncio.wait_for(self.reader.readline(), WAIT_S))

    async def hung_up_on(self) -> bool:
        rest = await asyncio.wait_for(self.reader.read(), WAIT_S)
        self.writer.close()
        await self.writer.wait_closed()
        return rest == b""


def port_of(listener: asyncio.Server) -> int:
    return int(listener.sockets[0].getsockname()[1])


async def over_tcp(server: Any, talk: Callable[[Peer], Awaitable[None]]) -> None:
    async with server.serve_tcp() as listener:
        peer = Peer(await asyncio.open_connection("127.0.0.1", port_of(listener)))
        await talk(peer)
    assert await peer.hung_up_on()


async def over_unix(server: Any, talk: Callable[[Peer], Awaitable[None]], path: Path) -> None:
    async with server.serve_unix(path):
        peer = Peer(await asyncio.open_unix_connection(str(path)))
        await talk(peer)
    assert await peer.hung_up_on()
    with pytest.raises(FileNotFoundError):
        await asyncio.open_unix_connection(str(path))


@every_revision
@pytest.mark.parametrize("kind", ["tcp", "unix"])
async def test_a_server_answers_at_a_socket(revision: str, kind: str, tmp_path: Path) -> None:
    speaker = Speaker(revision)

    async def talk(peer: Peer) -> None:
        if speaker.opening:
            assert "result" in await peer.ask(speaker.opening[0])
        answer = await peer.ask(*speaker.opening[1:], speaker.call(1, "add", a=40, b=2))
        assert answer["result"]["content"][0]["text"] == "42"

    if kind == "tcp":
        await over_tcp(a_server(), talk)
    else:
        await over_unix(a_server(), talk, tmp_path / "socket")


@each_lifecycle
async def test_a_client_connects_over_streams(revision: str, tmp_path: Path) -> None:
    path = tmp_path / "socket"
    async with a_server().serve_unix(path), Client("streams") as client:
        transport = StreamTransport(*await asyncio.open_unix_connection(str(path)))
        session = await client.connect(transport, revision=revision)
        result = await session.call_tool("add", {"a": 40, "b": 2})
        assert result.content[0].text == "42"


async def test_several_clients_are_served_at_once_and_each_is_a_session() -> None:
    server = a_server()
    async with server.serve_tcp() as listener:
        streams = [await asyncio.open_connection("127.0.0.1", port_of(listener)) for _ in range(5)]
        peers = [Peer(one) for one in streams]
        await asyncio.gather(*(peer.ask(OLD.opening[0]) for peer in peers))
        assert len(server.sessions()) == 5
        await asyncio.gather(*(peer.ask(OLD.request(1, "ping")) for peer in peers))
    assert [await peer.hung_up_on() for peer in peers] == [True] * 5
    assert server.sessions() == []


async def test_a_client_that_breaks_off_harms_no_other(caplog: pytest.LogCaptureFixture) -> None:
    server = a_server()
    async with server.serve_tcp() as listener:
        port = port_of(listener)
        broken, whole = [Peer(await asyncio.open_connection("127.0.0.1", port)) for _ in range(2)]
        await broken.ask(OLD.opening[0])
        broken.writer.write(b'{"jsonrpc":"2.0","id":')
        broken.writer.transport.abort()
        assert (await whole.ask(OLD.request(1, "ping")))["result"] == {}
    assert await whole.hung_up_on()


async def test_a_request_in_flight_when_listening_ends_is_answered() -> None:
    server, goes_on, began = a_server(), asyncio.Event(), asyncio.Event()

    @server.tool
    async def held() -> str:
        began.set()
        await goes_on.wait()
        return "done"

    async with server.serve_tcp() as listener:
        peer = Peer(await asyncio.open_connection("127.0.0.1", port_of(listener)))
        message = NEW.call(1, "held")
        asking = asyncio.create_task(peer.ask(message))
        await asyncio.wait_for(began.wait(), WAIT_S)
        asyncio.get_running_loop().call_soon(goes_on.set)
    assert (await asking)["result"]["content"][0]["text"] == "done"
    assert await peer.hung_up_on()


async def test_a_message_to_a_socket_may_have_so_many_bytes_as_the_server_says() -> None:
    async def talk(peer: Peer) -> None:
        refused = await peer.ask(OLD.request(1, "ping", {"x": "y" * 500}))
        assert refused["error"]["message"] == "a message may have at most 300 bytes"
        assert (await peer.ask(OLD.request(2, "ping")))["result"] == {}

    await over_tcp(a_server(max_message_bytes=300), talk)


async def test_each_connection_to_a_socket_may_have_a_server_of_its_own() -> None:
    made: list[Server] = []

    def make() -> Server:
        made.append(a_server())
        return made[-1]

    async def talk(peer: Peer) -> None:
        assert (await peer.ask(OLD.request(2, "ping")))["result"] == {}

    servers = Server.per_connection(make)
    for _ in range(2):
        await over_tcp(servers, talk)
    assert len(made) == 2


async def test_a_lifespan_lasts_as_long_as_the_server_listens() -> None:
    said: list[str] = []

    @asynccontextmanager
    async def lifespan(server: Server) -> AsyncIterator[None]:
        said.append("enter")
        yield
        said.append("leave")

    server = a_server(lifespan=lifespan)
    async with server.serve_tcp() as listener:
        assert said == ["enter"]
        for _ in range(2):
            peer = Peer(await asyncio.open_connection("127.0.0.1", port_of(listener)))
            await peer.ask(OLD.request(1, "ping"))
            peer.writer.close()
            await peer.writer.wait_closed()
        assert said == ["enter"]
    assert said == ["enter", "leave"]


async def test_a_connection_that_comes_in_the_last_moment_is_ended_too() -> None:
    began, go_on = asyncio.Event(), asyncio.Event()

    @asynccontextmanager
    async def lifespan(server: Server) -> AsyncIterator[None]:
        began.set()
        await go_on.wait()
        yield

    servers = Server.per_connection(lambda: a_server(lifespan=lifespan))
    listening = AsyncExitStack()
    listener = await listening.enter_async_context(servers.serve_tcp())
    async with asyncio.timeout(WAIT_S):
        peer = Peer(await asyncio.open_connection("127.0.0.1", port_of(listener)))
        await began.wait()
        closing = asyncio.create_task(listening.aclose())
        await asyncio.sleep(0)
        go_on.set()
        await closing
        assert await peer.hung_up_on()


async def test_nothing_is_kept_of_a_connection_that_has_ended() -> None:
    server = a_server()
    async with server.serve_tcp() as listener:
        peer = Peer(await asyncio.open_connection("127.0.0.1", port_of(listener)))
        await peer.ask(OLD.opening[0])
        (session,) = [weakref.ref(one) for one in server.sessions()]
        peer.writer.close()
        await peer.writer.wait_closed()
        async with asyncio.timeout(WAIT_S):
            while session() is not None:  # the server notices in its own time
                await asyncio.sleep(0.001)
                gc.collect()


async def test_only_this_user_may_connect_to_a_unix_socket(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    async with a_server().serve_unix(path):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_a_socket_that_was_left_behind_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))

    async def talk(peer: Peer) -> None:
        assert (await peer.ask(OLD.request(1, "ping")))["result"] == {}

    await over_unix(a_server(), talk, path)


async def test_a_socket_at_which_somebody_listens_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "socket"

    async def talk(peer: Peer) -> None:
        with pytest.raises(UsageError, match="somebody listens there already"):
            async with a_server().serve_unix(path):
                pass
        assert (await peer.ask(OLD.request(1, "ping")))["result"] == {}

    await over_unix(a_server(), talk, path)


async def test_a_file_that_is_no_socket_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("dear diary")
    with pytest.raises(UsageError, match="expected no file there, or a socket"):
        async with a_server().serve_unix(path):
            pass
    assert path.read_text() == "dear diary"
