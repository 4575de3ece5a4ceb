"""Limits of a bridge, with their defaults."""

from __future__ import annotations

from msgspec import Struct

from mcp_gen.core.errors import UsageError

__all__ = ["BridgeLimits"]


class BridgeLimits(Struct, frozen=True):
    """Limits of a bridge.

    Args:
        settle_s: Seconds without a further question of the server after which those that have come
            are sent together, as an `input_required` result.
        max_open_calls: Calls of the server that may wait for the answers to their questions. Beyond
            it the oldest call of the client that has most is cancelled.
        answer_timeout_s: Seconds that such a call waits for the client's retry; then it is
            cancelled. A result that was sent is kept for as long, for a retry that comes twice.
        max_upstreams: Sessions with the server that may be open at the same time.
        idle_s: Seconds without a call after which a session with the server ends that no session of
            a client needs.
        timeout_s: Seconds that the handshake with the server may take.
        max_call_s: Seconds that a call of the server may take.

    Raises:
        UsageError: a limit is not above 0; only `settle_s` may be 0.
    """

    settle_s: float = 0.1
    max_open_calls: int = 1000
    answer_timeout_s: float = 600.0
    max_upstreams: int = 100
    idle_s: float = 300.0
    timeout_s: float = 60.0
    max_call_s: float = 3600.0

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            least = "at least 0" if name == "settle_s" else "more than 0"
            if value < 0 or (value == 0 and name != "settle_s"):
                raise UsageError(f"Bridge: {name}={value:g}: expected {least}")
