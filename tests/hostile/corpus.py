"""The corpus as data: the bytes to send, the required response, and its source.

Each file beside this one is a theme. A `[[request]]` is a changed valid request (`send`, one of
`bases.toml`). A `[[combined]]` is many requests that differ in one place, or all combinations of
some headers' values.
"""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from tests.support.frames import Speaker

__all__ = ["Base", "Hostile", "corpus", "sources"]

HERE = Path(__file__).parent


class Base(Struct, frozen=True, forbid_unknown_fields=True):
    """A valid request."""

    revision: str
    method: str = "POST"
    path: str = "/mcp"
    headers: dict[str, str] = {}
    body: str = ""
    session: str = "none"
    """Session in which the request is sent: see `Hostile`."""


class Hostile(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Hostile request with its required response. Absent members are as in the base."""

    theme: str
    id: str
    send: str
    source: str
    """Source of the requirement: a name in `sources.toml`, or "ours"."""
    why: str = ""
    status: int | dict[str, int]
    """HTTP status; by HTTP parser where parsers refuse the request differently. 0: no response."""
    code: int | dict[str, int] | None = None
    """JSON-RPC error code; None: no error."""

    method: str | None = None
    path: str | None = None
    drop: list[str] = []
    """Headers that are left out."""
    set: dict[str, str] = {}
    """Headers with another value."""
    add: list[list[str]] = []
    """Additional header lines."""
    body: str | None = None
    """Request body; META is replaced by the revision's `_meta`, FILL by `fill`."""
    body_bytes: str | None = None
    """Request body that is not UTF-8: one byte per character."""
    fill: tuple[str, int] | None = None
    """Text and its number of repetitions; replaces FILL in headers, too."""
    chunks: str | None = None
    """Body with chunked transfer coding, as on the wire."""
    raw: str | None = None
    """Whole request, as on the wire. HOST is replaced by the server, SESSION by the session id."""
    half: bool = False
    """True if the client sends nothing more, though the request is incomplete."""
    session: str | None = None
    """"own", "ended", "foreign" (another client's) or "none"."""
    stream: bool = False
    """True if the response is a stream that stays open."""
    answers: int = 1
    """Number of identical responses."""
    parts: int = 0
    """Number of messages in the response's array."""
    has: str = ""
    """Text that the response body contains."""
    over: list[str] = []
    """HTTP servers of the row; empty: all that can take it. "asgi" is the app without a server."""
    alone: bool = True
    """True if the row is written by itself, not generated from a combined row."""

    @property
    def base(self) -> Base:
        return bases()[self.send]

    def is_for(self, server: str) -> bool:
        """Return True if the row is for this HTTP server, or for the app without one ("asgi")."""
        if self.over:
            return server in self.over
        # An app never sees errors of HTTP itself.
        return server != "asgi" or (self.theme != "framing" and "%" not in (self.path or ""))

    @property
    def session_is(self) -> str:
        return self.session or self.base.session

    def status_of(self, server: str) -> int:
        return self.status[server] if isinstance(self.status, dict) else self.status

    def code_of(self, server: str) -> int | None:
        return self.code.get(server) if isinstance(self.code, dict) else self.code

    # --- sent messages ---

    def lines(self) -> list[tuple[str, str]]:
        """Return the header lines, without those of the connection and the session."""
        changed = {name.lower() for name in (*self.set, *self.drop)}
        kept = {n: v for n, v in self.base.headers.items() if n.lower() not in changed}
        found = [*kept.items(), *self.set.items(), *((name, value) for name, value in self.add)]
        return [(name, self.filled(value)) for name, value in found]

    def content(self) -> bytes:
        if self.body_bytes is not None:
            return self.whole(self.body_bytes).encode("latin-1")
        return self.whole(self.base.body if self.body is None else self.body).encode()

    def whole(self, text: str) -> str:
        meta = msgspec.json.encode(Speaker(self.base.revision).meta).decode()
        return self.filled(text).replace("META", meta)

    def filled(self, text: str) -> str:
        if self.fill is None or "FILL" not in text:
            return text
        unit, times = self.fill
        units = (unit.replace("ITEM", str(n)) for n in range(times)) if "ITEM" in unit else ()
        return text.replace("FILL", "".join(units) or unit * times)


class _Choice(Struct, frozen=True, forbid_unknown_fields=True):
    """Alternatives for one header: lines of it, each a value."""

    says: str
    lines: list[str] = []
    good: bool = False
    status: int | None = None
    code: int | None = None


class _Combined(Struct, frozen=True, forbid_unknown_fields=True):
    """Combined row: many requests that differ in one place: the path, CASE, or headers.

    Headers are tried in all combinations: valid if each is, else refused.
    """

    id: str
    send: str
    source: str
    status: int
    code: int | None = None
    path: list[str] = []
    body: str = ""
    """Request body in which each case replaces the word CASE."""
    bytes: bool = False
    """True if each character of the body is one byte."""
    case: dict[str, str] = {}
    header: dict[str, list[_Choice]] = {}
    set: dict[str, str] = {}
    fill: tuple[str, int] | None = None
    has: str = ""
    why: str = ""
    good: int = 200
    stream: bool = False

    def rows(self) -> Iterator[dict[str, Any]]:
        same = ("send", "source", "why", "status", "code", "fill", "has")
        common = {name: getattr(self, name) for name in same}
        for path in self.path:
            yield {**common, "id": f"{self.id} {path}", "path": path}
        for says, text in self.case.items():
            body = {"body_bytes" if self.bytes else "body": self.body.replace("CASE", text)}
            headers = {name: value.replace("CASE", text) for name, value in self.set.items()}
            yield {**common, **body, "id": f"{self.id} {says}", "set": headers}
        if self.header:
            for row in self._products():
                yield {**common, **row}

    def _products(self) -> Iterator[dict[str, Any]]:
        for chosen in itertools.product(*self.header.values()):
            pairs = list(zip(self.header, chosen, strict=True))
            # Headers are listed in the order of their checks.
            wrong = next((choice for choice in chosen if not choice.good), None)
            yield {
                "id": f"{self.id}: " + ", ".join(f"{name} {c.says}" for name, c in pairs),
                "status": wrong.status or self.status if wrong else self.good,
                "code": wrong.code or self.code if wrong else None,
                "stream": self.stream and wrong is None,
                "drop": [name for name, _ in pairs],
                "add": [[name, line] for name, choice in pairs for line in choice.lines],
            }


class _Theme(Struct, frozen=True, forbid_unknown_fields=True):
    request: list[dict[str, Any]] = []
    combined: list[_Combined] = []


@cache
def bases() -> Mapping[str, Base]:
    return msgspec.convert(tomllib.loads(_text("bases")), dict[str, Base])


@cache
def sources() -> dict[str, str]:
    """Return the links to the requirements, by the names in the rows."""
    return msgspec.convert(tomllib.loads(_text("sources")), dict[str, str])


@cache
def corpus() -> list[Hostile]:
    """Return every row, in the order of the themes."""
    found: list[Hostile] = []
    for file in sorted(HERE.glob("*.toml")):
        if file.stem not in ("bases", "sources"):
            theme = msgspec.convert(tomllib.loads(_text(file.stem)), _Theme)
            many = [{**row, "alone": False} for one in theme.combined for row in one.rows()]
            rows = [*theme.request, *many]
            found += msgspec.convert([{**row, "theme": file.stem} for row in rows], list[Hostile])
    return found


def _text(name: str) -> str:
    return (HERE / f"{name}.toml").read_text(encoding="utf-8")
