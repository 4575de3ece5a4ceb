"""Messages of a server that wait until the session begins."""

from __future__ import annotations

import logging

__all__ = ["MAX_HELD", "MAX_HELD_BYTES", "HeldMessages"]

MAX_HELD, MAX_HELD_BYTES = 1_000, 64 * 1024 * 1024
"""Messages of a server, and their bytes, that wait until the session begins."""

_log = logging.getLogger("mcp_gen.client")


class HeldMessages:
    """Messages right after the handshake response, which decides how they are decoded."""

    __slots__ = ("_bytes", "_too_many", "messages")

    def __init__(self) -> None:
        self.messages: list[bytes] = []
        self._bytes = 0
        self._too_many = False

    def add(self, message: bytes) -> None:
        """Keep a message, if there are not too many."""
        self._bytes += len(message)
        if len(self.messages) < MAX_HELD and self._bytes <= MAX_HELD_BYTES:
            self.messages.append(message)
        elif not self._too_many:
            self._too_many = True
            _log.warning("messages before the session began are left out: there are too many")
