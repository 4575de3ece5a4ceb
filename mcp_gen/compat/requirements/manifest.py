"""The specification's requirements as data: one row per requirement, with its word counts."""

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
    "requirements",
    "rows",
    "words_by_page",
]

HERE = Path(__file__).parent
SITE = "https://modelcontextprotocol.io/specification"


class Place(Struct, frozen=True, forbid_unknown_fields=True):
    """Place of a requirement: a page and its section, at some revisions.

    `words` is the number of MUST and SHOULD of that section that the requirement covers: none where
    another requirement covers the word. The page is the specification's, or that of an `extension`,
    which has one text for all of its revisions.
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
        """Texts of the page: those of the revisions, or that of the extension."""
        return (self.extension,) if self.extension else self.revisions

    def link(self, text: str) -> str:
        """Return the link to the page in one of the texts."""
        if self.extension:
            return pages().extensions[text].link(self.page, self.section)
        return f"{SITE}/{text}/{self.spec}".replace("/index", "")


class Requirement(Struct, frozen=True, forbid_unknown_fields=True):
    """Requirement of the specification, in our words.

    `applies` names the party it binds. An author writes a server with this library, a host writes
    an application with its client: they do what no library can do. `unmet` is the reason why our
    server or client does not meet the requirement, `untested` why no test could show it. `unseen`
    is the reason why nobody can see from outside whether a peer meets it.
    """

    id: str
    level: Literal["must", "should"]
    says: str
    at: tuple[Place, ...]
    applies: Literal["server", "author", "client", "host", "other"] = "server"
    transport: Literal["any", "stdio", "http"] = "any"
    unmet: str = ""
    untested: str = ""
    unseen: str = ""

    @property
    def revisions(self) -> tuple[str, ...]:
        """Revisions of the requirement, oldest first."""
        return tuple(sorted({revision for place in self.at for revision in place.revisions}))

    def link(self, revision: str) -> str:
        """Return the link to the first place of the requirement at one of its revisions."""
        place = next(one for one in self.at if revision in one.revisions)
        return place.link(place.extension or revision)

    @property
    def binds_us(self) -> bool:
        """True if the requirement binds this library's server or client."""
        return self.applies in {"server", "client"}

    @property
    def for_tests(self) -> bool:
        """True if a test can show that the requirement is met."""
        return self.binds_us and not (self.unmet or self.untested)

    @property
    def due(self) -> bool:
        """True if the requirement must have a test now."""
        return self.for_tests


class Page(Struct, frozen=True, forbid_unknown_fields=True):
    """Page of the specification, with its counts."""

    words: int
    sha256: str


class Extension(Struct, frozen=True, forbid_unknown_fields=True):
    """Pages of an extension by path, and their source."""

    repository: str
    commit: str
    folder: str
    pages: dict[str, Page]

    def link(self, page: str, section: str) -> str:
        anchor = f"#{section}" if section else ""
        where = f"blob/{self.commit}/{self.folder}/{page}.md{anchor}"
        return f"https://github.com/{self.repository}/{where}"


class Pages(Struct, frozen=True, forbid_unknown_fields=True):
    """Pages by revision and path, and their source."""

    repository: str
    commit: str
    folder: str
    pages: dict[str, dict[str, Page]]
    extensions: dict[str, Extension]

    @property
    def texts(self) -> dict[str, dict[str, Page]]:
        """Pages by revision or extension, and by path."""
        return self.pages | {name: one.pages for name, one in self.extensions.items()}


class _Area(Struct, frozen=True, forbid_unknown_fields=True):
    requirement: tuple[Requirement, ...]


@cache
def rows() -> tuple[Requirement, ...]:
    """Return every row of every area, as in the files."""
    areas = sorted(path for path in HERE.glob("*.toml") if path.name != "pages.toml")
    read = [msgspec.toml.decode(path.read_bytes(), type=_Area) for path in areas]
    return tuple(row for area in read for row in area.requirement)


@cache
def requirements() -> dict[str, Requirement]:
    """Return the requirements by id."""
    return {row.id: row for row in rows()}


@cache
def pages() -> Pages:
    """Return the pages with their last counts."""
    return msgspec.toml.decode((HERE / "pages.toml").read_bytes(), type=Pages)


def words_by_page(of: Iterable[Requirement]) -> Counter[tuple[str, str]]:
    """Return the number of MUST and SHOULD that the rows cover, by text and page."""
    found: Counter[tuple[str, str]] = Counter()
    for row in of:
        for place in row.at:
            for text in place.texts:
                found[text, place.page] += place.words
    return found
