"""Clients of others use our everything-server: real processes, real pipes and sockets.

Each client runs once over each transport and uses every feature; each observation is a test.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.peers.command import Command
from tests.peers.observations import ANSWERS, EVERYTHING, expected
from tests.peers.official import exercise
from tests.peers.web import Served, serving

WAIT_S = 120.0


class Peer(NamedTuple):
    """Client of others, its mode, and its transport."""

    client: str
    mode: str
    transport: str

    @property
    def revision(self) -> str:
        """Return the newest revision of that mode."""
        return "2025-11-25" if self.mode == "legacy" else "2026-07-28"


class Outcome:
    """Outcome of one run."""

    seen: dict[str, Any] | None = None
    """All observations of the client."""
    failure = ""
    """Reason for missing observations."""
    status: int | None = None
    """Exit status of the server; None if it was killed."""
    stderr = ""
    """Text that the server wrote to stderr."""


CLIENTS = [
    ("python", "auto"),
    ("python", "legacy"),
    ("typescript-v2", "auto"),
    ("typescript-v2", "legacy"),
    ("typescript-v1", "legacy"),
]
# The transport of 2024-11-05 requires a handshake.
TRANSPORTS = {"auto": ("stdio", "http"), "legacy": ("stdio", "http", "sse")}
PEERS = [Peer(*client, transport) for client in CLIENTS for transport in TRANSPORTS[client[1]]]

each_peer = pytest.mark.parametrize(
    # A client runs once: its observations serve all tests of a process.
    "peer",
    [
        pytest.param(one, id="-".join(one), marks=pytest.mark.xdist_group("-".join(one)))
        for one in PEERS
    ],
)


@cache
def outcome(peer: Peer) -> Outcome:
    """Return the outcome of a client's run, for each test to check."""
    found = Outcome()
    with served(peer.transport) as server:
        try:
            if peer.client == "python":
                found.seen = asyncio.run(exercise(server, peer.mode))
            else:
                found.seen = _typescript(peer, server.target)
            found.status = server.end()
        except Exception as error:  # reported by each test, but run only once
            found.failure = repr(error)
        found.stderr = server.stderr
    return found


@contextmanager
def served(transport: str) -> Iterator[Command | Served]:
    """Start the server in a process of its own, or return the command for the client."""
    if transport == "stdio":
        with tempfile.TemporaryDirectory() as folder:
            yield Command(Path(folder), EVERYTHING)
    else:
        with serving(EVERYTHING, transport=transport) as web:
            yield web


def seen(peer: Peer) -> dict[str, Any]:
    """Return all observations of a client."""
    found = outcome(peer)
    assert found.seen is not None, f"{found.failure}\n{found.stderr}"
    return found.seen


def _typescript(peer: Peer, target: list[str]) -> dict[str, Any]:
    release = peer.client.removeprefix("typescript-")
    # Beside the packages: it is from there that Node looks for them.
    script = os.path.join(os.environ["PEERS_TYPESCRIPT"], "exercise.mjs")
    words = ["node", script, release, peer.mode, json.dumps(ANSWERS), peer.transport, *target]
    ran = subprocess.run(words, capture_output=True, text=True, timeout=WAIT_S, check=False)
    assert ran.returncode == 0, ran.stderr
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


@pytest.mark.timeout(WAIT_S)
@each_peer
@pytest.mark.parametrize("what", expected("", ""))
def test_a_client_of_others_sees(peer: Peer, what: str) -> None:
    assert seen(peer)[what] == expected(peer.revision, peer.client)[what]


@pytest.mark.timeout(WAIT_S)
@each_peer
def test_nothing_else_was_looked_at(peer: Peer) -> None:
    assert seen(peer).keys() == expected(peer.revision, peer.client).keys()


@pytest.mark.timeout(WAIT_S)
@each_peer
def test_the_server_has_ended_well(peer: Peer) -> None:
    found = outcome(peer)
    assert "Traceback" not in found.stderr
    assert found.status == 0
