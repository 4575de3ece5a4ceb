"""Lists and calls over all servers of a manager, by qualified name."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Unpack, overload

from msgspec import UNSET

from mcp_gen.core.errors import UsageError
from mcp_gen.core.mistakes.checks import check_call_options, nearest
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
    from collections.abc import Collection, Mapping

    from typing_extensions import TypeForm

    from mcp_gen.client.requests.argument_values import Arguments
    from mcp_gen.client.session.session import ClientSession
    from mcp_gen.client.session.tool_calls import CallOptions
    from mcp_gen.manager.catalog import ListName
    from mcp_gen.manager.managed_server import ManagedServer
    from mcp_gen.manager.model_calls import ToolResults
    from mcp_gen.manager.model_formats import Api, ExportedTools
    from mcp_gen.manager.resource_cache import ResourceCache
    from mcp_wire import latest
    from mcp_wire.peer_calls import OnProgress

__all__ = ["ManagerCalls"]

T = TypeVar("T")

OPTIONS = ("arguments", "meta", "name", "progress", "retry", "returns", "timeout_s")
"""Names of the arguments of `call_tool`."""
_log = logging.getLogger("mcp_gen.client")


class ManagerCalls:
    """Base of ClientManager: lists and calls over all of its servers."""

    def __init__(self) -> None:
        self._events = EventDispatcher()
        self._servers: dict[str, ManagedServer] = {}
        self._parts: dict[str, ManagedServer] = {}
        """The servers by their part of qualified names."""
        self._cache: ResourceCache | None = None

    # --- lists ---

    async def tools(self) -> list[ManagedTool]:
        """Return the tools of all connected and reconnecting servers (`tools/list`).

        Lists are fetched on demand and cached, see ClientManager. A server that is reconnecting, or
        whose list cannot be fetched, contributes its last known list; the latter emits
        `list_failed`.
        """
        found = await self._qualified_items("tools")
        return [ManagedTool(name, server.name, tool) for server, name, tool in found]

    async def prompts(self) -> list[ManagedPrompt]:
        """Return the prompts of all servers (`prompts/list`); cached like `tools`."""
        found = await self._qualified_items("prompts")
        return [ManagedPrompt(name, server.name, prompt) for server, name, prompt in found]

    async def resources(self) -> list[ManagedResource]:
        """Return the resources of all servers (`resources/list`); cached like `tools`."""
        found = await self._servers_with_list("resources")
        return [
            ManagedResource(server.name, one) for server in found for one in _resources_of(server)
        ]

    async def resource_templates(self) -> list[ManagedResourceTemplate]:
        """Return the resource templates of all servers (`resources/templates/list`).

        Cached like `tools`.
        """
        found = await self._servers_with_list("resource_templates")
        return [
            ManagedResourceTemplate(server.name, one)
            for server in found
            for one in server.lists["resource_templates"].items
        ]

    async def tools_for(self, api: Api) -> ExportedTools:
        """Return the tools of all servers in the format of a model API.

        Schemas are passed on unchanged. A tool whose qualified name is too long for the API is left
        out: 64 characters for OpenAI and Gemini, 128 for Anthropic.

        Args:
            api: `openai` for Chat Completions, `openai-responses` for Responses, `anthropic` for
                Messages, `gemini` for the `function_declarations` of a tool.

        Returns:
            A list to pass to the API. Its `problems` name the tools that were left out, and what
            else the API may refuse; they are also logged as warnings.

        Raises:
            UsageError: an unknown API.
        """
        made = export_tools(api, [(one.name, one.tool) for one in await self.tools()])
        for problem in made.problems:
            _log.warning("tools_for(%r): %s", api, problem)
        return made

    # --- calls ---

    @overload
    async def call_tool(
        self,
        name: str,
        arguments: Arguments | None = None,
        **options: Unpack[CallOptions],
    ) -> latest.CallToolResult: ...

    @overload
    async def call_tool(
        self,
        name: str,
        arguments: Arguments | None = None,
        *,
        returns: None,
        **options: Unpack[CallOptions],
    ) -> None: ...

    # Checkers without TypeForm understand classes.

    @overload
    async def call_tool(
        self,
        name: str,
        arguments: Arguments | None = None,
        *,
        returns: type[T],
        **options: Unpack[CallOptions],
    ) -> T: ...

    @overload
    async def call_tool(
        self,
        name: str,
        arguments: Arguments | None = None,
        *,
        returns: TypeForm[T],
        **options: Unpack[CallOptions],
    ) -> T: ...

    async def call_tool(
        self,
        name: str,
        arguments: Arguments | None = None,
        *,
        meta: dict[str, Any] | None = None,
        timeout_s: float | None = None,
        progress: OnProgress | None = None,
        returns: Any = UNSET,
        retry: bool = False,
        **unknown: Any,
    ) -> Any:
        """Call a tool by its qualified name (`tools/call`).

        While the server is reconnecting, the call waits for it: at most `wait_s` of the manager,
        and at most `timeout_s`.

        Args:
            name: `mcp__server__tool`, as `tools` lists it.
            arguments: The arguments of the tool; see `ClientSession.call_tool`.
            meta: More keys for the `_meta` of the request.
            timeout_s: Seconds that the answer may take; None takes the default of the session.
            progress: Called with each progress notification.
            returns: Type of the result, or None for nothing; see `ClientSession.call_tool`. Not
                given: the plain result.
            retry: True calls the tool once more if the server disconnects during the call, and the
                tool declares that it is idempotent (`idempotentHint`).

        Returns:
            The result, also of a failed tool; with `returns`, a value of that type.

        Raises:
            UsageError: no such server, a name without `mcp__server__`, or an unknown option.
            SessionLost: the server is not connected, or disconnected during the call.
            ToolNotApproved: the tool is not as its server's lock has it; see ClientManager.
            ToolError, InvalidResult, McpError, RequestTimeout: see `ClientSession.call_tool`.
        """
        if unknown:
            check_call_options(name, unknown, OPTIONS)
        server, own = self._resolve_name("tools", name)
        again = retry and await self._is_idempotent(server, name)

        async def call(session: ClientSession) -> Any:
            if server.lists.approval is not None:
                # In here: after a reconnect it may be another server.
                await self._check_approved(server, session, own)
            return await session.call_tool(
                own, arguments, meta=meta, timeout_s=timeout_s, progress=progress, returns=returns
            )

        return await server.request(call, again=again, wait_s=timeout_s)

    async def run_tool_calls(
        self,
        api: Api,
        reply: Any,
        *,
        max_at_once: int = 8,
        timeout_s: float | None = 60.0,
        skip: Collection[str] = (),
    ) -> ToolResults:
        """Run the tool calls of a model's reply concurrently, and return their results.

            reply = await anthropic.messages.create(messages=messages, tools=tools, ...)
            messages.append({"role": "assistant", "content": reply.content})
            messages += await manager.run_tool_calls("anthropic", reply)

        The results are in the order of the calls. A call that fails, in whatever way, has an error
        result for the model to read: an unknown tool, arguments that are no JSON, a server that is
        not connected, a timeout.

        Args:
            api: The API; see `tools_for`.
            reply: The reply as the API's SDK returns it, or as JSON: a Message of Anthropic, a
                ChatCompletion or Response of OpenAI, a GenerateContentResponse of Gemini.
            max_at_once: The most calls that run at the same time.
            timeout_s: Seconds that each call may take once it runs; None for no limit.
            skip: Names of tools that are not run, because the program answers their calls itself.

        Returns:
            The messages to append to the conversation, none if there was no call. `results` are
            the results alone, as `tool_result_for` returns them. Images for OpenAI Chat
            Completions are in a user message at the end.

        Raises:
            UsageError: an unknown API, a reply of another one, or `max_at_once` below 1.
        """
        # Loaded with the first reply: hosts may call tools without a model.
        from mcp_gen.manager.model_calls import run_calls

        return await run_calls(
            api,
            reply,
            self.call_tool,
            max_at_once=max_at_once,
            timeout_s=timeout_s,
            skip=skip,
        )

    async def get_prompt(
        self,
        name: str,
        arguments: Arguments | None = None,
        *,
        timeout_s: float | None = None,
    ) -> latest.GetPromptResult:
        """Get a prompt by its qualified name (`prompts/get`).

        The request is sent once more if the server disconnects during it.

        Args:
            name: `mcp__server__prompt`, as `prompts` lists it.
            arguments: The arguments of the prompt; see `ClientSession.get_prompt`.
            timeout_s: Seconds that the answer may take; None takes the default of the session.

        Raises:
            UsageError: no such server, or a name without `mcp__server__`.
            McpError: the server answered with an error.
            RequestTimeout: the server did not answer in time.
            SessionLost: the server is not connected, or disconnected again.
        """
        server, own = self._resolve_name("prompts", name)
        return await server.request(
            lambda session: session.get_prompt(own, arguments, timeout_s=timeout_s),
            again=True,
            wait_s=timeout_s,
        )

    async def read_resource(
        self, uri: str, *, server: str | None = None, timeout_s: float | None = None
    ) -> latest.ReadResourceResult:
        """Read a resource (`resources/read`), or return a cached result.

        Results are cached for `resource_ttl_s` of the manager, or as long as the server says where
        its protocol version has cache hints. The request is sent once more if the server
        disconnects during it.

        Args:
            uri: The URI of the resource.
            server: The name of the server. None takes the server that lists the resource, or the
                only one that declares resources.
            timeout_s: Seconds that the answer may take; None takes the default of the session.

        Raises:
            UsageError: no such server; or without `server`, none or several may have the resource.
            McpError: the server answered with an error.
            RequestTimeout: the server did not answer in time.
            SessionLost: the server is not connected, or disconnected again.
        """
        found = (
            self._server(server) if server is not None else await self._server_with_resource(uri)
        )
        session = await found.connected(timeout_s)
        cache = self._cache
        if cache is None or session.profile.cache_hints:
            # The result has a TTL of the server: the cache of the session applies it.
            return await self._read(found, uri, timeout_s)
        reader = session.principal
        cached: latest.ReadResourceResult | None = cache.get(found.name, uri, reader)
        if cached is not None:
            return cached
        changes = cache.changes
        result = await self._read(found, uri, timeout_s)
        if reader is None or reader == session.principal:
            # Else another user has logged in meanwhile: it is not known whose result it is.
            cache.put(found.name, uri, session.principal, result, changes)
        return result

    def forget_resources(self, server: str | None = None, uri: str | None = None) -> None:
        """Drop cached resources, and the response caches of the sessions concerned.

        Args:
            server: Only of this server; None for all servers.
            uri: Only this resource, with the URIs that begin with it and those that it begins with;
                None for all resources.
        """
        if self._cache is not None:
            self._cache.forget(server, uri)
        for name, one in self._servers.items():
            if server in (None, name) and one.session is not None:
                one.session.cache.clear()

    # --- helpers ---

    def _server(self, name: str) -> ManagedServer:
        found = self._servers.get(name)
        if found is None:
            raise UsageError(f"no server {name!r}; there are {_names(self._servers)}")
        return found

    def _resolve_name(
        self, what: Literal["tools", "prompts"], name: str
    ) -> tuple[ManagedServer, str]:
        """Return the server of a qualified name, and the server's own name of the item."""
        parts = split(name)
        if parts is None:
            raise UsageError(f"expected a name like mcp__server__name, got {name!r}")
        server = self._parts.get(parts[0])
        if server is None:
            near = nearest(parts[0], self._parts)
            advice = f"did you mean {near!r}? " if near else ""
            raise UsageError(f"{name}: no such server; {advice}there are {_names(self._parts)}")
        listed = server.lists[what].by_name.get(name)
        return server, parts[1] if listed is None else listed.name

    async def _is_idempotent(self, server: ManagedServer, name: str) -> bool:
        await self._refresh(server, "tools")
        tool: latest.Tool | None = server.lists["tools"].by_name.get(name)
        hints = tool.annotations if tool is not None else None
        return hints is not None and hints.idempotent_hint is True

    async def _check_approved(
        self, server: ManagedServer, session: ClientSession, own: str
    ) -> None:
        """Check that a tool is as its server's lock has it.

        Raises:
            ToolNotApproved: it is not.
            McpGenError: the tools cannot be listed.
        """
        found, error = await server.lists.get("tools", session, tells="tools" in server.tells)
        if error is not None and found.stale:
            # What it was before says nothing about what it is now.
            raise error
        assert server.lists.approval is not None
        server.lists.approval.check(own, any(tool.name == own for tool in found.items))

    async def _read(
        self, server: ManagedServer, uri: str, timeout_s: float | None
    ) -> latest.ReadResourceResult:
        return await server.request(
            lambda session: session.read_resource(uri, timeout_s=timeout_s),
            again=True,
            wait_s=timeout_s,
        )

    async def _server_with_resource(self, uri: str) -> ManagedServer:
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

    async def _qualified_items(self, what: ListName) -> list[tuple[ManagedServer, str, Any]]:
        servers = await self._servers_with_list(what)
        return [
            (server, name, item)
            for server in servers
            for name, item in server.lists[what].by_name.items()
        ]

    async def _servers_with_list(self, what: ListName) -> list[ManagedServer]:
        """Refresh a list of all servers, and return those whose list can be used."""
        servers = [one for one in self._servers.values() if one.state != "failed"]
        await asyncio.gather(*(self._refresh(one, what) for one in servers))
        return [one for one in servers if one.state in ("connected", "reconnecting")]

    async def _refresh(self, server: ManagedServer, what: ListName) -> None:
        session = server.session
        if server.state != "connected" or session is None or session.is_lost:
            return
        _, error = await server.lists.get(what, session, tells=what in server.tells)
        if error is not None:
            self._events.emit(ManagerEvent("list_failed", server.name, error))


def _resources_of(server: ManagedServer) -> list[latest.Resource]:
    return list(server.lists["resources"].items)


def _has_resources(server: ManagedServer) -> bool:
    session = server.session
    return session is not None and session.server_capabilities.resources is not None


def _names(names: Mapping[str, Any]) -> str:
    return ", ".join(map(repr, names)) or (
        "none: write `async with ClientManager(...) as manager`, or `await manager.add(name, ...)`"
    )
