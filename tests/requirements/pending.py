"""Requirements of the specification whose tests are still to be written."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import msgspec
from msgspec import Struct

__all__ = ["pending"]

HERE = Path(__file__).parent


class _Pending(Struct, frozen=True, forbid_unknown_fields=True):
    pending: tuple[str, ...]


@cache
def pending() -> frozenset[str]:
    """Return the requirements that still need tests."""
    data = (HERE / "pending.toml").read_bytes()
    return frozenset(msgspec.toml.decode(data, type=_Pending).pending)
