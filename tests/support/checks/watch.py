"""Checks every frame that a server sends in any test.

While a test runs, each server session gets a watched transport, and each HTTP exchange is watched;
harnesses of other processes pass their frames on. A server's frames must be valid by the published
schema of the negotiated revision, and closed: without keys that it lacks. The client's frames are
not checked. A test that makes a server send invalid frames is marked
`@pytest.mark.unchecked("why")`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, partial
from typing import Any, NamedTuple
from weakref import ref

import msgspec
from msgspec import UNSET

import mcp_wire
from mcp_gen.compat.frame_check import FrameChecker, Sender
from mcp_gen.core import envelope
from mcp_gen.core.extensions.extensions import Extensions
from mcp_gen.core.transport.headers import Headers
from mcp_gen.core.transport.protocols import Answer, Duplex, Receiver, Reply
from mcp_gen.session.duplex.client import ClientConnection
from mcp_gen.session.duplex.server import ServerConnection
from mcp_gen.session.http_server.exchange import HttpExchange
from mcp_gen.session.http_server.session import HttpSession
from mcp_gen.session.http_server.streams import Stream
from mcp_gen.session.messages.channel import ResponseChannel
from tests.support.checks.client_watch import ClientWatch
from tests.support.checks.known_extensions import answers_otherwise, known_extensions
from tests.support.checks.published_schema import published

__all__ = ["Guard", "Watch", "Watched", "guarded", "install", "watch"]

HANDSHAKES = [one for one in mcp_wire.REVISIONS if mcp_wire.profile(one).handshake]
PER_REQUEST = [one for one in mcp_wire.REVISIONS if not mcp_wire.profile(one).handshake]
NAMES_REVISION = {mcp_wire.VERSION_KEYS[one] for one in PER_REQUEST}


class _Asked(NamedTuple):
    """Open request: its method, and the revision that it names."""

    frame: bytes
    method: str
    revision: str | None


class Watch:
    """Watch on one connection. It finds the revision of each frame by itself."""

    def __init__(self, revision: str | None = None) -> None:
        self.revision = revision
        """Negotiated revision, once there is one."""
        self.violations: list[str] = []
        self.extensions = known_extensions()
        """Extensions of the server, as far as they are known."""
        self._named: str | None = None
        self._client_asked: dict[bytes, list[_Asked]] = {}
        self._server_asked: set[bytes] = set()
        self._client_is_right = True
        self._client_batches = False
        """True once the client has sent a batch."""

    @property
    def spoken(self) -> str:
        """Revision of frames that name none."""
        return self.revision or self._named or HANDSHAKES[-1]

    def saw(self, sender: Sender, data: bytes) -> None:
        """Check one message of the connection."""
        try:
            frame = msgspec.json.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            frame = None
        hear = self._heard if sender == "client" else self._said
        # Messages that a client sends at once may arrive before its handshake is answered.
        batch = sender == "client" or mcp_wire.profile(self.spoken).allows_batches
        # A POST without a session does not always say its revision: there a batch does.
        batch = batch or (self.revision is None and self._client_batches)
        self._client_batches |= sender == "client" and isinstance(frame, list)
        if isinstance(frame, list) and batch:
            for entry in frame:
                hear(entry, msgspec.json.encode(entry))
        else:
            hear(frame, data)

    def renew(self) -> None:
        """Begin another session: the server counts the ids of its requests anew."""
        self._server_asked.clear()

    # --- client: requests and conformance ---

    def _heard(self, frame: Any, data: bytes) -> None:
        named = _named(frame)
        self._named = named or self._named
        if isinstance(frame, dict) and "method" not in frame and frame.keys() & {"result", "error"}:
            return
        right = not self._checker(named or self.spoken).check(data, "client")
        if isinstance(frame, dict) and "method" in frame and "id" in frame:
            id = msgspec.json.encode(frame["id"])
            right = right and not self._client_asked.get(id)
            # An id that is still open may come again: then there are two answers to it.
            asked = _Asked(data, str(frame["method"]), named)
            self._client_asked.setdefault(id, []).append(asked)
        self._client_is_right = self._client_is_right and right

    # --- server messages ---

    def _said(self, frame: Any, data: bytes) -> None:
        if not isinstance(frame, dict):
            self._add(self.spoken, self._checker(self.spoken).check(data, "server"))
        elif "method" in frame:
            self._asks_or_tells(frame, data)
        else:
            self._answers(frame, data)

    def _asks_or_tells(self, frame: dict[str, Any], data: bytes) -> None:
        revision = self.spoken
        self._add(revision, self._checker(revision).check(data, "server"))
        self._add(revision, published(revision).message(frame))
        if "id" in frame:
            id = msgspec.json.encode(frame["id"])
            if id in self._server_asked:
                self._add(revision, [f"$.id: {frame['id']!r} was used for a request before"])
            self._server_asked.add(id)

    def _answers(self, frame: dict[str, Any], data: bytes) -> None:
        id = msgspec.json.encode(frame.get("id"))
        open_ones = self._client_asked.get(id)
        asked = open_ones.pop(0) if open_ones else None
        if asked is None:
            # A message that is no request can still have an id, which its error repeats; and of
            # two requests with one id it is unknown which one a response answers.
            if self._client_is_right or "id" not in frame:
                self._add(self.spoken, self._checker(self.spoken).check(data, "server"))
            return
        if asked.method == "initialize" and "result" in frame:
            self._agree(frame["result"])
        revision = asked.revision or self.spoken
        profile = mcp_wire.profile(revision)
        known = asked.method in {*profile.methods, *self.extensions.rows(profile)}
        if known or "error" in frame:
            checker = self._checker(revision)
            checker.check(asked.frame, "client")
            self._add(revision, checker.check(data, "server"))
        schema = published(revision)
        other = answers_otherwise(frame.get("result"), self.extensions)
        if other is not None:
            if other.encode() not in asked.frame:
                self._add(revision, [f"$.result: the client has not declared {other}"])
        elif "result" in frame:
            self._add(revision, schema.result(asked.method, frame["result"]))
        elif isinstance(frame.get("error"), dict):
            self._add(revision, schema.error(frame))

    def _agree(self, result: Any) -> None:
        """Take the negotiated revision from the result of a handshake."""
        revision = result.get("protocolVersion")
        if revision in HANDSHAKES:
            self.revision = revision
        else:
            self._add(self.spoken, [f"$.result.protocolVersion: {revision!r} has no handshake"])

    def _checker(self, revision: str) -> FrameChecker:
        return FrameChecker(mcp_wire.profile(revision), self.extensions)

    def _add(self, revision: str, found: Iterable[object]) -> None:
        for one in found:
            text = str(one)
            self.violations.append(text if revision in text else f"{text} ({revision})")


def _named(frame: Any) -> str | None:
    """Return the revision that a message names, or that a server assumes for it."""
    params = frame.get("params") if isinstance(frame, dict) else None
    meta = params.get("_meta") if isinstance(params, dict) else None
    if not isinstance(meta, dict):
        return None
    named = [meta[key] for key in NAMES_REVISION & meta.keys()]
    return next((one for one in named if one in PER_REQUEST), PER_REQUEST[-1]) if named else None


class Guard:
    """All watches of a running test."""

    def __init__(self) -> None:
        self._watches: list[Watch | ClientWatch] = []
        self._sessions: dict[str, Watch] = {}

    def watch(self, revision: str | None = None) -> Watch:
        """Return a watch for a new connection."""
        made = Watch(revision)
        self._watches.append(made)
        return made

    def watch_client(
        self, spoken: Callable[[], str | None], offered: Callable[[], Extensions | None]
    ) -> ClientWatch:
        """Return a watch for a new connection of a client."""
        made = ClientWatch(spoken, offered)
        self._watches.append(made)
        return made

    def take(self) -> list[str]:
        """Return and remove the violations so far."""
        found = [one for each in self._watches for one in each.violations]
        for each in self._watches:
            each.violations.clear()
        return found

    def posted(self, headers: Mapping[str, str]) -> Watch:
        """Return the watch of the session in a POST's headers, or a new one."""
        named = (self._sessions[one] for one in headers.values() if one in self._sessions)
        return next(named, None) or self.watch()

    def begun(self, session: str, seen: Watch) -> None:
        """Register a new session, opened in the exchange of this watch."""
        self._sessions[session] = seen

    def put(self, session: str, message: bytes) -> None:
        """Check a message on a stream of a session."""
        if session in self._sessions:
            self._sessions[session].saw("server", message)


