"""Hostile requests as bytes over real sockets, sent without correction."""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from tests.hostile.corpus import Hostile
from tests.hostile.target import USER, Target
from tests.support.frames import Speaker
from tests.support.http.asgi import headers_of

__all__ = ["Answer", "Socket", "Visit", "request_of"]

Lines = Sequence[tuple[str, str]]


class Answer(NamedTuple):
    """One HTTP response."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Socket:
    """Connection to a server, with the bytes that it returns."""

    def __init__(self, target: Target) -> None:
        self._socket = target.connect()
        self._left = b""
        self._ended = False

    def close(self) -> None:
        self._socket.close()

    def send(self, data: bytes, *, half: bool = False) -> None:
        # A server may disconnect before it has read everything.
        with suppress(BrokenPipeError, ConnectionResetError):
            self._socket.sendall(data)
            if half:
                self._socket.shutdown(socket.SHUT_WR)

    def answer(self, method: str = "POST", *, stream: bool = False) -> Answer | None:
        """Return the next response; of a stream the head alone. None if the server disconnects."""
        while True:
            head = self._until(b"\r\n\r\n")
            if not head:
                return None
            first, *lines = head[:-4].decode("latin-1").split("\r\n")
            status = int(first.split(" ", 2)[1])
            if status >= 200:
                break
        pairs = (line.partition(":") for line in lines)
        headers = {name.lower(): value.strip() for name, _, value in pairs}
        return Answer(status, headers, b"" if stream else self._body(method, status, headers))

    def _body(self, method: str, status: int, headers: Mapping[str, str]) -> bytes:
        if method == "HEAD" or status in (204, 304):
            return b""
        if headers.get("transfer-encoding") == "chunked":
            parts: list[bytes] = []
            while size := int(self._until(b"\r\n"), 16):
                parts.append(self._exactly(size))
                self._exactly(2)
            self._exactly(2)
            return b"".join(parts)
        return self._exactly(int(headers.get("content-length", "0")))

    def line_with(self, mark: bytes) -> bytes:
        """Return the next line that contains these bytes."""
        self._until(mark)
        return mark + self._until(b"\n").strip()

    def _until(self, mark: bytes) -> bytes:
        while mark not in self._left and not self._ended:
            self._more()
        found, mark, self._left = self._left.partition(mark)
        return found + mark

    def _exactly(self, size: int) -> bytes:
        while len(self._left) < size and not self._ended:
            self._more()
        assert len(self._left) >= size, "the server has hung up in the middle of an answer"
        found, self._left = self._left[:size], self._left[size:]
        return found

    def _more(self) -> None:
        try:
            data = self._socket.recv(65536)
        except ConnectionResetError:
            data = b""
        self._ended = not data
        self._left += data


def request_of(hostile: Hostile, host: str, session: tuple[str, Lines]) -> bytes:
    """Return a hostile request, byte for byte."""
    id, header = session
    if hostile.raw is not None:
        return hostile.whole(hostile.raw).replace("HOST", host).encode("latin-1")
    named = {name.lower() for name in (*hostile.set, *hostile.drop, *(n for n, _ in hostile.add))}
    lines = [line for line in header if line[0].lower() not in named]
    content = hostile.content()
    if hostile.chunks is not None:
        content = hostile.whole(hostile.chunks).encode("latin-1")
        lines.append(("Transfer-Encoding", "chunked"))
    elif content and "content-length" not in named:
        lines.append(("Content-Length", str(len(content))))
    if "host" not in named:
        lines.append(("Host", host))
    method, path = hostile.method or hostile.base.method, hostile.path or hostile.base.path
    head = head_of(method, hostile.filled(path), [*lines, *hostile.lines()])
    return head.replace(b"SESSION", id.encode()) + content


def head_of(method: str, path: str, lines: Lines) -> bytes:
    said = "".join(f"{name}: {value}\r\n" for name, value in lines)
    return f"{method} {path} HTTP/1.1\r\n{said}\r\n".encode("latin-1")


class Visit:
    """Client steps before and after a hostile request."""

    def __init__(self, target: Target, revision: str) -> None:
        self._target = target
        self.host = f"127.0.0.1:{target.port}"
        self._speaker = Speaker(revision)
        self._header: Lines = []
        self._owner: Lines = []
        self._stream: Socket | None = None

    def begin(self, state: str) -> tuple[str, Lines]:
        """Return the id of a session in this state, and its header."""
        if state == "none":
            return "", []
        self._owner = [(USER.decode(), "owner")] if state == "foreign" else []
        id = self._open_stream() if self._is_older else self._shake_hands()
        if state == "ended":
            self.end()
        return id, self._header

    def end(self) -> None:
        """End the session, if there is one."""
        if self._stream is not None:
            self._stream.close()
        elif self._header:
            self.ask([*self._header, *self._owner], b"", "DELETE")

    @property
    def _is_older(self) -> bool:
        return self._speaker.profile.session_header is None

    def _shake_hands(self) -> str:
        name = str(self._speaker.profile.session_header)
        id = self.ask(self._owner, self._speaker.initialize(0)).headers[name.lower()]
        self._header = [(name, id)]
        return id

    def _open_stream(self) -> str:
        self._stream = Socket(self._target)
        self._stream.send(head_of("GET", "/sse", [("Host", self.host), *self._owner]))
        head = self._stream.answer(stream=True)
        assert head
        return self._stream.line_with(b"session_id=").decode().rpartition("=")[2]

    def ask(self, lines: Lines, body: bytes, method: str = "POST") -> Answer:
        """Send a request on another connection, and return its response."""
        sent = [("Host", self.host), ("Content-Length", str(len(body))), *lines]
        connection = Socket(self._target)
        try:
            connection.send(head_of(method, "/mcp", sent) + body)
            found = connection.answer(method)
        finally:
            connection.close()
        assert found
        return found

    def is_served(self) -> bool:
        """Return True if a valid request is served."""
        message = self._speaker.call("after", "echo", text="still here")
        found = self.ask(list(headers_of(self._speaker, message).items()), message)
        return found.status == 200 and b"still here" in found.body
