"""Asking a silent client whether it is still there."""

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
    """Ask every so often, and end the session when no answer came in time.

    Nobody is asked while `reachable` says that there is no way to. Returns when the session has
    ended. Any answer will do: an error comes from somebody, too.

    Source: https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/ping
    """
    while True:
        await asyncio.sleep(every_s)
        if reachable is not None and not reachable():
            continue
        try:
            await session.client.ping(timeout_s=timeout_s)
        except RequestTimeout:
            _log.warning("session %s: the client is silent, so it is ended", session.id)
            session.end()
            return
        except TransportError:
            return
        except McpGenError as error:
            _log.debug("session %s: a strange answer, but one: %s", session.id, error)
