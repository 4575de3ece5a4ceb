"""Processes that live, or have ended."""

from __future__ import annotations

import os

__all__ = ["lives"]


def lives(process_id: int) -> bool:
    """Return True until the process has ended and was waited for."""
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    return True
