"""Writer of recordings: writes what passes to a file, line by line, without secrets."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal

import msgspec

import mcp_wire
from mcp_gen.compat.json_values import entries, member
from mcp_gen.compat.recordings.lines import FORMAT, RecordedLine, RecordingHead
from mcp_gen.compat.recordings.redactor import Redactor
from mcp_gen.core.errors import UsageError

if TYPE_CHECKING:
    from mcp_gen.compat.frame_check import Sender

__all__ = ["MAX_BYTES", "MAX_MESSAGE_BYTES", "RecordingWriter", "new_file"]

MAX_BYTES = 64 * 1024 * 1024
"""Default of the maximum size of a recording, in bytes."""
MAX_MESSAGE_BYTES = 8 * 1024 * 1024
"""Default of the maximum size of a message that is recorded as a whole, in bytes."""
EXCERPT_BYTES = 1024
"""Bytes of the beginning of a larger message that are recorded."""
MAX_FILES = 10_000
"""Number of names that are tried for a file that is there already."""


class RecordingWriter:
    """Writes a recording. Its methods may be called from any thread.

    Args:
        file: File descriptor of the new file.
        redactor: Replaces secrets.
        transport: What carries the messages.
        server: The server, without secrets.
        pointers: JSON pointers to what is replaced on request, for the first line.
        max_bytes: Maximum size of the file, in bytes; what comes later is not recorded.
        max_message_bytes: Maximum size of a message that is recorded as a whole, in bytes.
    """

    def __init__(
        self,
        file: int,
        redactor: Redactor,
        *,
        transport: Literal["stdio", "http"],
        server: str,
        pointers: Sequence[str] = (),
        max_bytes: int = MAX_BYTES,
        max_message_bytes: int = MAX_MESSAGE_BYTES,
    ) -> None:
        self.max_message_bytes = max_message_bytes
        self.problem = ""
        """Why recording has ended early; empty if it has not."""
        self._file = file
        self._redactor = redactor
        self._left_bytes = max_bytes
        self._spoken = _Spoken()
        self._lock = threading.Lock()
        self._began_s = monotonic()
        self._write(
            RecordingHead(
                recording=FORMAT,
                started=datetime.now(UTC).isoformat(timespec="milliseconds"),
                transport=transport,
                server=server,
                redacted=tuple(pointers),
            )
        )

    def message(
        self,
        sender: Sender,
        data: bytes,
        *,
        exchange: int = 0,
        fields: Mapping[str, str] | None = None,
        size_bytes: int | None = None,
        at_s: float | None = None,
    ) -> None:
        """Record what stands in the place of a message.

        Args:
            sender: The side that sent it.
            data: Its bytes, or their beginning if it is larger than is recorded.
            exchange: Number of the HTTP exchange.
            fields: Fields of an SSE event.
            size_bytes: Size of the whole; None: that of `data`.
            at_s: Time of `time.monotonic()`; None: this moment.
        """
        with self._lock:
            size_bytes = len(data) if size_bytes is None else size_bytes
            is_cut = size_bytes > self.max_message_bytes
            message: Any = msgspec.UNSET
            text = ""
            if is_cut:
                data = data[:EXCERPT_BYTES]
            try:
                if is_cut:
                    raise ValueError
                value = msgspec.json.decode(data)
                self._spoken.heard(sender, value)
                message = self._redactor.message(value)
            except (ValueError, RecursionError):
                # Neither what is no JSON, nor what is nested too deeply to be walked through.
                text = self._redactor.text(data.decode("utf-8", "backslashreplace"))
            self._add(
                RecordedLine(
                    at_s=self._at_s(at_s),
                    sender=sender,
                    kind="message",
                    revision=self._spoken.revision,
                    exchange=exchange,
                    message=message,
                    text=text,
                    size_bytes=size_bytes if is_cut else 0,
                    fields=self._redactor.headers(fields or {}),
                )
            )

    def request(
        self, exchange: int, method: str, path: str, headers: Mapping[str, str], body: bytes
    ) -> None:
        """Record the head of an HTTP request.

        Args:
            exchange: Number of the HTTP exchange.
            method: The method.
            path: Path and query.
            headers: The headers, with names in lower case.
            body: The body, whose secrets may be repeated in headers.
        """
        with self._lock:
            self._spoken.headed(headers)
            for secrets in (_decoded(body), headers):
                self._redactor.message(secrets)
            self._add(
                RecordedLine(
                    at_s=self._at_s(None),
                    sender="client",
                    kind="request",
                    revision=self._spoken.revision,
                    exchange=exchange,
                    method=method,
                    path=self._redactor.path(path),
                    headers=self._redactor.headers(headers),
                )
            )

    def response(self, exchange: int, status: int, headers: Mapping[str, str]) -> None:
        """Record the head of an HTTP response."""
        with self._lock:
            self._add(
                RecordedLine(
                    at_s=self._at_s(None),
                    sender="server",
                    kind="response",
                    revision=self._spoken.revision,
                    exchange=exchange,
                    status=status,
                    headers=self._redactor.headers(headers),
                )
            )

    def event(self, exchange: int, fields: Mapping[str, str], data: bytes | None) -> None:
        """Record an SSE event that holds no message."""
        with self._lock:
            text = (data or b"").decode("utf-8", "backslashreplace")
            is_address = text.startswith(("/", "http://", "https://"))
            self._add(
                RecordedLine(
                    at_s=self._at_s(None),
                    sender="server",
                    kind="sse",
                    exchange=exchange,
                    text=self._redactor.path(text) if is_address else self._redactor.text(text),
                    fields=self._redactor.headers(fields),
                )
            )

    def ended(self, sender: Sender, exchange: int, about: str = "") -> None:
        """Record the end of an HTTP response."""
        self._end(sender, "ended", exchange, about, None)

    def closed(self, sender: Sender, about: str = "", at_s: float | None = None) -> None:
        """Record the end of a connection, or of a process."""
        self._end(sender, "closed", 0, about, at_s)

    def aclose(self) -> None:
        """Close the file."""
        with self._lock:
            if self._file >= 0:
                os.close(self._file)
                self._file = -1

    def _end(
        self,
        sender: Sender,
        kind: Literal["ended", "closed"],
        exchange: int,
        about: str,
        at_s: float | None,
    ) -> None:
        with self._lock:
            self._add(
                RecordedLine(
                    at_s=self._at_s(at_s),
                    sender=sender,
                    kind=kind,
                    exchange=exchange,
                    about=self._redactor.text(about),
                )
            )

    def _at_s(self, at_s: float | None) -> float:
        return round((monotonic() if at_s is None else at_s) - self._began_s, 6)

    def _add(self, line: RecordedLine) -> None:
        if not self.problem:
            self._write(line)

    def _write(self, line: RecordingHead | RecordedLine) -> None:
        data = msgspec.json.encode(line) + b"\n"
        full = b""
        if len(data) > self._left_bytes:
            self.problem = "the recording has reached its limit"
            about = "the limit of the size was reached; what came later was not recorded"
            at_s = line.at_s if isinstance(line, RecordedLine) else 0.0
            full = msgspec.json.encode(
                RecordedLine(at_s=at_s, sender="server", kind="full", about=about)
            )
            data = full + b"\n"
        self._left_bytes -= len(data)
        try:
            # Unbuffered: each line is there at once, whatever happens to this process.
            while data:
                data = data[os.write(self._file, data) :]
        except OSError as error:
            self.problem = f"the recording cannot be written: {error.strerror}"


class _Spoken:
    """The revision that is spoken, as far as the messages tell."""

    def __init__(self) -> None:
        self.revision: str | None = None
        profiles = [mcp_wire.profile(one) for one in mcp_wire.REVISIONS]
        self._handshakes = {one.handshake.name for one in profiles if one.handshake}
        self._keys = {one.protocol_version_key for one in profiles} - {None}
        self._headers = {one.version_header.lower() for one in profiles if one.version_header}
        self._asked: list[Any] = []

    def heard(self, sender: Sender, message: Any) -> None:
        """Take a message."""
        for frame in entries(message):
            if sender == "client":
                said = [member(frame, "params", "_meta", key or "") for key in self._keys]
                if frame.get("method") in self._handshakes:
                    self._asked.append(frame.get("id"))
                    said.append(member(frame, "params", "protocolVersion"))
                self._take(said)
            elif "result" in frame and frame.get("id") in self._asked:
                self._asked.remove(frame["id"])
                self._take([member(frame, "result", "protocolVersion")])

    def headed(self, headers: Mapping[str, str]) -> None:
        """Take the headers of a request."""
        self._take([headers.get(name) for name in self._headers])

    def _take(self, said: Iterable[Any]) -> None:
        for one in said:
            # Of no use if it is no revision, and unbounded.
            if isinstance(one, str) and one in mcp_wire.REVISIONS:
                self.revision = one


def _decoded(data: bytes) -> Any:
    try:
        return msgspec.json.decode(data) if data else None
    except (ValueError, RecursionError):
        return None


def new_file(path: Path) -> tuple[int, Path]:
    """Create a file that its owner alone may read; return its descriptor and its path.

    Args:
        path: The path. If there is such a file, a number is added to its name.

    Raises:
        UsageError: it cannot be created.
    """
    for number in range(1, MAX_FILES):
        tried = path if number == 1 else path.with_stem(f"{path.stem}-{number}")
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
            return os.open(tried, flags, 0o600), tried
        except FileExistsError:
            continue
        except OSError as error:
            raise UsageError(f"{tried} cannot be written: {error.strerror}") from None
    raise UsageError(f"{path}: there are {MAX_FILES} files of that name; remove some")
