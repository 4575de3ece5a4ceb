"""What the servers of a manager offer, and calling it, by names that are unique over all."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Unpack, overload

from mcp_gen.core.errors import UsageError
from mcp_gen.manager.events import EventDispatcher, ManagerEvent
from mcp_gen.manager.items import (
    ManagedPrompt,
    ManagedResource,
    ManagedResourceTemplate,
    ManagedTool,
)
from mcp_gen.manager.model_formats import export_tools
from mcp_gen.manager.names import split

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_gen.client.session.session import ClientSession
    from mcp_gen.client.session.tool_calls import CallOptions
    from mcp_gen.manager.catalog import What
    from mcp_gen.manager.managed_server import ManagedServer
    from mcp_gen.manager.model_formats import Api, ExportedTools
    from mcp_gen.manager.resource_cache import ResourceCache
    from mcp_wire import latest
    from mcp_wire.callers import OnProgress

__all__ = ["ManagerCalls"]

T = TypeVar("T")

_log = logging.getLogger("mcp_gen.client")


class ManagerCalls:
    """The servers of a manager as one."""

    def __init__(self) -> None:
        self._events = EventDispatcher()
        self._servers: dict[str, ManagedServer] = {}
        self._parts: dict[str, ManagedServer] = {}
        """The servers by what stands for them in names."""
        self._cache: ResourceCache | None = None

    # --- what they offer ---

    async def tools(self) -> list[ManagedTool]:
        """The tools of all servers; those of one that is reconnecting as they were before."""
        found = await self._named("tools")
        return [ManagedTool(name, server.name, tool) for server, name, tool in found]

    async def prompts(self) -> list[ManagedPrompt]:
        """The prompts of all servers."""
        found = await self._named("prompts")
        return [ManagedPrompt(name, server.name, prompt) for server, name, prompt in found]

    async def resources(self) -> list[ManagedResource]:
        """The resources of all servers."""
        found = await self._listed("resources")
        return [ManagedResource(server.name, one) for server in found for one in _of(server)]

    async def resource_templates(self) -> list[ManagedResourceTemplate]:
        """The resource templates of all servers."""
        found = await self._listed("resource_templates")
        return [
            ManagedResourceTemplate(server.name, one)
            for server in found
            for one in server.lists["resource_templates"].items
        ]

    async def tools_for(self, api: Api) -> ExportedTools:
        """The tools of all servers as the API of a model takes them; a list to pass on.

        `openai` is Chat Completions, `openai-responses` Responses, `anthropic` Messages. Schemas
        stay as they are. Tools whose names are longer than the API takes are left out; `problems`
        of the list says which, and what else the API may refuse.

        Raises:
            UsageError: an API that is not known.
        """
        made = export_tools(api, [(one.name, one.tool) for one in await self.tools()])
        for problem in made.problems:
            _log.warning("tools_for(%r): %s", api, problem)
        return made

    # --- using them ---

    @overload
    async def call_tool(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        *,
        returns: None = None,
        **options: Unpack[CallOptions],
    ) -> latest.CallToolResult: ...

    @overload
    async def call_tool(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        *,
        returns: type[T],
        **options: Unpack[CallOptions],
    ) -> T: ...

    async def call_tool(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        *,
        meta: dict[str, Any] | None = None,
        timeout_s: float | None = None,
        progress: OnProgress | None = None,
        returns: Any = None,
        retry: bool = False,
    ) -> Any:
        """Call `mcp__server__tool`. The other arguments are those of `ClientSession.call_tool`.

        While the server is reconnecting the call waits for it, at most `wait_s` of the manager and
        `timeout_s`. If the server goes away during the call, it is made again only with `retry`,
        and if the tool says that it is idempotent.

        Raises:
            UsageError: no such name, no such server.
            SessionLost: the server is not connected, or went away during the call.
            ToolError, InvalidParams, McpError, RequestTimeout: see `ClientSession.call_tool`.
        """
        server, own = self._own_name("tools", name)
        again = retry and await self._is_idempotent(server, name)

        async def call(session: ClientSession) -> Any:
            return await session.call_tool(
                own, arguments, meta=meta, timeout_s=timeout_s, progress=progress, returns=returns
            )

        return await server.ask(call, again=again, wait_s=timeout_s)

    async def get_prompt(
        self,
        name: str,
        arguments: dict[str, str] | None = None,
        *,
        timeout_s: float | None = None,
    ) -> latest.GetPromptResult:
        """The messages of the prompt `mcp__server__prompt`.

        Raises:
            UsageError: no such name, no such server.
            McpError, RequestTimeout, SessionLost: the server would not, did not, or went away.
        """
        server, own = self._own_name("prompts", name)
        return await server.ask(
            lambda session: session.get_prompt(own, arguments, timeout_s=timeout_s),
            again=True,
            wait_s=timeout_s,
        )

    async def read_resource(
        self, uri: str, *, server: str | None = None, timeout_s: float | None = None
    ) -> latest.ReadResourceResult:
        """Read a resource, or give what was read of it while that is good.

        Without `server` it is the one that lists the resource, or the only one that has any.

        Raises:
            UsageError: no such server, or not one but several that have the resource.
            McpError, RequestTimeout, SessionLost: the server would not, did not, or went away.
        """
        found = self._server(server) if server is not None else await self._holder(uri)
        session = await found.connected(timeout_s)
        cache = self._cache
        if cache is None or session.profile.cache_hints:
            # The server says how long it is good, and the session keeps it for so long.
            return await self._read(found, uri, timeout_s)
        kept: latest.ReadResourceResult | None = cache.get(found.name, uri, session.principal)
        if kept is not None:
            return kept
        changes = cache.changes
        result = await self._read(found, uri, timeout_s)
        cache.put(found.name, uri, session.principal, result, changes)
        return result

    def forget_resources(self, server: str | None = None, uri: str | None = None) -> None:
        """Forget what was read: all of it, all of a server, or a resource with its parts."""
        if self._cache is not None:
            self._cache.forget(server, uri)
        for name, one in self._servers.items():
            if server in (None, name) and one.session is not None:
                one.session.cache.clear()

    # --- inside ---

    def _server(self, name: str) -> ManagedServer:
        found = self._servers.get(name)
        if found is None:
            raise UsageError(f"no server {name!r}; there are {_names(self._servers)}")
        return found

    def _own_name(self, what: Literal["tools", "prompts"], name: str) -> tuple[ManagedServer, str]:
        """Whose a name is, and what it is called there."""
        parts = split(name)
        if parts is None:
            raise UsageError(f"expected a name like mcp__server__name, got {name!r}")
        server = self._parts.get(parts[0])
        if server is None:
            raise UsageError(f"{name}: no such server; there are {_names(self._parts)}")
        listed = server.lists[what].by_name.get(name)
        return server, parts[1] if listed is None else listed.name

    async def _is_idempotent(self, server: ManagedServer, name: str) -> bool:
        await self._refresh(server, "tools")
        tool: latest.Tool | None = server.lists["tools"].by_name.get(name)
        hints = tool.annotations if tool is not None else None
        return hints is not None and hints.idempotent_hint is True

    async def _read(
        self, server: ManagedServer, uri: str, timeout_s: float | None
    ) -> latest.ReadResourceResult:
        return await server.ask(
            lambda session: session.read_resource(uri, timeout_s=timeout_s),
            again=True,
            wait_s=timeout_s,
        )

    async def _holder(self, uri: str) -> ManagedServer:
        holders = dict.fromkeys(
            one.server for one in await self.resources() if one.resource.uri == uri
        )
        if not holders:
            having = [one for one in self._servers.values() if _has_resources(one)]
            holders = dict.fromkeys(one.name for one in having)
        if len(holders) != 1:
            several = f"{_names(holders)} may have it" if holders else "no server has resources"
            raise UsageError(f"{uri}: {several}; name one with `server=`")
        return self._servers[next(iter(holders))]

    async def _named(self, what: What) -> list[tuple[ManagedServer, str, Any]]:
        servers = await self._listed(what)
        return [
            (server, name, item)
            for server in servers
            for name, item in server.lists[what].by_name.items()
        ]

    async def _listed(self, what: What) -> list[ManagedServer]:
        """The servers whose list can be used; all lists are brought up to date at once."""
        servers = [one for one in self._servers.values() if one.state != "failed"]
        await asyncio.gather(*(self._refresh(one, what) for one in servers))
        return [one for one in servers if one.state in ("connected", "reconnecting")]

    async def _refresh(self, server: ManagedServer, what: What) -> None:
        session = server.session
        if server.state != "connected" or session is None or session.is_lost:
            return
        _, error = await server.lists.get(what, session, tells=what in server.tells)
        if error is not None:
            self._events.emit(ManagerEvent("list_failed", server.name, error))


def _of(server: ManagedServer) -> list[latest.Resource]:
    return list(server.lists["resources"].items)


def _has_resources(server: ManagedServer) -> bool:
    session = server.session
    return session is not None and session.server_capabilities.resources is not None


def _names(names: Mapping[str, Any]) -> str:
    return ", ".join(map(repr, names)) or "none"
