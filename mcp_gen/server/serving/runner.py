"""Serves a server over every transport, from its first client to its last."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Protocol

from mcp_gen.server.serving.sockets import SocketServer

if TYPE_CHECKING:
    from mcp_gen.core.stores.cluster import Cluster
    from mcp_gen.core.transport.protocols import Duplex
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.mounting.mounts import Mounts
    from mcp_gen.server.notifications.notifier import Notifier
    from mcp_gen.server.notifications.shared_changes import SharedChanges
    from mcp_gen.server.serving.lifespan import Lifespan
    from mcp_gen.server.tools.registry import ToolRegistry
    from mcp_gen.session.duplex.server import ServerConnection
    from mcp_gen.session.kernel.kernel import Kernel
    from mcp_gen.session.peer.session import Session
    from mcp_gen.transports.http_server.app import AsgiApp

    class ConnectionTransport(Duplex, Protocol):
        """Transport that knows the connection that it carries."""

        connection: ServerConnection[Context] | None
        """The connection; None before there is one."""


__all__ = ["ServerRunner"]


class ServerRunner:
    """Runs one server: owns its open connections, its ASGI apps and its use of the lifespan.

    Args:
        kernel: Answers the requests.
        tools: Tools of the server, for the headers that mirror their arguments.
        mounts: Mounts that are entered with the server.
        lifespan: Lifespan of the user, if there is one.
        max_message_bytes: Longest message that is accepted; None for the default of the transport.
        has_state_keys: True if the states of requests are sealed with keys of the user.
        check: Called before the first client; raises UsageError for a server that is incomplete.
        end_tasks: Cancels the tasks that run.
        scoped_items: Returns the names of items that need scopes.
        notify: Sends change notifications.
        join: Shares what handlers keep with the nodes of a cluster.
    """

    def __init__(
        self,
        kernel: Kernel[Context],
        *,
        tools: ToolRegistry,
        mounts: Mounts,
        lifespan: Lifespan[Any] | None,
        max_message_bytes: int | None,
        has_state_keys: bool,
        check: Callable[[], None],
        end_tasks: Callable[[], Awaitable[None]],
        scoped_items: Callable[[], Iterable[str]],
        notify: Notifier,
        join: Callable[[Cluster], None],
    ) -> None:
        self.kernel = kernel
        self.tools = tools
        self.mounts = mounts
        self.max_message_bytes = max_message_bytes
        self.has_state_keys = has_state_keys
        self.sockets = SocketServer(self.connect, max_message_bytes, self.served)
        """Unix and TCP sockets."""
        self._lifespan = lifespan
        self._check = check
        self._end_tasks = end_tasks
        self.scoped_items = scoped_items
        self._notify = notify
        self._join = join
        self._users = 0
        """Number of users that need the lifespan and the mounts."""
        self._is_held = False
        """True between `hold` and `release_hold`, which count as one user."""
        self._connections: dict[ServerConnection[Context], asyncio.Event] = {}
        """Open connections, each with an event that is set when it has ended."""
        self._apps: list[AsgiApp] = []
        """ASGI apps that serve this server."""
        self.wrap_transport: Callable[[Duplex], ConnectionTransport | None] = lambda transport: None
        """Wraps the transport of a connection, or returns None to leave it as it is."""

    # --- transports ---

    async def serve(self, transport: Duplex) -> None:
        """Serve one client over a transport; see `Server.serve`."""
        async with self._connection(transport) as connection:
            await connection.finish()

    @asynccontextmanager
    async def connect(self, transport: Duplex) -> AsyncGenerator[ServerConnection[Context]]:
        """Serve one client while the context manager is open; see `Server.connect`."""
        async with self._connection(transport) as connection:
            finishing = asyncio.get_running_loop().create_task(connection.finish())
            try:
                yield connection
            finally:
                connection.end()
                await finishing

    @asynccontextmanager
    async def _connection(self, transport: Duplex) -> AsyncGenerator[ServerConnection[Context]]:
        """Start a connection that the caller finishes; the lifespan is entered around it."""
        # Loaded with the first connection.
        from mcp_gen.session.duplex.server import ServerConnection

        try:
            await self.acquire()
        except BaseException:
            # A client that cannot be served must not wait for a response.
            await transport.aclose()
            raise
        wrapped = self.wrap_transport(transport)
        connection = ServerConnection(self.kernel, wrapped or transport)
        if wrapped is not None:
            wrapped.connection = connection
        ended = self._connections[connection] = asyncio.Event()
        try:
            await connection.start()
            yield connection
        finally:
            del self._connections[connection]
            ended.set()
            await self.release()

    def asgi(self, path: str, **options: Any) -> AsgiApp:
        """Return an ASGI app; see `Server.asgi`. `options` are the fields of `HttpOptions`."""
        # Loaded when serving over HTTP.
        from mcp_gen.server.serving.http import HttpOptions, asgi_app

        app = asgi_app(self, path, HttpOptions(**options))
        self._apps.append(app)
        return app

    def use_cluster(self, cluster: Cluster) -> SharedChanges:
        """Share what the server keeps with the nodes of a cluster; return its changes."""
        # Loaded with a cluster.
        from mcp_gen.server.notifications.shared_changes import SharedChanges

        self._join(cluster)
        return SharedChanges(self._notify, self.kernel, cluster)

    # --- lifespan and mounts ---

    async def acquire(self) -> None:
        """Acquire the lifespan and the mounts; pair with `release`, unless this raises.

        Raises:
            LifespanError: the lifespan could not be entered.
            UsageError: a tool names a UI resource that is not registered.
        """
        self._check()
        if self._lifespan is not None:
            await self._lifespan.acquire()
        self._users += 1
        try:
            await self._enter_mounts()
        except BaseException:
            await self.release()
            raise

    async def release(self) -> None:
        """Release what `acquire` acquired; the last user leaves the mounts and the lifespan."""
        self._users -= 1
        try:
            await self._leave_unused_mounts()
        finally:
            if self._lifespan is not None:
                await self._lifespan.release()

    async def hold(self) -> None:
        """Acquire the lifespan and the mounts until `release_hold`; further calls do nothing new.

        Raises:
            LifespanError: the lifespan could not be entered.
            UsageError: a tool names a UI resource that is not registered.
        """
        self._check()
        if self._lifespan is not None:
            await self._lifespan.hold()
        if not self._is_held:
            self._is_held = True
            self._users += 1
        await self._enter_mounts()

    async def release_hold(self) -> None:
        """Release what `hold` acquired; does nothing without it."""
        try:
            if self._is_held:
                self._is_held = False
                self._users -= 1
                await self._leave_unused_mounts()
        finally:
            if self._lifespan is not None:
                await self._lifespan.release_hold()

    @asynccontextmanager
    async def served(self) -> AsyncGenerator[None]:
        """Hold the lifespan and the mounts while the context manager is open."""
        await self.acquire()
        try:
            yield
        finally:
            await self.release()

    async def _enter_mounts(self) -> None:
        for mount in self.mounts:
            await mount.enter()

    async def _leave_unused_mounts(self) -> None:
        if not self._users:
            for mount in reversed(self.mounts):
                await mount.leave()

    # --- sessions, tasks and the end ---

    def sessions(self) -> list[Session]:
        """Return the open sessions."""
        return list(self.kernel.sessions)

    def end_sessions(self) -> bool:
        """End the open sessions and connections; see `Server.end_sessions`."""
        open_now = {*self._connections, *self.kernel.sessions}
        for session in open_now:
            session.end()
        return bool(open_now)

    async def end_tasks(self) -> None:
        """Cancel the tasks that run.

        `run`, the shutdown of an ASGI app and `aclose` call it. `serve` and `connect` do not: a
        client may ask for its tasks over another connection.
        """
        await self._end_tasks()

    async def aclose(self) -> None:
        """End every session and task, and leave the lifespan; see `Server.aclose`."""
        ending = list(self._connections.values())
        for app in self._apps:
            await app.aclose()
        self.end_sessions()
        for ended in ending:
            await ended.wait()
        await self.end_tasks()
        await self.release_hold()
