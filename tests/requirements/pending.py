"""Requirements of the specification whose tests or checks are still to be written."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import msgspec
from msgspec import Struct

__all__ = ["pending", "unchecked"]

HERE = Path(__file__).parent


class _Pending(Struct, frozen=True, forbid_unknown_fields=True):
    pending: tuple[str, ...]
    unchecked: tuple[str, ...]


@cache
def pending() -> frozenset[str]:
    """Return the requirements that still need tests."""
    return frozenset(_read().pending)


@cache
def unchecked() -> frozenset[str]:
    """Return the requirements that still need a check, or the reason why there can be none."""
    return frozenset(_read().unchecked)


def _read() -> _Pending:
    return msgspec.toml.decode((HERE / "pending.toml").read_bytes(), type=_Pending)
