"""Ports for servers whose address must be known before they listen."""

from __future__ import annotations

import secrets
import socket
from itertools import count, islice

__all__ = ["free_port"]

# Below the ports that systems choose themselves (from 32768 on Linux): no connection, and no server
# without a port of its own, gets one of them between the look and the use.
_FIRST, _NUMBER = 20_000, 12_000
# A random start keeps the processes of a run apart, and those of runs at the same time.
_turn = count(secrets.randbelow(_NUMBER))


def free_port() -> int:
    """Return a port of loopback that nobody listens on, and another one at each call."""
    for turn in islice(_turn, _NUMBER):
        port = _FIRST + turn % _NUMBER
        try:
            with socket.create_server(("127.0.0.1", port)):
                return port
        except OSError:
            continue
    raise OSError(f"no port from {_FIRST} to {_FIRST + _NUMBER - 1} is free")
