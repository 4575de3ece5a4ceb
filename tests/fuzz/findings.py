"""Findings, and what a block of inputs is."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import msgspec

import mcp_wire

__all__ = ["BLOCK", "Block", "Finding", "Findings", "revision_of"]

BLOCK = 50
"""Inputs that share a session, and a revision."""
MOST_BYTES = 400
MOST_TEXT = 1500


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """Something that is wrong.

    Args:
        surface: The surface.
        index: The input that seems to cause it.
        kind: Which oracle has found it: `ended`, `internal`, `traceback`, `unanswered`,
            `unasked`, `invalid`, `probe`, `stalled`, `memory` or `wrong`.
        what: Description.
        data: Bytes of the input, shortened.
        reproduce: Inputs that show it again: `memory:17`, or `memory:0-49`.
    """

    surface: str
    index: int
    kind: str
    what: str
    data: str = ""
    reproduce: str = ""

    @property
    def alike(self) -> tuple[str, str, str]:
        """Key of findings that are the same fault, most likely."""
        text = re.sub(r"0x[0-9a-f]+|\d+|'[^']*'|\"[^\"]*\"|`[^`]*`", "…", self.what)
        lines = [line for line in text.splitlines() if line.strip()]
        brief = " ".join([lines[0], lines[-1]] if len(lines) > 1 else lines)
        return self.surface, self.kind, brief[:200]

    def shown_by(self, words: str) -> Finding:
        """Return the finding with the words that show it again."""
        return msgspec.structs.replace(self, reproduce=words)


def revision_of(index: int) -> str:
    """Return the revision of an input."""
    return mcp_wire.REVISIONS[index // BLOCK % len(mcp_wire.REVISIONS)]


@dataclass(frozen=True)
class Block:
    """Inputs that are sent in one session.

    Args:
        seed: Seed of the run.
        surface: Name of the surface.
        indexes: Numbers of the inputs, in order.
    """

    seed: int
    surface: str
    indexes: tuple[int, ...]

    @classmethod
    def number(cls, seed: int, surface: str, number: int) -> Block:
        """Return one of the blocks that make up a run."""
        return cls(seed, surface, tuple(range(number * BLOCK, (number + 1) * BLOCK)))

    @property
    def revision(self) -> str:
        """Revision of the session."""
        return revision_of(self.indexes[0])

    def random(self, index: int, purpose: str = "") -> Random:
        """Return the random numbers of one input alone."""
        return Random(f"{self.seed} {self.surface} {self.revision} {index} {purpose}")

    def only(self, indexes: tuple[int, ...]) -> Block:
        """Return the block with some of its inputs."""
        return replace(self, indexes=indexes)

    @property
    def words(self) -> str:
        """The inputs, as `--only` takes them."""
        first, last = self.indexes[0], self.indexes[-1]
        if len(self.indexes) == last - first + 1:
            return f"{self.surface}:{first}" + (f"-{last}" if last > first else "")
        return f"{self.surface}:" + ",".join(map(str, self.indexes))


@dataclass
class Findings:
    """Collects the findings of one block."""

    block: Block
    found: list[Finding] = field(default_factory=list[Finding])
    inputs: dict[int, bytes] = field(default_factory=dict[int, bytes])

    def add(self, kind: str, what: Any, index: int | None = None) -> None:
        """Add a finding; without an index it is about the block."""
        at = self.block.indexes[0] if index is None else index
        data = self.inputs.get(at, b"") if index is not None else b""
        self.found.append(
            Finding(
                surface=self.block.surface,
                index=at,
                kind=kind,
                what=_cut(str(what)),
                data=shortened(data),
                reproduce=self.block.words,
            )
        )


def _cut(text: str) -> str:
    """Return a text without its middle: of a traceback the end says most."""
    if len(text) <= MOST_TEXT:
        return text
    return f"{text[: MOST_TEXT // 3]} … {text[-2 * MOST_TEXT // 3 :]}"


def shortened(data: bytes) -> str:
    """Return bytes as text, the middle left out if they are many."""
    if len(data) > MOST_BYTES:
        half = MOST_BYTES // 2
        left_out = f" … {len(data) - 2 * half} bytes … "
        return repr(data[:half])[2:-1] + left_out + repr(data[-half:])[2:-1]
    return repr(data)[2:-1]
