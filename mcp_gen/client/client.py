"""The client a program writes: who it is, and the servers it is connected to."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from mcp_gen.client.callbacks.callbacks import (
    ClientCallbacks,
    FormHandler,
    RootsSource,
    SamplingHandler,
    UrlHandler,
)
from mcp_gen.client.callbacks.decorators import CallbackDecorators
from mcp_gen.client.callbacks.violations import OnReport, ViolationReporter
from mcp_gen.client.connecting.identity import ClientProfile
from mcp_gen.client.connecting.negotiation import Negotiator, Verdicts
from mcp_gen.client.connecting.targets import resolve_target
from mcp_gen.client.requests.settings import ClientSettings, Validation
from mcp_gen.core.extensions.extensions import Given
from mcp_gen.core.revisions import select
from mcp_gen.core.transport.protocols import Posts
from mcp_gen.session.duplex.client import ClientConnection
from mcp_wire import latest
from mcp_wire.hooks import ClientHooks

if TYPE_CHECKING:
    from mcp_gen.client.connecting.targets import Target
    from mcp_gen.client.session.session import ClientSession
    from mcp_gen.core.transport.protocols import Duplex
    from mcp_gen.transports.http_client.endpoint import HeadersFrom

__all__ = ["Client"]

R = TypeVar("R", bound=OnReport)


class Client(CallbackDecorators):
    """An MCP client: `async with Client("agent") as client`; leaving it ends its sessions.

    Servers may ask it: `sampling` continues a conversation with a model, `elicitation` shows the
    user a form, `url_elicitation` sends the user to a page, `roots` are the folders that servers
    may work on, or what gives them. What is not given is not declared; see the decorators of the
    same names. `experimental` is declared as it is, by name. `extensions` are the EXTENSIONs of
    generated packages, each alone or with its settings; or, by name, what is only declared. With
    `tasks` servers of 2026-07-28 may answer calls of tools with tasks, which the calls then wait
    for, and servers of 2025-11-25 may ask for answers of `sampling` and `elicitation` as tasks of
    this client. Calls of tools that run as tasks at 2025-11-25 need none of it.

    A request may take `timeout_s`, each report of progress begins that anew, and `max_timeout_s` in
    all; lists may have `max_pages`, and servers may ask back `max_rounds` times before they answer.
    `max_cached_results` results are kept per session for as long as the server allows, 0 for none.
    `validation` is what becomes of what a server may not send: `lenient` passes it over, `report`
    tells of it (see `on_violation`), `strict` makes the result an error, too; no session is ended
    for it. `log_level` is how severe log messages must be to be sent. Every `keep_alive_s` a server
    is asked whether it is there; one that is silent for `keep_alive_timeout_s` is given up.

    With `forward_requests` its sessions are for `Server.mount`: whatever servers may ask and has no
    handler here is asked of the client for which the call was made.
    """

    def __init__(
        self,
        name: str,
        version: str = "0.0.0",
        *,
        title: str | None = None,
        sampling: SamplingHandler | None = None,
        elicitation: FormHandler | None = None,
        url_elicitation: UrlHandler | None = None,
        roots: RootsSource | None = None,
        experimental: Mapping[str, dict[str, Any]] | None = None,
        extensions: Mapping[str, dict[str, Any]] | Sequence[Given] | None = None,
        tasks: bool = False,
        timeout_s: float = 60.0,
        max_timeout_s: float = 3600.0,
        max_pages: int = 1000,
        max_rounds: int = 10,
        max_cached_results: int = 256,
        validation: Validation = "lenient",
        log_level: latest.LoggingLevel | None = None,
        keep_alive_s: float | None = None,
        keep_alive_timeout_s: float = 10.0,
        forward_requests: bool = False,
    ) -> None:
        offer = ClientCallbacks(
            sampling=sampling,
            elicitation=elicitation,
            url_elicitation=url_elicitation,
            roots=roots,
            experimental=experimental,
            extensions=extensions,
            tasks=tasks,
        )
        if forward_requests:
            # Most clients relay nothing, and need not load what does.
            from mcp_gen.client.connecting.relay import ask_callers

            ask_callers(offer)
        super().__init__(offer)
        self._info = latest.Implementation(name=name, version=version, title=title)
        self._settings = ClientSettings(
            timeout_s=timeout_s,
            max_timeout_s=max_timeout_s,
            max_pages=max_pages,
            max_rounds=max_rounds,
            max_cached_results=max_cached_results,
            validation=validation,
            log_level=log_level,
            keep_alive_s=keep_alive_s,
            keep_alive_timeout_s=keep_alive_timeout_s,
        )
        self._reports = ViolationReporter()
        self.hooks = ClientHooks(self._hooks_changed)
        """Decorators that add hooks: `@client.hooks.outbound.before_call_tool`, and so on."""
        self._links: list[ClientConnection] = []
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
        await self.aclose()

    async def aclose(self) -> None:
        """End every session."""
        links, self._links = self._links, []
        await asyncio.gather(*(link.aclose() for link in links))
        serving, self._serving = self._serving, []
        await asyncio.gather(*serving)

    async def connect(
        self,
        target: Target,
        *,
        revision: str | None = None,
        result_revision: str | ModuleType | None = None,
        headers: HeadersFrom | None = None,
        bearer_token: str | None = None,
        http_client: Any = None,
        timeout_s: float = 60.0,
        probe_timeout_s: float = 10.0,
        reconnect: bool = True,
    ) -> ClientSession:
        """Connect to a URL, a command (its words, or one line), a Server, or a transport.

        `revision` pins the protocol revision; without it the newest that both sides speak is used,
        found by asking and, after `probe_timeout_s` of silence, by a handshake. What a server
        turned out to speak is remembered for the next time. `results` is the revision that results
        are given at, by its date or its module: the default is the one that was pinned, or else the
        newest. With `reconnect` a server that went away is connected to again, a command started.

        For URLs: `headers` go with every request, a mapping or a function that is called before
        each, sync or async; `bearer_token` is a token; `http_client` an AsyncClient of httpx2 or
        httpx that sends everything, and stays open.

        Raises:
            UsageError: no such revision, or nothing that can be connected to.
            TransportError: the command cannot be started, the URL cannot be reached.
            HttpError: it answers with a status that says no.
            ProtocolError: no revision in common.
            McpError, RequestTimeout, SessionLost: the server would not, did not, or went away.
        """
        if revision is not None:
            select([revision])
        found = resolve_target(
            target,
            self._serve,
            headers=headers,
            bearer_token=bearer_token,
            http_client=http_client,
            probe_timeout_s=probe_timeout_s,
        )
        identity = ClientProfile(
            self._info,
            self._offer.copy(),
            self._settings,
            self._reports,
            _results_at(result_revision),
        )

        async def open_session() -> ClientSession:
            negotiation = Negotiator(
                found,
                identity,
                self._verdicts,
                open_link=self._open_link,
                drop_link=self._drop,
                probe_timeout_s=probe_timeout_s,
                timeout_s=timeout_s,
            )
            session, identity.link = await negotiation.session(revision)
            return session

        async def open_again() -> ClientSession:
            if identity.link is not None:
                await self._drop(identity.link)
            return await open_session()

        session = await open_session()
        if reconnect and found.restarts:
            session.connect_again = open_again
        return session

    async def _open_link(self, transport: Duplex | Posts) -> ClientConnection:
        link = self._link(transport)
        # Those that the program has closed itself are of no use any more.
        self._links = [*(one for one in self._links if not one.is_closed), link]
        try:
            await link.open()
        except BaseException:
            await self._drop(link)
            raise
        return link

    def _link(self, transport: Duplex | Posts) -> ClientConnection:
        if isinstance(transport, Posts):
            # Loaded for HTTP only.
            from mcp_gen.session.http_client.connection import HttpClientConnection

            return HttpClientConnection(transport, self.hooks)
        return ClientConnection(transport, self.hooks)

    def _serve(self, work: Coroutine[Any, Any, None]) -> None:
        serving = [one for one in self._serving if not one.done()]
        self._serving = [*serving, asyncio.get_running_loop().create_task(work)]

    async def _drop(self, link: ClientConnection) -> None:
        if link in self._links:
            self._links.remove(link)
        await link.aclose()

    async def _tell_roots_changed(self) -> None:
        for link in list(self._links):
            session: ClientSession | None = link.session
            if session is None or session.is_lost or session.profile.roots_changed is None:
                continue
            if session.declares_roots:
                await session.notify_roots_list_changed()

    def on_violation(self, handler: R) -> R:
        """Hear of what servers send and may not, where `validation` says so: `handler(report)`.

        What is not heard by anybody is logged as a warning.
        """
        self._reports.handlers.append(handler)
        return handler

    def _hooks_changed(self) -> None:
        for link in self._links:
            link.changed()


def _results_at(results: str | ModuleType | None) -> str | None:
    if results is None:
        return None
    profile = getattr(results, "PROFILE", None)
    name: str = profile.revision if profile is not None else str(results)
    return select([name])[0]
