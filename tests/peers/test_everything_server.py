"""Clients that others have made try our everything-server: real processes, real pipes.

Each client runs once, tries everything, and says what it saw; each thing seen is a test.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from functools import cache
from typing import Any, NamedTuple

import pytest

from tests.peers.observations import ANSWERS, EVERYTHING, expected
from tests.peers.official import exercise

WAIT_S = 120.0
COMMAND = [sys.executable, str(EVERYTHING)]


class Peer(NamedTuple):
    """Somebody's client, and the way it begins."""

    client: str
    mode: str

    @property
    def revision(self) -> str:
        """The newest revision of that mode."""
        return "2025-11-25" if self.mode == "legacy" else "2026-07-28"

    def __str__(self) -> str:
        return f"{self.client}-{self.mode}"


PEERS = [
    Peer("python", "auto"),
    Peer("python", "legacy"),
    Peer("typescript-v2", "auto"),
    Peer("typescript-v2", "legacy"),
    Peer("typescript-v1", "legacy"),
]


@cache
def outcome(peer: Peer) -> dict[str, Any] | str:
    """Everything that a client saw, or why it saw nothing."""
    try:
        if peer.client == "python":
            return asyncio.run(exercise(COMMAND, peer.mode))
        return _typescript(peer)
    except Exception as error:  # told by each test, and tried only once
        return repr(error)


def seen(peer: Peer) -> dict[str, Any]:
    """Everything that a client saw."""
    found = outcome(peer)
    assert isinstance(found, dict), found
    return found


def _typescript(peer: Peer) -> dict[str, Any]:
    release = peer.client.removeprefix("typescript-")
    # Beside the packages: it is from there that Node looks for them.
    script = os.path.join(os.environ["PEERS_TYPESCRIPT"], "exercise.mjs")
    words = ["node", script, release, peer.mode, json.dumps(ANSWERS), *COMMAND]
    ran = subprocess.run(words, capture_output=True, text=True, timeout=WAIT_S, check=False)
    assert ran.returncode == 0, ran.stderr
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


@pytest.mark.timeout(WAIT_S)
@pytest.mark.parametrize("peer", PEERS, ids=str)
@pytest.mark.parametrize("what", expected("", ""))
def test_a_client_of_others_sees(peer: Peer, what: str) -> None:
    assert seen(peer)[what] == expected(peer.revision, peer.client)[what]


@pytest.mark.timeout(WAIT_S)
@pytest.mark.parametrize("peer", PEERS, ids=str)
def test_nothing_else_was_looked_at(peer: Peer) -> None:
    assert seen(peer).keys() == expected(peer.revision, peer.client).keys()
