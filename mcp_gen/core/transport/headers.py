"""HTTP request headers, decoded on demand."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

__all__ = ["Headers", "Lines"]

Lines: TypeAlias = Sequence[tuple[bytes, bytes]]
"""Header lines: pairs of name, in lower case, and value."""


class Headers(Mapping[str, str]):
    """Mapping of header names, in any case, to values. Repeated headers are joined with a comma.

    Args:
        lines: Pairs of name (in lower case) and value, as ASGI passes them.

    Source: https://www.rfc-editor.org/rfc/rfc9110.html#name-field-lines-and-combined-fi
    """

    __slots__ = ("_lines", "raw")

    raw: dict[bytes, bytes]
    """Values by name in lower case, undecoded."""

    def __init__(self, lines: Collection[tuple[bytes, bytes]] = ()) -> None:
        self._lines = lines
        # ASGI guarantees names in lower case.
        self.raw = dict(lines)
        if len(self.raw) != len(lines):
            self.raw = _combined(lines)

    def forget(self) -> None:
        """Free the table of values. It is rebuilt from the lines on the next access."""
        del self.raw

    def __getattr__(self, name: str) -> Any:
        # Only called for missing attributes: `raw` after `forget`.
        if name != "raw":
            raise AttributeError(name)
        self.raw = _combined(self._lines)
        return self.raw

    def __getitem__(self, name: str) -> str:
        return self.raw[name.lower().encode("latin-1")].decode("latin-1")

    def __iter__(self) -> Iterator[str]:
        return (name.decode("latin-1") for name in self.raw)

    def __len__(self) -> int:
        return len(self.raw)

    def __repr__(self) -> str:
        # No values: they may be credentials.
        return f"Headers({', '.join(self)})"


def _combined(lines: Collection[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    found: dict[bytes, list[bytes]] = {}
    for name, value in lines:
        found.setdefault(name, []).append(value)
    return {name: b", ".join(values) for name, values in found.items()}
