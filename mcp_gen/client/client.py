"""The client a program writes: who it is, and the servers it is connected to."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from mcp_gen.client.negotiate import Identity, negotiate
from mcp_gen.core.errors import UsageError
from mcp_gen.core.revisions import select
from mcp_gen.session.client import ClientLink
from mcp_wire import latest
from mcp_wire.hooks import ClientHooks

if TYPE_CHECKING:
    from mcp_gen.client.session import ClientSession
    from mcp_gen.core.transport import Duplex

__all__ = ["Client"]


@runtime_checkable
class _Serves(Protocol):
    async def serve(self, transport: Duplex) -> None: ...


class Client:
    """An MCP client: `async with Client("agent") as client`; leaving it ends its sessions."""

    def __init__(self, name: str, version: str = "0.0.0", *, title: str | None = None) -> None:
        info = latest.Implementation(name=name, version=version, title=title)
        self._identity = Identity(info, latest.ClientCapabilities())
        self.hooks = ClientHooks(self._hooks_changed)
        """Decorators that add hooks: `@client.hooks.outbound.before_call_tool`, and so on."""
        self._links: list[ClientLink] = []
        self._serving: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """End every session."""
        links, self._links = self._links, []
        await asyncio.gather(*(link.close() for link in links))
        serving, self._serving = self._serving, []
        await asyncio.gather(*serving)

    async def connect(
        self,
        target: Sequence[str] | Duplex | _Serves,
        *,
        revision: str | None = None,
        timeout_s: float = 60.0,
        probe_timeout_s: float = 10.0,
    ) -> ClientSession:
        """Connect to a command, a Server in this process, or a transport.

        `revision` pins the protocol revision; without it the newest that both sides speak is used,
        found by asking and, after `probe_timeout_s` of silence, by a handshake.

        Raises:
            UsageError: no such revision, or nothing that can be connected to.
            TransportError: the command cannot be started.
            ProtocolError: no revision in common.
            McpError, RequestTimeout, SessionLost: the server would not, did not, or went away.
        """
        if revision is not None:
            select([revision])
        link = ClientLink(self._transport(target), self.hooks)
        self._links.append(link)
        try:
            await link.open()
            session = await negotiate(
                link,
                self._identity,
                revision=revision,
                probe_timeout_s=probe_timeout_s,
                timeout_s=timeout_s,
            )
        except BaseException:
            await link.close()
            if link in self._links:
                self._links.remove(link)
            raise
        return session

    def _hooks_changed(self) -> None:
        for link in self._links:
            link.changed()

    def _transport(self, target: Sequence[str] | Duplex | _Serves) -> Duplex:
        if isinstance(target, str) or not target:
            raise UsageError(f"connect({target!r}): expected a command as a list of words")
        if isinstance(target, Sequence):
            from mcp_gen.transports.command import CommandTransport

            return CommandTransport(target)
        if not isinstance(target, _Serves):
            return target
        from mcp_gen.transports.memory import memory_pair

        ours, theirs = memory_pair()
        self._serving.append(asyncio.get_running_loop().create_task(target.serve(theirs)))
        return ours
