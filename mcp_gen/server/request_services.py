"""Services of a request: connects Context to input requests, progress and log messages."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from mcp_gen.core.errors import UsageError
from mcp_gen.core.stores.once import MemoryOnceStore
from mcp_gen.server.input_requests.request_state import RequestStateSealer
from mcp_gen.server.input_requests.run import current_rounds, previous_rounds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_gen.core.stores.cluster import Cluster
    from mcp_gen.core.stores.once import OnceStore
    from mcp_gen.server.context.answers import Answer, Messages
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.context.services import (
        RequestServices,
        RequestStates,
        RoundsView,
    )
    from mcp_gen.server.context.state import State
    from mcp_gen.server.session_state import SessionState
    from mcp_gen.session.kernel.kernel import Kernel
    from mcp_wire import latest

__all__ = ["Runtime"]

T = TypeVar("T")


class Runtime:
    """Internal parts of a server that its rooms use while they answer a request.

    Args:
        kernel: Answers requests at every protocol revision.
        request_state_keys: See `Server`.
        request_state_ttl_s: See `Server`.
        max_rounds: See `Server`.
        session_state: See `Server`.

    Raises:
        UsageError: a key that is too short, or a limit that is not above zero.
    """

    def __init__(
        self,
        kernel: Kernel[Context],
        *,
        request_state_keys: Sequence[str | bytes],
        request_state_ttl_s: float,
        max_rounds: int,
        session_state: SessionState | None,
    ) -> None:
        if max_rounds < 1:
            raise UsageError(f"max_rounds={max_rounds}: a request has at least 1 round")
        self.kernel = kernel
        self.sealer = RequestStateSealer(request_state_keys, request_state_ttl_s)
        self.request_states: RequestStates = self.sealer
        self.once_store: OnceStore = MemoryOnceStore(request_state_ttl_s, time.monotonic)
        self.max_rounds = max_rounds
        self.lifespan_value: Any = None
        self._session_state = session_state
        self._cluster: Cluster | None = None
        self._mounted: list[Runtime] = []
        self.hide_unauthorized = False
        """True if lists leave out items whose scopes the token of the request lacks."""

    def include(self, mounted: Runtime) -> None:
        """Let a mounted server share with other nodes what this server does, now or later."""
        self._mounted.append(mounted)
        if self._cluster is not None:
            mounted.join(self._cluster)

    def exclude(self, mounted: Runtime) -> None:
        """Forget a server that is not mounted any more."""
        self._mounted.remove(mounted)

    def join(self, cluster: Cluster) -> None:
        """Use the cluster of an outer server, unless the server is served with one itself.

        Its tasks are those of the outer server.
        """
        if self._cluster is None:
            Runtime.use_cluster(self, cluster)

    def use_cluster(self, cluster: Cluster) -> None:
        """Share `requestState`, the values of `once` and `Context.state` with other nodes.

        Mounted servers do so, too. Keys and a state store of the user are kept: other nodes have
        them as well.

        Raises:
            UsageError: The values of `once` would be gone before a `requestState` expires.
        """
        if cluster.once.ttl_s < self.sealer.ttl_s:
            raise UsageError(
                f"request_state_ttl_s={self.sealer.ttl_s:g}: the cluster keeps values of "
                f"`ctx.once` for {cluster.once.ttl_s:g} s alone: set `Redis(..., once_ttl_s=...)` "
                "to as long"
            )
        # Loaded with a cluster.
        from mcp_gen.server.session_state import SessionState

        self.sealer.share_keys(cluster.request_state_keys)
        use_stores = partial(self._use_stores, cluster, self._session_state or SessionState())
        self._cluster = cluster
        use_stores()
        cluster.on_emptied(use_stores)
        for mounted in self._mounted:
            mounted.join(cluster)

    def _use_stores(self, cluster: Cluster, given: SessionState) -> None:
        if self._cluster is not cluster:
            # The server was mounted, and is now served with a cluster of its own.
            return
        self.once_store = cluster.once
        self._session_state = given.in_store(cluster.states)

    def services(self, ctx: Context) -> RequestServices:
        """Return the services of a request."""
        return _ContextServices(ctx)

    def state_of(self, ctx: Context) -> State:
        """Return the state of the client of a request; see `Context.state`."""
        if self._session_state is None:
            # Loaded with the first request that keeps state.
            from mcp_gen.server.session_state import SessionState

            self._session_state = SessionState()
        return self._session_state.of(ctx)


class _ContextServices:
    """Services of one request. Each room is imported by the first request that uses it."""

    __slots__ = ("_ctx",)

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx

    async def elicit(
        self, message: str, form: type[T], *, key: str | None, timeout_s: float | None, task: bool
    ) -> Answer[T]:
        """See `Context.elicit`."""
        # Loaded with the first request to a client.
        from mcp_gen.server.input_requests.api import elicit

        return await elicit(self._ctx, message, form, key=key, timeout_s=timeout_s, task=task)

    async def elicit_url(
        self,
        message: str,
        url: str,
        elicitation_id: str | None,
        *,
        key: str | None,
        timeout_s: float | None,
    ) -> Answer[None]:
        """See `Context.elicit_url`."""
        # Loaded with the first request to a client.
        from mcp_gen.server.input_requests.api import elicit_url

        return await elicit_url(
            self._ctx, message, url, elicitation_id, key=key, timeout_s=timeout_s
        )

    async def elicitation_complete(self, elicitation_id: str) -> None:
        """See `Context.elicitation_complete`."""
        # Loaded with the first request to a client.
        from mcp_gen.server.input_requests.api import elicitation_complete

        await elicitation_complete(self._ctx, elicitation_id)

    async def sample(
        self,
        messages: Messages,
        *,
        max_tokens: int,
        key: str | None,
        timeout_s: float | None,
        task: bool,
        **params: Any,
    ) -> latest.CreateMessageResult:
        """See `Context.sample`."""
        # Loaded with the first request to a client.
        from mcp_gen.server.input_requests.api import sample

        return await sample(
            self._ctx,
            messages,
            max_tokens=max_tokens,
            key=key,
            timeout_s=timeout_s,
            task=task,
            **params,
        )

    async def list_roots(
        self, *, key: str | None, timeout_s: float | None
    ) -> Sequence[latest.Root]:
        """See `Context.list_roots`."""
        # Loaded with the first request to a client.
        from mcp_gen.server.input_requests.api import list_roots

        return await list_roots(self._ctx, key=key, timeout_s=timeout_s)

    async def report_progress(
        self, progress: float, total: float | None, message: str | None
    ) -> None:
        """See `Context.report_progress`."""
        # Loaded with the first notification of a request.
        from mcp_gen.server.notifications.progress import report_progress

        await report_progress(self._ctx, progress, total, message)

    async def log(self, level: latest.LoggingLevel | int, data: Any, logger: str | None) -> None:
        """See `Context.log`."""
        # Loaded with the first notification of a request.
        from mcp_gen.server.notifications.log_messages import log

        await log(self._ctx, level, data, logger)

    async def call_tool(self, name: str, arguments: Any, returns: Any) -> Any:
        """See `Context.call_tool`."""
        # Loaded with the first call of a handler to its own server.
        from mcp_gen.server.own_calls.calls import call_tool

        return await call_tool(self._ctx, name, arguments, returns)

    async def read_resource(self, uri: str) -> latest.ReadResourceResult:
        """See `Context.read_resource`."""
        # Loaded with the first call of a handler to its own server.
        from mcp_gen.server.own_calls.calls import read_resource

        return await read_resource(self._ctx, uri)

    def rounds(self) -> RoundsView:
        """Return the state of the multi round-trip request; see `RequestServices.rounds`."""
        return current_rounds(self._ctx)

    def previous_rounds(self) -> RoundsView | None:
        """Return the state of the multi round-trip request; None before its first input request."""
        return previous_rounds(self._ctx)
