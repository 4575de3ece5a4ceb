"""Interim responses (1xx) before an answer, on the HTTP client."""

from __future__ import annotations

from mcp_gen import HttpError, TransportError
from mcp_gen.transports.http_client.pool import Pool
from mcp_gen.transports.http_client.sockets import MAX_INTERIM_RESPONSES
from tests.hostile.work.limits.limit import TAKEN, Limit, Reach
from tests.support.http.loopback import Got, Line, scripted_web

__all__ = ["LIMITS"]

INTERIM = b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n"
REFUSED = "refused"


def in_pieces_of(size: int) -> Reach:
    async def reach(count: int) -> str:
        async def answer(got: Got, line: Line) -> None:
            data = INTERIM * count
            for at in range(0, len(data), size):
                await line.raw(data[at : at + size])
            # A body may look like any number of interim responses.
            await line.answer(200, INTERIM * 10_000)

        async with scripted_web(answer) as web:
            requests = Pool(30.0)
            try:
                response = await requests.send("GET", web.url, [], None)
                got = sum([len(chunk) async for chunk in response.chunks()])
                await response.aclose()
            except TransportError as error:
                named = f"more than {MAX_INTERIM_RESPONSES} interim responses" in str(error)
                return REFUSED if named and not isinstance(error, HttpError) else str(error)
            finally:
                await requests.aclose()
        return TAKEN if got == len(INTERIM) * 10_000 else f"{got} bytes"

    return reach


LIMITS: list[Limit] = [
    Limit(
        f"interim responses in pieces of {size} bytes",
        MAX_INTERIM_RESPONSES,
        10_000,
        REFUSED,
        in_pieces_of(size),
    )
    for size in (37, 1_000_000)
]
