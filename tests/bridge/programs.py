"""A bridge in a process of its own, in front of a server in another one."""

from __future__ import annotations

import sys
from pathlib import Path

from mcp_gen.compat.bridge.bridge import Bridge
from mcp_gen.compat.bridge.limits import BridgeLimits
from tests.bridge.behind import shop
from tests.support.frames import HANDSHAKE, PER_REQUEST

__all__ = ["before_handshake", "before_per_request"]


def _before(revision: str) -> Bridge:
    root = str(Path(__file__).parents[2])
    environment = {"PYTHONPATH": f"{root}:{root}/generated"}
    command = [sys.executable, "-m", "tests.bridge.programs", revision]
    return Bridge(command, env=environment, limits=BridgeLimits(settle_s=0.02))


def before_handshake() -> Bridge:
    """Return a bridge in front of a server of the newest revision with a handshake."""
    return _before(HANDSHAKE)


def before_per_request() -> Bridge:
    """Return a bridge in front of a server of the newest revision."""
    return _before(PER_REQUEST)


if __name__ == "__main__":
    shop(sys.argv[1]).run("stdio")