_guards: list[Guard] = []
_exchange: ContextVar[Watch] = ContextVar("exchange")
"""Watch on the current HTTP exchange."""


def watch() -> Watch:
    """Return a watch for a connection that a test harness opened itself."""
    return _guards[-1].watch() if _guards else Watch()


@contextmanager
def guarded() -> Iterator[Guard]:
    """Watch every server and client; fail at the end after a violation.

    Raises:
        AssertionError: a frame was wrong; names the frame and the place.
    """
    guard = Guard()
    _guards.append(guard)
    try:
        yield guard
    finally:
        _guards.remove(guard)
    # If both ends are watched, each violation is found twice.
    found = dict.fromkeys(guard.take())
    if found:
        raise AssertionError("\n".join(["sent what the revision does not have:", *found]))


@cache
def _passing_on(kind: type[Watched], names: frozenset[str]) -> type[Watched]:
    """Return a class whose instances have these attributes: those of what they watch."""
    members = {name: property(lambda self, name=name: getattr(self._inner, name)) for name in names}
    return type(kind.__name__, (kind,), members)


class Watched:
    """Transport of one side, with a watch on it."""

    def __new__(cls, inner: Duplex, seen: Watch | ClientWatch, side: Sender) -> Watched:
        # What a transport can do is asked of its class, which `__getattr__` tells nothing of.
        names = frozenset(name for name in dir(inner) if name[0] != "_" and not hasattr(cls, name))
        return super().__new__(_passing_on(cls, names))

    def __init__(self, inner: Duplex, seen: Watch | ClientWatch, side: Sender) -> None:
        self._inner = inner
        self._seen = seen
        self._side: Sender = side
        self._receiver: Receiver | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    # A transport may pass more arguments with its messages than others do.

    def post(self, message: bytes, *given: Any) -> Any:
        self._seen.saw(self._side, message)
        return self.__getattr__("post")(message, *given)

    def tell(self, message: bytes, *given: Any) -> None:
        self._seen.saw(self._side, message)
        self.__getattr__("tell")(message, *given)

    async def start(self, receiver: Receiver) -> None:
        self._receiver = receiver
        await self._inner.start(self)

    def send(self, message: bytes) -> None:
        self._seen.saw(self._side, message)
        self._inner.send(message)

    async def drain(self) -> None:
        await self._inner.drain()

    async def aclose(self) -> None:
        await self._inner.aclose()

    def receive(self, message: bytes) -> None:
        self._seen.saw("server" if self._side == "client" else "client", message)
        assert self._receiver
        self._receiver.receive(message)

    def oversized(self, limit_bytes: int, beginning: bytes = b"", end: bytes = b"") -> bool | None:
        assert self._receiver
        return self._receiver.oversized(limit_bytes, beginning, end)

    def closed(self, error: BaseException | None) -> None:
        assert self._receiver
        self._receiver.closed(error)


