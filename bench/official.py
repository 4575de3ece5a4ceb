"""Environment of the official SDK, isolated so that its pins do not affect others."""

from __future__ import annotations

from bench.environments import interpreter, peer

__all__ = ["python", "requirement"]


def requirement() -> str:
    """Return the release that we are compared with, as in the peer tests."""
    return peer("mcp")


def python() -> str:
    """Return the interpreter of the SDK's environment, which is created on first use."""
    return interpreter(requirement())
