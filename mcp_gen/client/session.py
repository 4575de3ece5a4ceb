"""One server being used: the same calls whatever revision it speaks."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

import mcp_wire
from mcp_gen.core.errors import InvalidParams, ProtocolError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from msgspec import Raw

    from mcp_gen.session.client import ClientLink
    from mcp_wire import latest
    from mcp_wire.method import Method
    from mcp_wire.profile import Profile

__all__ = ["ClientSession", "read_result"]

P = TypeVar("P")
R = TypeVar("R")

DEFAULT_TIMEOUT_S = 60.0


class ClientSession:
    """A server, and what was agreed with it. Made by `Client.connect`.

    Results come as the newest types, or as those of the revision that was pinned.
    """

    def __init__(
        self,
        link: ClientLink,
        profile: Profile,
        *,
        results_at: str,
        meta: dict[str, Any] | None,
        opening: Any,
    ) -> None:
        calls = import_module(f"{profile.module}.requests")
        self._link = link
        self._calls = calls.ToServer(self._call)
        self._read_as = mcp_wire.profile(results_at).methods
        self._meta = meta
        self.profile = profile
        self.opening = opening
        """The server's answer to the handshake, or to the question what it speaks."""

    @property
    def revision(self) -> str:
        """The revision that is spoken."""
        return self.profile.revision

    @property
    def server_info(self) -> Any:
        """The server's Implementation; None where it does not say."""
        key = self.profile.server_info_key
        if key is None:
            return self.opening.server_info
        meta: dict[str, Any] = self.opening.meta or {}
        info = meta.get(key)
        return info and msgspec.convert(info, mcp_wire.types(self.revision).Implementation)

    @property
    def server_capabilities(self) -> Any:
        """What the server declared."""
        return self.opening.capabilities

    @property
    def instructions(self) -> str | None:
        """How the server wants to be used."""
        instructions: str | None = self.opening.instructions
        return instructions

    async def list_tools(
        self,
        cursor: str | None = None,
        *,
        meta: dict[str, Any] | None = None,
        timeout_s: float | None = DEFAULT_TIMEOUT_S,
    ) -> latest.ListToolsResult:
        """One page of the server's tools; `tools` walks all pages."""
        result: latest.ListToolsResult = await self._calls.list_tools(
            cursor=cursor, meta=self._with_identity(meta), timeout_s=timeout_s
        )
        return result

    async def tools(self) -> AsyncIterator[latest.Tool]:
        """All of the server's tools, page after page."""
        cursor: str | None = None
        while True:
            page = await self.list_tools(cursor)
            for tool in page.tools:
                yield tool
            cursor = page.next_cursor
            if cursor is None:
                return

    async def call_tool(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        *,
        meta: dict[str, Any] | None = None,
        timeout_s: float | None = DEFAULT_TIMEOUT_S,
    ) -> latest.CallToolResult:
        """Call a tool. What the tool says went wrong is in the result: see `is_error`.

        Raises:
            McpError: the server refused the call.
            RequestTimeout: no answer in `timeout_s`.
            SessionLost: the connection ended first.
        """
        result: latest.CallToolResult = await self._calls.call_tool(
            name=name,
            arguments=arguments,
            meta=self._with_identity(meta),
            timeout_s=timeout_s,
        )
        return result

    async def close(self) -> None:
        """End the session."""
        await self._link.close()

    def _with_identity(self, meta: dict[str, Any] | None) -> dict[str, Any] | None:
        if self._meta is None:
            return meta
        return {**self._meta, **meta} if meta else self._meta

    async def _call(self, method: Method[P, R], params: P, *, timeout_s: float | None = None) -> R:
        raw = await self._link.request(method, params, timeout_s=timeout_s)
        reader: Method[Any, R] = self._read_as.get(method.name, method)
        result = read_result(reader, raw)
        if reader.results and type(result) is not reader.results[0]:
            kind = type(result).__name__
            raise ProtocolError(f"{method.name}: the server answered with {kind}, unasked for")
        return result


def read_result(method: Method[Any, R], raw: Raw) -> R:
    """Decode a result.

    Raises:
        InvalidParams: it is not one of this method; the message ends in the path.
    """
    try:
        return method.decode_result(raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidParams(f"{method.name}: the server's result: {error}") from None
