"""ClientManager: many servers behind one interface, with qualified names."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast, overload

from mcp_gen.core.errors import UsageError
from mcp_gen.core.mistakes.checks import (
    check_callable,
    check_choice,
    checks_options,
    missing_attribute,
)
from mcp_gen.manager.calls import ManagerCalls
from mcp_gen.manager.config import ConfigProblem, read_config, read_servers, servers_from
from mcp_gen.manager.events import KINDS, ManagerEvent, Reconnect
from mcp_gen.manager.items import status_of
from mcp_gen.manager.managed_server import ManagedServer
from mcp_gen.manager.names import server_part
from mcp_gen.manager.resource_cache import ResourceCache
from mcp_gen.manager.supervisor import ReconnectPolicy

if TYPE_CHECKING:
    import os
    from types import TracebackType

    from mcp_gen.auth.client.oauth import OnAuthorize, RedirectReceiver
    from mcp_gen.client.client import Client
    from mcp_gen.client.session.session import ClientSession
    from mcp_gen.contracts.approval import OnToolChange
    from mcp_gen.contracts.lock import ServerLock
    from mcp_gen.core.errors import ToolNotApproved
    from mcp_gen.manager.config import ServerConfig, ServerLike
    from mcp_gen.manager.events import Kind, Listener
    from mcp_gen.manager.items import ServerStatus

__all__ = ["ClientManager"]

L = TypeVar("L", bound="Listener")

LISTENERS_WAIT_S = 2.0
AS_USUAL = Reconnect()

_log = logging.getLogger("mcp_gen.client")


class ClientManager(ManagerCalls):
    """Connects to many servers: `async with ClientManager({"files": ["mcp-files"]}) as manager`.

    Entering connects to all servers concurrently, and waits at most `start_wait_s`; slower ones
    go on connecting in the background. One server never keeps the others from being used: a
    server that cannot be connected to or listed is reported by events and `servers()`, and is
    missing from the lists.

    A server that disconnects is reconnected to. Calls wait for it, at most `wait_s`. Reads that
    were interrupted are then sent again; tool calls only with `retry`.

    Lists are fetched on demand. They are cached until the server sends `list_changed`, or for
    `list_ttl_s` if it does not send it.

    Args:
        servers: Servers by name: ServerConfig objects, targets of `Client.connect`, functions
            that return a transport, or entries as in an `mcpServers` file (see `from_file`).
        client: The Client to connect with; its handlers answer elicitation, sampling and roots
            requests. It is not closed. None creates one without handlers.
        reconnect: The back-off of reconnects; None never reconnects.
        max_commands: The most commands that connect at a time.
        max_remote: The most URLs that connect at a time. In-process servers and transports are
            limited by the sum of both.
        start_wait_s: The most seconds that entering waits for servers to connect.
        connect_timeout_s: Seconds that one attempt to connect may take.
        probe_timeout_s: Seconds to wait for an answer to the revision probe, before falling
            back to the handshake.
        wait_s: The most seconds that a call waits for a server that is connecting.
        list_timeout_s: Seconds that fetching a list may take; after that its last known items
            are used, and it is fetched again after a pause.
        list_ttl_s: Seconds that a list is cached if the server sends no `list_changed`.
        resource_ttl_s: Seconds that a read resource is cached, if the server gives no cache
            hints (it can from 2026-07-28). 0 caches nothing.
        max_cached_results: The most cached resources.
        max_cached_bytes: The most bytes of cached contents over all.
        on_authorize: How users log in at servers whose `auth` is in a config file; see `OAuth`.
            None: by a browser, and a redirect on loopback.
        redirect_uri: Where browsers come back to, at servers whose `auth` names no other: needed
            if `on_authorize` is a function.
        lock: Locks that `mcp-gen lock` has written, by the name of the server: files. Tools of
            these servers have to be as their lock has them, descriptions and schemas included;
            those of other servers may be any.
        on_tool_change: What is done with a tool that is not as it was locked, or that is new:
            `refuse` leaves it out of lists, and calls of it raise ToolNotApproved; `report` only
            emits the event `tool_not_approved`, as `refuse` does too.

    Raises:
        UsageError: servers that are no mapping, a lock that cannot be read, or an unknown option;
            on entering, if the manager has been entered before.
    """

    @checks_options("ClientManager")
    def __init__(
        self,
        servers: Mapping[str, ServerLike] | None = None,
        *,
        client: Client | None = None,
        reconnect: Reconnect | None = AS_USUAL,
        max_commands: int = 2,
        max_remote: int = 5,
        start_wait_s: float = 10.0,
        connect_timeout_s: float = 30.0,
        probe_timeout_s: float = 10.0,
        wait_s: float = 30.0,
        list_timeout_s: float = 10.0,
        list_ttl_s: float = 300.0,
        resource_ttl_s: float = 60.0,
        max_cached_results: int = 256,
        max_cached_bytes: int = 32 * 1024 * 1024,
        on_authorize: OnAuthorize | RedirectReceiver | None = None,
        redirect_uri: str | None = None,
        lock: Mapping[str, str | os.PathLike[str]] | None = None,
        on_tool_change: OnToolChange = "refuse",
    ) -> None:
        super().__init__()
        check_choice("ClientManager: on_tool_change", on_tool_change, ("refuse", "report"))
        self._locks = _read_locks(lock or {})
        self._on_tool_change: OnToolChange = on_tool_change
        given: Any = servers
        if given is not None and not isinstance(given, Mapping):
            raise UsageError(
                "ClientManager: expected servers by name, such as "
                '`ClientManager({"files": "uvx a-server"})`, or a file: '
                f"`ClientManager.from_file(path)`; got {type(given).__name__}"
            )
        known = servers_from(servers or {})
        self._configs: dict[str, ServerConfig] = known.configs
        self.problems: list[ConfigProblem] = list(known.problems)
        """Problems in the configuration, one line each: unknown keys, unusable servers."""
        self._owns_client = client is None
        self._client = client or _client()
        self._start_wait_s = start_wait_s
        self._connect_limits = (max_commands, max_remote)
        self._limits: dict[str, Any] = {
            "reconnect": reconnect,
            "connect_timeout_s": connect_timeout_s,
            "probe_timeout_s": probe_timeout_s,
            "wait_s": wait_s,
            "list_timeout_s": list_timeout_s,
            "list_ttl_s": list_ttl_s,
            "list_pause_s": max(list_timeout_s, 1.0),
            "on_authorize": on_authorize,
            "redirect_uri": redirect_uri,
        }
        self._cache_limits = (resource_ttl_s, max_cached_results, max_cached_bytes)
        self._policy: ReconnectPolicy | None = None
        self._register_hooks()
        # A restarted server may have other resources.
        self._events.add(lambda event: self.forget_resources(event.server), ("reconnecting",))

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise missing_attribute(self, name, dir(type(self)))

    @classmethod
    def from_file(
        cls,
        path: str | os.PathLike[str],
        *,
        env: Mapping[str, str] | None = None,
        **options: Any,
    ) -> ClientManager:
        """Return a manager of the servers in an `mcpServers` JSON file, as hosts use it.

        A server has a `command` with `args`, `env` and `cwd`, or a `url` with `headers`. `type` is
        `stdio`, `http` or `sse`; a server with `disabled` is not connected to. `revision`,
        `timeout_s` and `auth` are specific to this package. Other keys are reported in `problems`.

        Args:
            path: The file, in UTF-8.
            env: Variables for `${VAR}` and `${VAR:-default}`; None takes the environment of this
                process.
            options: Options of ClientManager.

        Raises:
            UsageError: the file cannot be read, is not valid JSON, or holds no servers.
        """
        known = read_servers(path, env)
        made = cls(known.configs, **options)
        made.problems = list(known.problems)
        return made

    # --- start and stop ---

    async def __aenter__(self) -> ClientManager:
        if self._policy is not None:
            raise UsageError("ClientManager: begun before; make another one")
        commands, remote = self._connect_limits
        at_once = {
            "command": asyncio.Semaphore(commands),
            "remote": asyncio.Semaphore(remote),
            "memory": asyncio.Semaphore(commands + remote),
        }
        self._policy = ReconnectPolicy(at_once=at_once, **self._limits)
        self._cache = ResourceCache(*self._cache_limits, asyncio.get_running_loop().time)
        for name in self._locks.keys() - self._configs.keys():
            what = "locks a server that there is not (yet)"
            self.problems.append(ConfigProblem(f"ClientManager(lock={{{name!r}: ...}})", what))
        for problem in self.problems:
            _log.warning("%s", problem)
            if problem.fatal and problem.server is not None:
                self._start_server(problem.server, None, UsageError(str(problem)))
        for name, config in self._configs.items():
            self._start_server(name, config)
        tried = [asyncio.ensure_future(one.tried.wait()) for one in self._servers.values()]
        if tried:
            try:
                await asyncio.wait(tried, timeout=self._start_wait_s)
            except BaseException:
                await self.aclose()
                raise
            finally:
                for one in tried:
                    one.cancel()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Disconnect from all servers concurrently, and wait up to 2 s for async listeners."""
        servers, self._servers, self._parts = list(self._servers.values()), {}, {}
        await asyncio.gather(*(one.stop() for one in servers))
        if self._owns_client:
            await self._client.aclose()
        await self._events.wait_delivered(LISTENERS_WAIT_S)

    async def add(self, name: str, server: ServerLike) -> ServerStatus:
        """Add a server, and wait for the first attempt to connect.

        Args:
            name: The name of the server.
            server: Its configuration; see ClientManager.

        Returns:
            The status, which says if the server is connected.

        Raises:
            UsageError: the name is taken, the configuration is invalid, or the manager has not been
                entered.
        """
        if name in self._servers:
            raise UsageError(f"add: there is a server {name!r}; remove it first")
        config, problems = read_config(server, name)
        self.problems += problems
        made = self._start_server(name, config)
        await made.tried.wait()
        return status_of(made)

    async def remove(self, name: str) -> None:
        """Disconnect from a server, and remove it with its cached resources.

        Raises:
            UsageError: no such server.
        """
        server = self._server(name)
        del self._servers[name], self._parts[server.part]
        self.forget_resources(name)
        await server.stop()
        self._events.emit(ManagerEvent("server_removed", name))

    async def reconnect(self, name: str) -> ServerStatus:
        """Connect to a server now: also if it failed, is disabled, or is connected.

        Returns:
            The status after the attempt.

        Raises:
            UsageError: no such server, or its configuration is invalid.
        """
        server = self._server(name)
        await server.reconnect()
        return status_of(server)

    # --- the servers ---

    def servers(self) -> dict[str, ServerStatus]:
        """Return the status of all servers by name, in the order in which they were added."""
        return {name: status_of(one) for name, one in self._servers.items()}

    async def session(self, name: str) -> ClientSession:
        """Return the session of a server, once it is connected.

        The session object stays the same after a reconnect. The wait is at most `wait_s` of the
        manager.

        Raises:
            UsageError: no such server.
            SessionLost: the server is not connected.
        """
        return await self._server(name).connected()

    @overload
    def on_event(self, listener: L, /) -> L: ...

    @overload
    def on_event(self, kind: Kind, /, *kinds: Kind) -> Callable[[L], L]: ...

    def on_event(self, first: Any, /, *kinds: Kind) -> Any:
        """Register an event listener, sync or async; usable as a decorator.

        `@manager.on_event` registers it for all events, `@manager.on_event("reconnecting",
        "reconnected")` for these kinds. An error that the listener raises is logged.

        Raises:
            UsageError: no such kind of event, or a listener that takes other arguments than
                `listener(event)`.
        """
        if callable(first):
            check_callable("on_event", first, ("event",))
            self._events.add(first, ())
            return first
        for kind in (first, *kinds):
            check_choice("on_event: kind", kind, KINDS)

        def add(listener: L) -> L:
            check_callable("on_event", listener, ("event",))
            self._events.add(listener, (first, *kinds))
            return listener

        return add

    # --- helpers ---

    def _start_server(
        self, name: str, config: ServerConfig | None, problem: Exception | None = None
    ) -> ManagedServer:
        if self._policy is None:
            raise UsageError("ClientManager: write `async with ClientManager(...) as manager`")
        part = server_part(name, self._parts)
        made = ManagedServer(name, part, config, self._client, self._policy, self._events, problem)
        if name in self._locks:
            # Loaded only by programs that lock servers.
            from mcp_gen.contracts.approval import ToolApproval

            made.lists.approval = ToolApproval(
                name, self._locks[name], self._on_tool_change, self._not_approved
            )
        self._servers[name] = self._parts[part] = made
        made.start()
        return made

    def _not_approved(self, error: ToolNotApproved) -> None:
        _log.warning("%s", error)
        event = ManagerEvent("tool_not_approved", error.server, error, tool=error.tool)
        self._events.emit(event)

    def _register_hooks(self) -> None:
        hooks = self._client.hooks

        def listen(kind: str) -> Callable[[Any, Any], None]:
            return lambda session, params: self._changed(session, kind)

        hooks.on_tool_list_changed(listen("tools"))
        hooks.on_prompt_list_changed(listen("prompts"))
        hooks.on_resource_list_changed(listen("resources"))
        hooks.on_resource_updated(self._updated)

    def _changed(self, session: Any, kind: str) -> None:
        server = self._server_of(session)
        if server is not None:
            if kind != "prompts" and self._cache is not None:
                self._cache.forget(server.name)
            server.on_change(kind)

    def _updated(self, session: Any, params: Any) -> None:
        server = self._server_of(session)
        if server is not None:
            if self._cache is not None:
                self._cache.forget(server.name, params.uri)
            self._events.emit(ManagerEvent("resource_updated", server.name, uri=params.uri))

    def _server_of(self, session: Any) -> ManagedServer | None:
        return next((one for one in self._servers.values() if one.session is session), None)


def _read_locks(lock: Any) -> dict[str, ServerLock]:
    """Read the locks of servers.

    Raises:
        UsageError: it is no mapping, or one cannot be read.
    """
    if not isinstance(lock, Mapping):
        raise UsageError(
            'ClientManager: expected `lock={"server": "file"}`, the file of `mcp-gen lock` for '
            f"each server; got {type(lock).__name__}"
        )
    if not lock:
        return {}
    # Loaded only by programs that lock servers.
    from mcp_gen.contracts.lock import read_lock

    files = cast("Mapping[str, str]", lock)
    return {name: read_lock(path) for name, path in files.items()}


def _client() -> Client:
    # Imported here because it is needed only without a given client.
    from mcp_gen.client.client import Client

    return Client("mcp-gen")
