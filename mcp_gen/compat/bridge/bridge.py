"""The public `Bridge`: every revision in front of a server of any revision."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import mcp_wire
from mcp_gen.compat.bridge.extension_tasks import TaskForwarding
from mcp_gen.compat.bridge.handlers import BridgeHandlers
from mcp_gen.compat.bridge.limits import BridgeLimits
from mcp_gen.compat.bridge.splice import Splice
from mcp_gen.compat.bridge.upstreams import Upstreams
from mcp_gen.core.transport.protocols import PostedMessage
from mcp_gen.server.server import Server
from mcp_gen.server.serving.api import ServingApi
from mcp_wire.extensions.tasks import EXTENSION

if TYPE_CHECKING:
    from mcp_gen.client.connecting.targets import Target
    from mcp_gen.core.transport.authorizing import RequestAuthorizer
    from mcp_gen.core.transport.protocols import Duplex
    from mcp_gen.server.context.context import Context
    from mcp_gen.session.peer.session import Session
    from mcp_gen.transports.environment import Environment
    from mcp_gen.transports.http_client.endpoint import HeadersFrom

__all__ = ["Bridge"]

_FEATURES = frozenset(
    {"completions", "logging", "prompts", "resources", "resources.subscribe", "tasks", "tools"}
)
"""Every capability: the server behind the bridge decides which of its requests it answers."""


class Bridge(ServingApi):
    """Serves clients of every protocol revision in front of one server of any revision.

        bridge = Bridge(["npx", "-y", "@modelcontextprotocol/server-everything"])
        bridge.run("http", port=8000)

    It has `run`, `serve`, `connect`, `asgi` and `aclose` like a `Server`. Names, cursors,
    capabilities and instructions are those of the server. What a revision cannot say is logged, and
    listed in `_meta` under `mcp-gen/losses`; docs/bridge.md has a table of it. Headers of clients,
    such as `Authorization`, are never sent to the server. `tools/call` is never sent twice.

    Args:
        target: The server, as for `Client.connect`: a URL, a command, Python code, a Server.
        revisions: Protocol revisions that clients may use; the default is all of them.
        headers: HTTP headers of every request to the server. URLs only.
        bearer_token: Bearer token of every request to the server. URLs only.
        auth: Logs in at the server, and gives each request its token: `OAuth()` or another one of
            `mcp_gen.auth`. Tokens of the bridge's clients are never passed on. URLs only.
        http_client: AsyncClient of httpx2 or httpx that sends the requests. URLs only.
        env: Environment variables of the command; `"inherit"` passes all. Commands only.
        limits: Limits; see `BridgeLimits` for the defaults.
        max_message_bytes: Longest message that is accepted from either side; None for the default
            of the transport.
        request_state_keys: Secrets of at least 16 bytes that protect the `requestState` of
            questions that clients answer in a retry. Without keys, this process makes one.

    Raises:
        UsageError: an unknown revision, a limit that is not above 0, or a key that is too short.
    """

    def __init__(
        self,
        target: Target,
        *,
        revisions: Sequence[str] = mcp_wire.REVISIONS,
        headers: HeadersFrom | None = None,
        bearer_token: str | None = None,
        auth: RequestAuthorizer | None = None,
        http_client: Any = None,
        env: Environment = None,
        limits: BridgeLimits = BridgeLimits(),
        max_message_bytes: int | None = None,
        request_state_keys: Sequence[str | bytes] = (),
    ) -> None:
        server = Server(
            "mcp-gen bridge",
            revisions=revisions,
            max_message_bytes=max_message_bytes,
            max_progress_per_s=None,
            max_log_per_s=None,
            max_log_bytes=None,
            request_state_keys=request_state_keys,
            request_state_ttl_s=limits.answer_timeout_s,
            lifespan=self._lifespan,
        )
        options: Mapping[str, Any] = {
            "headers": headers,
            "bearer_token": bearer_token,
            "auth": auth,
            "http_client": http_client,
            "env": env,
        }
        self._upstreams = Upstreams(target, options, server, limits, max_message_bytes)
        self.runtime = server.runtime
        kernel = server.runtime.kernel
        kernel.handlers = BridgeHandlers(kernel, self._upstreams)
        server.add_extension(EXTENSION, TaskForwarding(self._upstreams))
        kernel.declared_capabilities = lambda: _FEATURES
        kernel.changed()
        server.runtime.runner.wrap_transport = self._wrap
        kernel.on_connection_end.append(self._on_connection_end)

        @server.hooks.on_roots_list_changed
        async def roots_changed(ctx: Context, params: Any) -> None:
            await self._upstreams.roots_changed(ctx)

        @server.hooks.session_closed
        def closed(session: Session) -> None:
            self._upstreams.end_of(session)

    def _wrap(self, transport: Duplex) -> Splice | None:
        if isinstance(transport, PostedMessage):
            return None  # HTTP: each message has headers of its own
        return Splice(transport, self.runtime.kernel, self._upstreams)

    def _on_connection_end(self, channel: Any) -> None:
        self._upstreams.end_of(channel)

    @asynccontextmanager
    async def _lifespan(self, server: Server[Any]) -> AsyncGenerator[None]:
        """End the sessions with the server after the last client."""
        try:
            yield
        finally:
            await self._upstreams.aclose()
