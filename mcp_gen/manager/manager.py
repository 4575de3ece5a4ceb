"""Many servers behind one face: their tools, prompts and resources under names of their own."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, overload

from mcp_gen.core.errors import UsageError
from mcp_gen.manager.calls import ManagerCalls
from mcp_gen.manager.config import config_of, read_servers, servers_from
from mcp_gen.manager.events import ManagerEvent, Reconnect
from mcp_gen.manager.items import status_of
from mcp_gen.manager.managed_server import ManagedServer
from mcp_gen.manager.names import server_part
from mcp_gen.manager.resource_cache import ResourceCache
from mcp_gen.manager.supervisor import ReconnectPolicy

if TYPE_CHECKING:
    import os
    from types import TracebackType

    from mcp_gen.client.client import Client
    from mcp_gen.client.session.session import ClientSession
    from mcp_gen.manager.config import ConfigProblem, ServerConfig, ServerLike
    from mcp_gen.manager.events import Kind, Listener
    from mcp_gen.manager.items import ServerStatus

__all__ = ["ClientManager"]

L = TypeVar("L", bound="Listener")

LISTENERS_WAIT_S = 2.0
AS_USUAL = Reconnect()

_log = logging.getLogger("mcp_gen.client")


class ClientManager(ManagerCalls):
    """Runs many servers: `async with ClientManager({"files": ["mcp-files"], "web": "https://..."})`.

    `servers` are names with what `Client.connect` takes, with ServerConfig objects, or with entries
    as in a file of `mcpServers`; see `from_file`. Entering connects to all of them, a few at a time
    (`max_commands`, `max_remote`), and waits at most `start_wait_s` for slow ones, which go on.
    None of them keeps the others from being used: one that cannot be connected to, or cannot be
    listed, is told of by events and `servers()`, and is missing in the lists.

    A server that went away is connected to again as `reconnect` says (None: never); calls wait for
    it, at most `wait_s`. Reads are then made again, calls of tools where that was asked for. Lists
    are asked for when they are needed and kept until the server tells of a change, or for
    `list_ttl_s` where it does not; one that takes longer than `list_timeout_s` is given up for now.

    Resources that were read are kept for `resource_ttl_s` where the server says nothing about that
    (it can from 2026-07-28), at most `max_cached_results` of them with `max_cached_bytes` in all.

    `client` answers what servers ask: give one with your handlers; it stays open. Without one there
    is one that answers nothing.
    """

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
    ) -> None:
        super().__init__()
        known = servers_from(servers or {})
        self._configs: dict[str, ServerConfig] = known.configs
        self.problems: list[ConfigProblem] = list(known.problems)
        """What is wrong with the configuration, one line each: keys that are not known, servers
        that cannot be used."""
        self._owns_client = client is None
        self._client = client or _client()
        self._start_wait_s = start_wait_s
        self._at_once = (max_commands, max_remote)
        self._limits: dict[str, Any] = {
            "reconnect": reconnect,
            "connect_timeout_s": connect_timeout_s,
            "probe_timeout_s": probe_timeout_s,
            "wait_s": wait_s,
            "list_timeout_s": list_timeout_s,
            "list_ttl_s": list_ttl_s,
            "list_pause_s": max(list_timeout_s, 1.0),
        }
        self._cache_limits = (resource_ttl_s, max_cached_results, max_cached_bytes)
        self._policy: ReconnectPolicy | None = None
        self._on_notification()
        # It may be another server when it comes back.
        self._events.add(lambda event: self.forget_resources(event.server), ("reconnecting",))

    @classmethod
    def from_file(
        cls,
        path: str | os.PathLike[str],
        *,
        env: Mapping[str, str] | None = None,
        **options: Any,
    ) -> ClientManager:
        """A manager of the servers in a JSON file of `mcpServers`, as hosts have it.

        A server has a `command` with `args`, `env` and `cwd`, or a `url` with `headers`; `type` is
        `stdio`, `http` or `sse`; one that is `disabled` is not connected to. `${VAR}` and
        `${VAR:-default}` stand for variables, of `env` or else of the environment. `revision` and
        `timeout_s` are of this package. Other keys are told in `problems`. `options` are those of
        the class.

        Raises:
            UsageError: the file cannot be read, is no JSON, or holds no servers.
        """
        known = read_servers(path, env)
        made = cls(known.configs, **options)
        made.problems = list(known.problems)
        return made

    # --- beginning and ending ---

    async def __aenter__(self) -> ClientManager:
        if self._policy is not None:
            raise UsageError("ClientManager: begun before; make another one")
        commands, remote = self._at_once
        at_once = {
            "command": asyncio.Semaphore(commands),
            "remote": asyncio.Semaphore(remote),
            "memory": asyncio.Semaphore(commands + remote),
        }
        self._policy = ReconnectPolicy(at_once=at_once, **self._limits)
        self._cache = ResourceCache(*self._cache_limits, asyncio.get_running_loop().time)
        for problem in self.problems:
            _log.warning("%s", problem)
            if problem.fatal and problem.server is not None:
                self._begin(problem.server, None, UsageError(str(problem)))
        for name, config in self._configs.items():
            self._begin(name, config)
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
        """Disconnect from all servers, all at a time."""
        servers, self._servers, self._parts = list(self._servers.values()), {}, {}
        await asyncio.gather(*(one.stop() for one in servers))
        if self._owns_client:
            await self._client.aclose()
        await self._events.wait_delivered(LISTENERS_WAIT_S)

    async def add(self, name: str, server: ServerLike) -> ServerStatus:
        """Take a server up, and try to connect to it once; the status says how that went.

        Raises:
            UsageError: there is one of that name, or the configuration is none.
        """
        if name in self._servers:
            raise UsageError(f"add: there is a server {name!r}; remove it first")
        config, problems = config_of(server, name)
        self.problems += problems
        made = self._begin(name, config)
        await made.tried.wait()
        return status_of(made)

    async def remove(self, name: str) -> None:
        """Disconnect from a server, and forget it.

        Raises:
            UsageError: there is none of that name.
        """
        server = self._server(name)
        del self._servers[name], self._parts[server.part]
        self.forget_resources(name)
        await server.stop()
        self._events.emit(ManagerEvent("server_removed", name))

    async def reconnect(self, name: str) -> ServerStatus:
        """Connect to a server anew, at once: also to one that failed, or is disabled.

        Raises:
            UsageError: there is none of that name, or its configuration is none.
        """
        server = self._server(name)
        await server.reconnect()
        return status_of(server)

    # --- the servers ---

    def servers(self) -> dict[str, ServerStatus]:
        """All servers by name, in the order they were given in, and how it stands with each."""
        return {name: status_of(one) for name, one in self._servers.items()}

    async def session(self, name: str) -> ClientSession:
        """The session with a server, once it is connected; it stays the same after a reconnect.

        Raises:
            UsageError: there is none of that name.
            SessionLost: it is not connected.
        """
        return await self._server(name).connected()

    @overload
    def on_event(self, listener: L, /) -> L: ...

    @overload
    def on_event(self, kind: Kind, /, *kinds: Kind) -> Callable[[L], L]: ...

    def on_event(self, first: Any, /, *kinds: Kind) -> Any:
        """Tell a function of events, sync or async: `@manager.on_event`.

        With kinds, `@manager.on_event("reconnecting", "reconnected")`, of these alone. What it
        raises is logged.
        """
        if callable(first):
            self._events.add(first, ())
            return first

        def add(listener: L) -> L:
            self._events.add(listener, (first, *kinds))
            return listener

        return add

    # --- inside ---

    def _begin(
        self, name: str, config: ServerConfig | None, problem: Exception | None = None
    ) -> ManagedServer:
        if self._policy is None:
            raise UsageError("ClientManager: write `async with ClientManager(...) as manager`")
        part = server_part(name, self._parts)
        made = ManagedServer(name, part, config, self._client, self._policy, self._events, problem)
        self._servers[name] = self._parts[part] = made
        made.start()
        return made

    def _on_notification(self) -> None:
        hooks = self._client.hooks

        def listen(kind: str) -> Callable[[Any, Any], None]:
            return lambda session, params: self._changed(session, kind)

        hooks.on_tool_list_changed(listen("tools"))
        hooks.on_prompt_list_changed(listen("prompts"))
        hooks.on_resource_list_changed(listen("resources"))
        hooks.on_resource_updated(self._updated)

    def _changed(self, session: Any, kind: str) -> None:
        server = self._of_session(session)
        if server is not None:
            server.on_change(kind)

    def _updated(self, session: Any, params: Any) -> None:
        server = self._of_session(session)
        if server is not None:
            if self._cache is not None:
                self._cache.forget(server.name, params.uri)
            self._events.emit(ManagerEvent("resource_updated", server.name, uri=params.uri))

    def _of_session(self, session: Any) -> ManagedServer | None:
        return next((one for one in self._servers.values() if one.session is session), None)


def _client() -> Client:
    # Loaded only where no client was given.
    from mcp_gen.client.client import Client

    return Client("mcp-gen")
