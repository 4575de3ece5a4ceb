"""Calls that a session makes for others, who are asked what its server asks meanwhile."""

from __future__ import annotations

from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import msgspec
from msgspec import Raw, Struct

import mcp_wire
from mcp_gen.client.requests.sender import ClientRequestSender
from mcp_gen.core.errors import (
    InvalidRequest,
    McpError,
    ProtocolError,
    SessionLost,
    UrlElicitation,
)
from mcp_gen.core.relay import relay_of
from mcp_wire import encode, latest

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_gen.client.callbacks.callbacks import ClientCallbacks
    from mcp_gen.client.requests.settings import SessionOptions
    from mcp_gen.client.session.session import ClientSession
    from mcp_gen.client.subscriptions.watch import ChangeWatch
    from mcp_gen.core.relay import RelayListener, RelayRequestHandler
    from mcp_gen.session.duplex.client import ClientConnection
    from mcp_wire.callers import OnProgress
    from mcp_wire.method import Method
    from mcp_wire.profile import Profile

__all__ = ["ClientSessionRelay", "ask_callers"]

_asking: ContextVar[RelayRequestHandler | None] = ContextVar("asking", default=None)
"""For whom a request is made: known in what is done for it, where each has a way of its own."""


class ClientSessionRelay:
    """The way through a session for calls of others; see `mcp_gen.core.relay.Relay`."""

    def __init__(
        self,
        session: ClientSession,
        options: SessionOptions,
        passed: frozenset[str],
        link: Callable[[], ClientConnection | None],
    ) -> None:
        self._session = session
        self._options = options
        self._passed = passed
        self._current_link = link
        self._asking: RelayRequestSender | None = None
        self._open: dict[RelayRequestHandler, None] = {}
        """Those for whom something is being asked, in the order in which they came."""
        self._listeners: WeakSet[RelayListener] = WeakSet()

    @property
    def profile(self) -> Profile:
        """What the session speaks."""
        return self._session.profile

    @property
    def name(self) -> str:
        """What the server calls itself."""
        return getattr(self._session.server_info, "name", None) or "a server without a name"

    @property
    def capabilities(self) -> Any:
        """What the server has declared."""
        return self._session.server_capabilities

    @property
    def is_lost(self) -> bool:
        """Whether the connection has ended, and was not opened anew."""
        return self._session.is_lost

    @property
    def passes_on(self) -> bool:
        """Whether what the server asks goes to whoever made the call."""
        return bool(self._passed)

    async def ready(self) -> None:
        """Connect anew where the connection was lost."""
        await self._session.reconnect()

    # --- requests of others ---

    async def request(
        self,
        method: Method[Any, Any],
        params: Any,
        *,
        asker: RelayRequestHandler | None = None,
        progress: OnProgress | None = None,
        again: bool = False,
        timeout_s: float | None = None,
    ) -> Raw:
        """Send a request for somebody, and return its result undecoded."""
        ask = partial(self._request, method, params, asker, progress, timeout_s)
        try:
            return await ask()
        except SessionLost:
            if not again:
                raise
            spoken = self.profile
            await self.ready()
            if self.profile is not spoken:
                raise  # these params are of another revision
            return await ask()

    async def _request(
        self,
        method: Method[Any, Any],
        params: Any,
        asker: RelayRequestHandler | None,
        progress: OnProgress | None,
        timeout_s: float | None,
    ) -> Raw:
        params = self._with_meta(params, asker)
        if timeout_s is None:
            # Whoever made the call knows how long to wait, and calls it off.
            timeout_s = self._options.settings.max_timeout_s
        asking = self._way()
        if asker is None:
            return await asking.raw(method, params, timeout_s, progress)
        self._open[asker] = None
        token = _asking.set(asker)
        try:
            return await asking.raw(method, params, timeout_s, progress)
        finally:
            _asking.reset(token)
            self._open.pop(asker, None)

    def _with_meta(self, params: Any, asker: RelayRequestHandler | None) -> Any:
        """The params with what this session says in every request, and what the caller can do."""
        profile = self.profile
        own = self._session.meta
        if own:
            key = profile.client_capabilities_key or ""
            # What a server adds for an extension would reach clients that know nothing of it.
            own = {**own, key: _without_extensions(own.get(key))}
            if asker is not None and self._passed:
                declared = asker.capabilities(profile.revision)
                passed = {key: one for key, one in declared.items() if key in self._passed}
                own[key] = passed
            level = asker.log_level() if asker is not None else None
            if level is not None and profile.log_level_key is not None:
                own[profile.log_level_key] = level
        given: dict[str, Any] = params.meta or {}
        meta = {**given, **(own or {})}
        return msgspec.structs.replace(params, meta=meta or None)

    def _way(self) -> RelayRequestSender:
        link = self._current_link()
        assert link is not None
        if self._asking is None or self._asking.link is not link:
            self._asking = RelayRequestSender.over(
                link, self._session, self._options, passes_on=self.passes_on
            )
        return self._asking

    # --- questions ---

    async def ask(self, role: str, params: Any = None, elicitation_id: str | None = None) -> Any:
        """The answer of whoever made the call in which the server asks.

        Raises:
            McpError: it is not certain whose call that is; or what the caller said.
        """
        asker = self.asker()
        if asker is None:
            raise McpError(
                InvalidRequest.code,
                "nobody can be asked: no call is open that the question could belong to, or "
                "several clients have calls open on this connection",
            )
        return await asker.request(role, params, elicitation_id)

    def asker(self) -> RelayRequestHandler | None:
        """Whoever made the call that something which just came belongs to; None if unsure."""
        link = self._current_link()
        own = _asking.get() if link is not None and link.tells_calls_apart else None
        if own is not None and own in self._open:
            return own
        askers = list(self._open)
        if not askers or any(one.client != askers[-1].client for one in askers):
            return None
        return next((one for one in reversed(askers) if one.is_ready), askers[-1])

    # --- news ---

    def add(self, listener: RelayListener) -> None:
        """Tell somebody what happens, as long as there is anybody else who holds it."""
        self._listeners.add(listener)

    def discard(self, listener: RelayListener) -> None:
        """The end of `add`."""
        self._listeners.discard(listener)

    def on_notification(self, news: str, params: Any) -> None:
        """A notification came."""
        if news == "log":
            asker = self.asker()
            if asker is not None:
                asker.log(params.level, params.data, params.logger)
            return
        for listener in list(self._listeners):
            listener.on_notification(news, params)

    def session_recreated(self) -> None:
        """The session goes on with a server that knows nothing of what was before."""
        for listener in list(self._listeners):
            listener.session_recreated()

    def watch(self, *uris: str, lists: bool = False) -> ChangeWatch:
        """Hear of changes of resources, or of all lists that the server has."""
        declared = self.capabilities
        return self._session.watch(
            *uris,
            tools=lists and _tells(declared.tools),
            prompts=lists and _tells(declared.prompts),
            resources=lists and _tells(declared.resources),
        )


