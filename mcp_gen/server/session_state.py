"""Whose state `ctx.state` is, where it is stored, how much there may be and for how long."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from copy import copy
from typing import TYPE_CHECKING

from mcp_gen.core.errors import UsageError
from mcp_gen.core.mistakes.checks import explains_calls
from mcp_gen.core.stores.state import MemoryStateStore
from mcp_gen.server.context.context import origin_of
from mcp_gen.server.context.state import State

if TYPE_CHECKING:
    from mcp_gen.core.stores.state import StateStore
    from mcp_gen.server.context.context import Context

__all__ = ["SessionState"]


class SessionState:
    """Options of `ctx.state`: whose it is, its store and its limits.

        def owner(ctx: Context) -> str | None:
            return ctx.principal

        server = Server("shop", session_state=SessionState(key=owner))

    Without a `key`, state belongs to the session of the client. Revisions from 2026-07-28 on, and
    HTTP with `stateless=True`, have no sessions: there `ctx.state` needs a `key`.

    Args:
        key: Function `key(ctx)` that returns the key of the client that a request belongs to. Only
            take what a client cannot invent, such as `ctx.principal`: who knows a key has its
            state. With a key, state outlives sessions. None: the id of the session.
        store: Store of the values; None keeps them in the memory of this process, or with a
            cluster in its store.
        ttl_s: Seconds after the last `set` until the state of a client expires.
        max_bytes: Most bytes of the names and values of one client.
        clock: Returns the time in seconds since the epoch; None for `time.time`.

    Raises:
        UsageError: `key` is no function of the context, or a limit is not above 0.
    """

    @explains_calls("SessionState", "SessionState(key=lambda ctx: ctx.principal)")
    def __init__(
        self,
        *,
        key: Callable[[Context], str | None] | None = None,
        store: StateStore | None = None,
        ttl_s: float = 86_400.0,
        max_bytes: int = 1024 * 1024,
        clock: Callable[[], float] | None = None,
    ) -> None:
        if key is not None:
            _check_key(key)
        if not ttl_s > 0:
            raise UsageError(f"SessionState: ttl_s={ttl_s}: expected seconds, more than 0")
        if max_bytes < 1:
            raise UsageError(f"SessionState: max_bytes={max_bytes}: expected at least 1")
        self._key = key
        self._has_own_store = store is not None
        # Not `or`: an empty store is falsy.
        self._store: StateStore = MemoryStateStore() if store is None else store
        self._ttl_s = ttl_s
        self._max_bytes = max_bytes
        self._clock = clock or time.time

    def in_store(self, store: StateStore) -> SessionState:
        """Return these options with a store, unless they name one of their own."""
        if self._has_own_store:
            return self
        found = copy(self)
        found._store = store
        return found

    def of(self, ctx: Context) -> State:
        """Return the state of the client of a request.

        Raises:
            UsageError: The request has no session, or `key` returns no text for it.
        """
        key, session_id = self._key, _session_id(ctx)
        if key is not None:
            name = key(ctx)
            if not isinstance(name, str) or not name:
                raise UsageError(
                    f"ctx.state: {_name_of(key)}(ctx) returned {name!r}, expected the key of a "
                    "client: refuse the request, or return a key for it"
                )
            owner = f"key/{name}"
        elif session_id is not None:
            owner = f"session/{session_id}"
        else:
            raise UsageError(
                f"ctx.state: this request belongs to no session (revision {ctx.revision}): say "
                "whose state it is, such as "
                "`Server(session_state=SessionState(key=lambda ctx: ctx.principal))`"
            )
        # Servers may share a store.
        whole = f"{ctx.server.name}/{owner}"
        return State(
            self._store,
            whole,
            ttl_s=self._ttl_s,
            max_bytes=self._max_bytes,
            clock=self._clock,
        )


def _session_id(ctx: Context) -> str | None:
    session = ctx.session
    # A worker has no session, but keeps state for that of the request.
    return origin_of(ctx).away_from if session is None else session.id


def _name_of(key: object) -> str:
    return getattr(key, "__qualname__", repr(key))


def _check_key(key: object) -> None:
    if not callable(key):
        raise UsageError(
            f"SessionState: key={key!r}: expected a function of the context, such as "
            "`lambda ctx: ctx.principal`"
        )
    name = _name_of(key)
    if inspect.iscoroutinefunction(key):
        raise UsageError(f"SessionState: key={name} is async: expected a function that is not")
    try:
        inspect.signature(key).bind(None)
    except TypeError as error:
        raise UsageError(
            f"SessionState: key={name} is called as `{name}(ctx)`, and cannot be: {error}"
        ) from None
    except ValueError:
        return  # written in C: nothing is known of its parameters
