"""What the specification demands, as data: a row per demand, with the words it stands for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

__all__ = [
    "Extension",
    "Pages",
    "Place",
    "Requirement",
    "pages",
    "pending",
    "requirements",
    "words_by_page",
]

HERE = Path(__file__).parent
DATA = {"pages.toml", "pending.toml"}
SITE = "https://modelcontextprotocol.io/specification"


class Place(Struct, frozen=True, forbid_unknown_fields=True):
    """Where a demand stands: a page and its section, at some revisions.

    `words` is how many MUST and SHOULD of that section the demand stands for: none where another
    demand counts the word that both come from. The page is the specification's, or that of an
    `extension`, which has one text for all revisions that it is for.
    """

    spec: str
    revisions: tuple[str, ...]
    words: int = 1
    extension: str = ""

    @property
    def page(self) -> str:
        return self.spec.partition("#")[0]

    @property
    def section(self) -> str:
        return self.spec.partition("#")[2]

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts that the page is one of: of revisions, or of the extension."""
        return (self.extension,) if self.extension else self.revisions

    def link(self, text: str) -> str:
        """Where one of the texts has it."""
        if self.extension:
            return pages().extensions[text].link(self.page, self.section)
        return f"{SITE}/{text}/{self.spec}".replace("/index", "")


class Requirement(Struct, frozen=True, forbid_unknown_fields=True):
    """One demand, in our words.

    `applies` says whom it binds. An author is who writes a server with this library, a host who
    writes an application with its client: they do what no library can do. `unmet` says why a demand
    on our server or client is not met, `untested` why no test could show that it is.
    """

    id: str
    level: Literal["must", "should"]
    says: str
    at: tuple[Place, ...]
    applies: Literal["server", "author", "client", "host", "other"] = "server"
    transport: Literal["any", "stdio", "http"] = "any"
    unmet: str = ""
    untested: str = ""

    @property
    def revisions(self) -> tuple[str, ...]:
        """The revisions that it stands in, oldest first."""
        return tuple(sorted({revision for place in self.at for revision in place.revisions}))

    @property
    def binds_us(self) -> bool:
        """Whether it binds what this library is: its server or its client."""
        return self.applies in {"server", "client"}

    @property
    def for_tests(self) -> bool:
        """Whether a test can show that it is met."""
        return self.binds_us and not (self.unmet or self.untested)

    @property
    def due(self) -> bool:
        """Whether it must have a test now."""
        return self.for_tests


class Page(Struct, frozen=True, forbid_unknown_fields=True):
    """A page of the specification as it was counted."""

    words: int
    sha256: str


class Extension(Struct, frozen=True, forbid_unknown_fields=True):
    """Which pages an extension has, by path, and where they were taken from."""

    repository: str
    commit: str
    folder: str
    pages: dict[str, Page]

    def link(self, page: str, section: str) -> str:
        anchor = f"#{section}" if section else ""
        where = f"blob/{self.commit}/{self.folder}/{page}.md{anchor}"
        return f"https://github.com/{self.repository}/{where}"


class Pages(Struct, frozen=True, forbid_unknown_fields=True):
    """Which pages there are, by revision and path, and where they were taken from."""

    repository: str
    commit: str
    folder: str
    pages: dict[str, dict[str, Page]]
    extensions: dict[str, Extension]

    @property
    def texts(self) -> dict[str, dict[str, Page]]:
        """The pages by revision or extension, and by path."""
        return self.pages | {name: one.pages for name, one in self.extensions.items()}


class _Area(Struct, frozen=True, forbid_unknown_fields=True):
    requirement: tuple[Requirement, ...]


class _Pending(Struct, frozen=True, forbid_unknown_fields=True):
    pending: tuple[str, ...]


@cache
def rows() -> tuple[Requirement, ...]:
    """Every row of every area, as it stands in the files."""
    areas = sorted(path for path in HERE.glob("*.toml") if path.name not in DATA)
    read = [msgspec.toml.decode(path.read_bytes(), type=_Area) for path in areas]
    return tuple(row for area in read for row in area.requirement)


@cache
def requirements() -> dict[str, Requirement]:
    """The demands by id."""
    return {row.id: row for row in rows()}


@cache
def pages() -> Pages:
    """The pages as they were counted last."""
    return msgspec.toml.decode((HERE / "pages.toml").read_bytes(), type=Pages)


@cache
def pending() -> frozenset[str]:
    """The demands whose tests are still to be written."""
    data = (HERE / "pending.toml").read_bytes()
    return frozenset(msgspec.toml.decode(data, type=_Pending).pending)


def words_by_page(of: Iterable[Requirement]) -> Counter[tuple[str, str]]:
    """How many MUST and SHOULD of each page, by text and path, some rows stand for."""
    found: Counter[tuple[str, str]] = Counter()
    for row in of:
        for place in row.at:
            for text in place.texts:
                found[text, place.page] += place.words
    return found