def _without_extensions(declared: Any) -> Any:
    if getattr(declared, "extensions", None) is None:
        return declared
    return msgspec.structs.replace(declared, extensions=None)


def _tells(declared: Any) -> bool:
    return declared is not None and bool(declared.list_changed)


class _Kind(Struct, rename={"result_type": "resultType"}):
    result_type: str = "complete"


_kind = msgspec.json.Decoder(_Kind)


class RelayRequestSender(ClientRequestSender):
    """Sends a session's requests without reading more of their results than must be."""

    _passes_on = False

    @classmethod
    def over(
        cls,
        link: ClientConnection,
        session: ClientSession,
        options: SessionOptions,
        *,
        passes_on: bool,
    ) -> RelayRequestSender:
        """What sends over a connection of a session."""
        made = cls(link, session.profile, mcp_wire.LATEST, session, options, session.cache)
        made._passes_on = passes_on
        return made

    @property
    def link(self) -> ClientConnection:
        """The connection that they go through."""
        return self._link

    async def raw(
        self,
        method: Method[Any, Any],
        params: Any,
        timeout_s: float | None,
        progress: OnProgress | None,
    ) -> Raw:
        """The result as it came; hooks see it decoded. What the client answers is answered.

        Raises:
            ProtocolError: a result that may not be, where the client's `validation` are strict.
        """
        point = self._outbound.points.get(method.name)
        answers = self._asks_back is not None and not self._passes_on
        if not point and not answers and self._validation == "lenient":
            return await self._channel.request(
                method, params, timeout_s=timeout_s, progress=progress
            )

        async def send(context: Any, params: Any) -> Raw:
            raw = await self._channel.request(
                method, params, timeout_s=timeout_s, progress=progress
            )
            if self._validation != "lenient":
                self._check_conformance(method, raw)
            return raw

        times = self._options.settings.max_rounds
        for number in range(times + 1):
            if point:
                raw = await self._hooked(method, params, send)
            else:
                raw = await send(self.context, params)
            if not answers or _kind.decode(raw).result_type == _Kind().result_type:
                return raw
            result = self._read(method, raw)
            if type(result) is not self._asks_back:
                return raw
            params = await self._answered(method, params, result, number)
        raise ProtocolError(f"{method.name}: the server asked {times} times and is not done")

    async def _hooked(self, method: Method[Any, Any], params: Any, send: Any) -> Raw:
        point: Any = self._outbound.points[method.name]

        async def between(context: Any, params: Any) -> Any:
            return method.decode_result(await send(context, params))

        if type(params) is not method.params:
            params = method.decode_params(encode(params))
        return Raw(encode(await point.around(self.context, params, between)))


# --- what a client answers whose servers ask those who make calls ---


def ask_callers(offer: ClientCallbacks) -> None:
    """Let what servers may ask go to whoever made the call, where the client does not answer."""
    offer.forwarding = {"elicitation": _elicit, "sampling": _sample, "list_roots": _list_roots}
    if offer.elicitation is None and offer.url_elicitation is None:
        offer.elicitation, offer.url_elicitation = _elicit, _elicit_url
    if offer.sampling is None:
        offer.sampling = _sample
        offer.sampling_tools = offer.sampling_context = True
    if not offer.has_roots:
        offer.list_roots = _list_roots


def _relay_of(session: ClientSession) -> ClientSessionRelay:
    relay = relay_of(session)
    assert isinstance(relay, ClientSessionRelay)
    return relay


async def _elicit(
    session: ClientSession, params: latest.ElicitRequestFormParams
) -> latest.ElicitResult:
    answer: latest.ElicitResult = await _relay_of(session).ask("elicit", params)
    return answer


async def _elicit_url(session: ClientSession, page: UrlElicitation) -> latest.ElicitResult:
    params = latest.ElicitRequestURLParams(message=page.message, url=page.url)
    answer: latest.ElicitResult = await _relay_of(session).ask(
        "elicit", params, page.elicitation_id
    )
    return answer


async def _sample(
    session: ClientSession, params: latest.CreateMessageRequestParams
) -> latest.CreateMessageResult:
    said: latest.CreateMessageResult = await _relay_of(session).ask("create_message", params)
    return said


async def _list_roots(session: ClientSession) -> list[latest.Root]:
    roots: latest.ListRootsResult = await _relay_of(session).ask("list_roots")
    return list(roots.roots)
