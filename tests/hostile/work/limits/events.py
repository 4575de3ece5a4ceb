"""Size of one server-sent event, on the client."""

from __future__ import annotations

from collections.abc import Callable

from mcp_gen.core.errors import TransportError
from mcp_gen.core.transport.sse import EventReader, StreamPosition
from tests.hostile.work.limits.limit import TAKEN, Limit, Reach

__all__ = ["LIMITS"]

AT, FAR = 1_000, 6_000_000
TOO_LARGE = "too large"


def with_stream(stream_of: Callable[[int], bytes]) -> Reach:
    async def reach(size: int) -> str:
        reader, place = EventReader(AT), StreamPosition()
        stream = stream_of(size)
        try:
            for at in range(0, len(stream), 65_536):
                reader.feed(stream[at : at + 65_536], place)
        except TransportError:
            return TOO_LARGE
        return TAKEN

    return reach


LIMITS: list[Limit] = [
    Limit(
        "data of an event in one line",
        AT,
        FAR,
        TOO_LARGE,
        with_stream(lambda n: b"data: %b\n\n" % (b"x" * n)),
    ),
    Limit(
        "data of an event in empty lines",
        AT,
        FAR,
        TOO_LARGE,
        with_stream(lambda n: b"data:\n" * (n + 1) + b"\n"),  # one newline less than lines
    ),
    Limit("a comment of a stream", AT, FAR, TOO_LARGE, with_stream(lambda n: b":" * n + b"\n\n")),
]
