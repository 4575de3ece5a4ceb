"""Lock of stored credentials: waited for within a limit, and not in silence."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from mcp_gen.core.errors import AuthError

if TYPE_CHECKING:
    from mcp_gen.auth.client.shared_task import SharedTask
    from mcp_gen.auth.stores.token_store import TokenStore

__all__ = ["EARLY_LOCK_TIMEOUT_S", "LOCK_TIMEOUT_S", "hold"]

_log = logging.getLogger("mcp_gen.auth")

LOCK_TIMEOUT_S = 60.0
"""Seconds to wait for somebody else who renews the same credentials, which no user does."""
EARLY_LOCK_TIMEOUT_S = 5.0
"""The same while the token of before is still valid."""
NOTICE_S = 2.0
"""Seconds of waiting before it is logged: a renewal takes less, a login more."""


@asynccontextmanager
async def hold(
    store: TokenStore,
    key: str,
    timeout_s: float,
    *,
    shared: SharedTask | None = None,
) -> AsyncGenerator[None, None]:
    """Hold the lock of some credentials.

    Whoever has it may be waiting for its user, or be stopped: the wait is logged once, and ends.

    Args:
        store: Where the credentials are.
        key: Their key.
        timeout_s: Seconds to wait.
        shared: The task that waits, which may be cancelled meanwhile; None if none does.

    Raises:
        AuthError: Somebody else has the lock for longer.
    """
    async with AsyncExitStack() as stack:
        notice = asyncio.get_running_loop().call_later(NOTICE_S, _tell, key, timeout_s)
        if shared is not None:
            shared.abandonable = True
        limit = asyncio.timeout(timeout_s)
        try:
            async with limit:
                await stack.enter_async_context(store.lock(key))
        except TimeoutError:
            if not limit.expired():
                raise
            raise AuthError(
                f"another login or renewal holds the credentials for {key} for more than "
                f"{timeout_s:g} s, in this process or in one that shares the token store; finish "
                "it or end it, and try again"
            ) from None
        finally:
            notice.cancel()
            if shared is not None:
                shared.abandonable = False
        yield


def _tell(key: str, timeout_s: float) -> None:
    _log.warning(
        "the credentials for %s are held by another login or renewal, in this process or in one "
        "that shares the token store; waiting for it, %g s at most",
        key,
        timeout_s,
    )
