"""Table of what one side's revision cannot say, and of what the bridge does: `situations.toml`.

`docs/bridge.md` shows the table, and each row has a test.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Literal

import msgspec
from msgspec import Struct

import mcp_wire

__all__ = ["Situation", "SpecPage", "situations"]


class SpecPage(Struct, frozen=True, rename={"value": "is"}):
    """Page of the specification that a situation rests on.

    Args:
        path: Path of the page, below the address of a revision.
        fact: Fact of the profiles of the revisions that have the page; None for all.
        value: Value that the fact has there; None for any.
    """

    path: str
    fact: str | None = None
    value: str | None = None

    def links(self) -> Mapping[str, str]:
        """Return the address of the page, by revision."""
        profiles = map(mcp_wire.profile, mcp_wire.REVISIONS)
        return {one.revision: one.spec + self.path for one in profiles if self._is_of(one)}

    def _is_of(self, profile: Any) -> bool:
        if self.fact is None:
            return True
        found = getattr(profile, self.fact)
        return bool(found) if self.value is None else bool(found == self.value)


class Situation(Struct, frozen=True):
    """Situation in which the revisions of both sides differ in what they can say.

    Args:
        what: The situation.
        how: `emulated`: both sides see what their revision has; `refused`: by an error, or by not
            declaring it; `dropped`: nobody is told.
        answer: What the bridge does.
        pages: Where the specification says so.
        test: Test that holds it, as `module::name` of `tests/bridge`.
    """

    what: str
    how: Literal["dropped", "emulated", "refused"]
    answer: str
    pages: tuple[SpecPage, ...]
    test: str


@cache
def situations() -> tuple[Situation, ...]:
    """Return every situation, in the order of the page."""
    text = files("mcp_gen.compat.bridge").joinpath("situations.toml").read_text("utf-8")
    return msgspec.convert(tomllib.loads(text)["situation"], tuple[Situation, ...])
