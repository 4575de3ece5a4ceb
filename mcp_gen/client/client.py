"""The client a program writes: who it is, and the servers it is connected to."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from types import TracebackType
from typing import TYPE_CHECKING, Any

from mcp_gen.client.negotiate import Identity, Negotiation, Verdicts
from mcp_gen.client.targets import reach
from mcp_gen.core.revisions import select
from mcp_gen.core.transport import Posts
from mcp_gen.session.client import ClientLink
from mcp_wire import latest
from mcp_wire.hooks import ClientHooks

if TYPE_CHECKING:
    from mcp_gen.client.session import ClientSession
    from mcp_gen.client.targets import Target
    from mcp_gen.core.transport import Duplex
    from mcp_gen.transports.http_endpoint import HeadersFrom

__all__ = ["Client"]


class Client:
    """An MCP client: `async with Client("agent") as client`; leaving it ends its sessions."""

    def __init__(self, name: str, version: str = "0.0.0", *, title: str | None = None) -> None:
        info = latest.Implementation(name=name, version=version, title=title)
        self._identity = Identity(info, latest.ClientCapabilities())
        self.hooks = ClientHooks(self._hooks_changed)
        """Decorators that add hooks: `@client.hooks.outbound.before_call_tool`, and so on."""
        self._links: list[ClientLink] = []
        self._serving: list[asyncio.Task[None]] = []
        self._verdicts: Verdicts = {}

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
        target: Target,
        *,
        revision: str | None = None,
        headers: HeadersFrom | None = None,
        bearer: str | None = None,
        http_client: Any = None,
        timeout_s: float = 60.0,
        probe_timeout_s: float = 10.0,
    ) -> ClientSession:
        """Connect to a URL, a command (its words, or one line), a Server, or a transport.

        `revision` pins the protocol revision; without it the newest that both sides speak is used,
        found by asking and, after `probe_timeout_s` of silence, by a handshake. What a server
        turned out to speak is remembered for the next time.

        For URLs: `headers` go with every request, a mapping or a function that is called before
        each, sync or async; `bearer` is a token; `http_client` an AsyncClient of httpx2 or httpx
        that sends everything, and stays open.

        Raises:
            UsageError: no such revision, or nothing that can be connected to.
            TransportError: the command cannot be started, the URL cannot be reached.
            HttpError: it answers with a status that says no.
            ProtocolError: no revision in common.
            McpError, RequestTimeout, SessionLost: the server would not, did not, or went away.
        """
        if revision is not None:
            select([revision])
        found = reach(
            target,
            self._serve,
            headers=headers,
            bearer=bearer,
            http_client=http_client,
            probe_timeout_s=probe_timeout_s,
        )
        negotiation = Negotiation(
            found,
            self._identity,
            self._verdicts,
            open_link=self._open_link,
            drop_link=self._drop_link,
            probe_timeout_s=probe_timeout_s,
            timeout_s=timeout_s,
        )
        return await negotiation.session(revision)

    async def _open_link(self, transport: Duplex | Posts) -> ClientLink:
        link = self._link(transport)
        self._links.append(link)
        try:
            await link.open()
        except BaseException:
            await self._drop_link(link)
            raise
        return link

    def _link(self, transport: Duplex | Posts) -> ClientLink:
        if isinstance(transport, Posts):
            from mcp_gen.session.http_link import HttpLink

            return HttpLink(transport, self.hooks)
        return ClientLink(transport, self.hooks)

    async def _drop_link(self, link: ClientLink) -> None:
        if link in self._links:
            self._links.remove(link)
        await link.close()

    def _serve(self, work: Coroutine[Any, Any, None]) -> None:
        self._serving.append(asyncio.get_running_loop().create_task(work))

    def _hooks_changed(self) -> None:
        for link in self._links:
            link.changed()
