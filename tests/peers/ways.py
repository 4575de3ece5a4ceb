"""Transports from the MCP Inspector to the inspected server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.peers.inspecting.inspector import Ran
from tests.peers.observations import TOOLS as EVERYTHING_HAS
from tests.peers.web import PATHS, Served, serving

__all__ = [
    "INSPECTED",
    "REVISIONS",
    "TOOLS",
    "WAYS",
    "Ask",
    "Way",
    "arguments",
    "each_era",
    "each_handshake",
    "each_way",
    "each_web",
    "served",
]

INSPECTED = Path(__file__).with_name("programs") / "inspected_server.py"
TOOLS = sorted([*EVERYTHING_HAS, "folder", "header", "meta", "take", "variable"])
REVISIONS = {"legacy": "2025-11-25", "modern": "2026-07-28"}

Ask = Callable[..., Ran]


class Way(NamedTuple):
    """Transport from the Inspector to a server."""

    transport: str
    era: str

    @property
    def revision(self) -> str:
        return REVISIONS[self.era]


WAYS = [
    Way("stdio", "legacy"),
    Way("stdio", "modern"),
    Way("http", "legacy"),
    Way("http", "modern"),
    Way("sse", "legacy"),
]
each_way = pytest.mark.parametrize("way", WAYS, ids="-".join)
each_web = pytest.mark.parametrize("way", [w for w in WAYS if w.transport in PATHS], ids="-".join)
each_handshake = pytest.mark.parametrize(
    "way", [w for w in WAYS if w.era == "legacy"], ids="-".join
)
each_era = pytest.mark.parametrize("era", REVISIONS)


def arguments(**values: str) -> list[str]:
    return [word for name, value in values.items() for word in ("--tool-arg", f"{name}={value}")]


@contextmanager
def served(**options: Any) -> Iterator[Served]:
    with serving(INSPECTED, **options) as web:
        yield web
        assert web.end() == 0
        assert "Traceback" not in web.stderr