def _agreed(connection: ref[ClientConnection]) -> str | None:
    """Return a client connection's revision; the reference to it is weak."""
    here = connection()
    return here.profile.revision if here and here.profile else None


def _offered(connection: ref[ClientConnection]) -> Extensions | None:
    """Return the client's extensions."""
    here = connection()
    return here.extensions if here else None


def install() -> None:
    """Install watches on every server of this process, from now on."""
    begin: Callable[..., None] = ServerConnection.__init__
    begin_client: Callable[..., None] = ClientConnection.__init__
    answer: Callable[..., Any] = HttpExchange.answer
    make_session: Callable[..., None] = HttpSession.__init__
    put_on_stream: Callable[..., None] = Stream.put
    notify: Callable[..., None] = ResponseChannel.notify

    def watched(self: Any, kernel: Any, transport: Duplex, *args: Any, **named: Any) -> None:
        if _guards:
            seen = watch()
            seen.extensions = kernel.extensions
            transport = Watched(transport, seen, "server")
        begin(self, kernel, transport, *args, **named)

    def client(self: Any, transport: Duplex, *args: Any, **named: Any) -> None:
        if _guards:
            connection = ref(self)
            seen = _guards[-1].watch_client(
                partial(_agreed, connection), partial(_offered, connection)
            )
            transport = Watched(transport, seen, "client")
        begin_client(self, transport, *args, **named)

    async def exchange(self: Any, message: bytes, headers: Headers, reply: Reply) -> Answer | None:
        if not _guards:
            return await answer(self, message, headers, reply)
        seen = _guards[-1].posted(headers)
        seen.extensions = self._kernel.extensions
        seen.saw("client", message)
        token = _exchange.set(seen)
        try:
            answered: Answer | None = await answer(self, message, headers, reply)
        finally:
            _exchange.reset(token)
        if answered is not None and answered.body:
            seen.saw("server", answered.body)
        return answered

    def session_made(self: Any, *args: Any, **named: Any) -> None:
        make_session(self, *args, **named)
        seen = _exchange.get(None)
        if _guards and seen is not None:
            _guards[-1].begun(self.id, seen)

    def put(self: Any, message: bytes) -> None:
        if _guards:
            _guards[-1].put(self.streams.session_id, message)
        put_on_stream(self, message)

    def notified(self: Any, method: Any, params: Any = UNSET) -> None:
        seen = _exchange.get(None)
        if _guards and seen is not None and self.reply.can_stream and not self.reply.full:
            seen.saw("server", envelope.notification(method.name, params))
        notify(self, method, params)

    ClientConnection.__init__ = client  # type: ignore[method-assign]
    ServerConnection.__init__ = watched  # type: ignore[method-assign]
    HttpExchange.answer = exchange  # type: ignore[method-assign]
    HttpSession.__init__ = session_made  # type: ignore[method-assign]
    Stream.put = put  # type: ignore[method-assign]
    ResponseChannel.notify = notified  # type: ignore[method-assign]
