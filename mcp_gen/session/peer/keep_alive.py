"""Keep-alive: pings an idle client and ends a session whose client does not answer."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from mcp_gen.core.errors import McpGenError, RequestTimeout, TransportError

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_gen.session.peer.session import Session

__all__ = ["keep_alive"]

_log = logging.getLogger("mcp_gen.server")


async def keep_alive(
    session: Session,
    *,
    every_s: float,
    timeout_s: float,
    reachable: Callable[[], bool] | None = None,
) -> None:
    """Send `ping` at an interval and end the session when a response does not arrive in time.

    An error response counts as a sign that the client is alive. Returns when the session has ended.

    Args:
        session: Session of the client.
        every_s: Seconds between a response and the next ping.
        timeout_s: Seconds to wait for a response before the session is ended.
        reachable: Returns False while no ping can reach the client; no ping is sent then. None
            sends every ping.

    Source: https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/ping
    """
    # Most servers ping nobody, and it brings the parser of URLs.
    from mcp_gen.core.redaction import shown_id

    while True:
        await asyncio.sleep(every_s)
        if reachable is not None and not reachable():
            continue
        try:
            await session.client.ping(timeout_s=timeout_s)
        except RequestTimeout:
            _log.warning("session %s: the client is silent, so it is ended", shown_id(session.id))
            session.end()
            return
        except TransportError:
            return
        except McpGenError as error:
            _log.debug("session %s: a strange answer, but one: %s", shown_id(session.id), error)
