"""The corpus as data: what is sent, what must come back, and who says so.

Each file beside this one is a theme. A `[[request]]` is a good request (`send`, one of those in
`bases.toml`) that was changed; a `[[combined]]` is many of them that differ in one place, or all
combinations of what some headers may say.
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
    """A good request."""

    revision: str
    method: str = "POST"
    path: str = "/mcp"
    headers: dict[str, str] = {}
    body: str = ""
    session: str = "none"
    """The session in which it is sent: see `Hostile`."""


class Hostile(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A request, and its demanded answer. Absent means as in the base."""

    theme: str
    id: str
    send: str
    source: str
    """Who demands it: a name in `sources.toml`, or "ours"."""
    why: str = ""
    status: int | dict[str, int]
    """By HTTP parser, where they refuse it themselves, each in its own way. 0: no answer at all."""
    code: int | dict[str, int] | None = None
    """Of the JSON-RPC error; without one there is none."""

    method: str | None = None
    path: str | None = None
    drop: list[str] = []
    """Headers that are left out."""
    set: dict[str, str] = {}
    """Headers that say something else."""
    add: list[list[str]] = []
    """More lines of headers."""
    body: str | None = None
    """META stands for the `_meta` of the revision, FILL for `fill`."""
    body_bytes: str | None = None
    """The same, where it is not UTF-8: a byte for each character."""
    fill: tuple[str, int] | None = None
    """A text, and how often; also in headers."""
    chunks: str | None = None
    """The body with chunked transfer coding, as it is on the wire."""
    raw: str | None = None
    """The whole request, as it is on the wire. HOST stands for the server, SESSION for the id."""
    half: bool = False
    """Whether the client says nothing more after that, though more is expected."""
    session: str | None = None
    """"own", "ended", "foreign" (another client's), "none"."""
    stream: bool = False
    """Whether the answer is a stream that stays open."""
    answers: int = 1
    """How many answers come, all alike."""
    parts: int = 0
    """How many messages the array has that is the answer."""
    has: str = ""
    """What the body of the answer says."""
    over: list[str] = []
    """The HTTP servers it is for; else all that can take it. "asgi" is the app without one."""
    alone: bool = True
    """Whether it was written by itself, and not one of many that differ in one place."""

    @property
    def base(self) -> Base:
        return bases()[self.send]

    def is_for(self, server: str) -> bool:
        """Whether it is sent to an HTTP server, or to the app without one ("asgi")."""
        if self.over:
            return server in self.over
        # What is wrong with HTTP itself no app ever sees.
        return server != "asgi" or (self.theme != "framing" and "%" not in (self.path or ""))

    @property
    def session_is(self) -> str:
        return self.session or self.base.session

    def status_of(self, server: str) -> int:
        return self.status[server] if isinstance(self.status, dict) else self.status

    def code_of(self, server: str) -> int | None:
        return self.code.get(server) if isinstance(self.code, dict) else self.code

    # --- what is sent ---

    def lines(self) -> list[tuple[str, str]]:
        """Its headers, but for those of the connection and of the session."""
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
    """What a header may say: lines of it, each a value."""

    says: str
    lines: list[str] = []
    good: bool = False
    status: int | None = None
    code: int | None = None


class _Combined(Struct, frozen=True, forbid_unknown_fields=True):
    """Many rows that differ in one place: in a path, in CASE, or in what headers say.

    Of headers there are all combinations: good if each is, else refused.
    """

    id: str
    send: str
    source: str
    status: int
    code: int | None = None
    path: list[str] = []
    body: str = ""
    """Has the word CASE, and each case stands for it."""
    bytes: bool = False
    """Whether that is a byte for each character."""
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
            # Headers stand in the order in which they are looked at.
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
    """Where it stands what is demanded, by the names that rows have for it."""
    return msgspec.convert(tomllib.loads(_text("sources")), dict[str, str])


@cache
def corpus() -> list[Hostile]:
    """Every row, in the order of the themes."""
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
