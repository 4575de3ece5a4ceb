"""Session relay: makes calls for other clients and forwards the server's requests to them."""

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
from mcp_gen.core.loose_json import read_as
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
    from mcp_wire.method import Method
    from mcp_wire.peer_calls import OnProgress
    from mcp_wire.profile import Profile

__all__ = ["ClientSessionRelay", "ask_as", "ask_callers"]

_current_handler: ContextVar[RelayRequestHandler | None] = ContextVar(
    "current_handler", default=None
)
"""Handler of the call that the current task works for, where calls have channels of their own."""


class ClientSessionRelay:
    """Relay over one session; see `mcp_gen.core.relay.Relay`."""

    def __init__(
        self,
        session: ClientSession,
        options: SessionOptions,
        forwarded: frozenset[str],
        connection: Callable[[], ClientConnection | None],
        *,
        passes_capabilities: bool = False,
    ) -> None:
        self._session = session
        self._passes_capabilities = passes_capabilities
        """True if the server gets all capabilities of the caller, where requests name them."""
        self._options = options
        self._forwarded = forwarded
        self._current_connection = connection
        self._sender: RelayRequestSender | None = None
        self._open_calls: dict[RelayRequestHandler, None] = {}
        """Handlers of the open calls, in the order of the calls."""
        self._listeners: WeakSet[RelayListener] = WeakSet()
        self._declared: tuple[Any, Any] | None = None
        """Capabilities of the server, as they were decoded and at the negotiated revision."""
        self.otherwise: RelayRequestHandler | None = None
        """Answers requests of the server that belong to no call; None: they are refused."""

    @property
    def profile(self) -> Profile:
        """Profile of the negotiated revision."""
        return self._session.profile

    @property
    def name(self) -> str:
        """Name of the server."""
        return getattr(self._session.server_info, "name", None) or "a server without a name"

    @property
    def info(self) -> Any:
        """Name and version of the server, of the newest type; None if it did not send them."""
        return self._session.server_info

    @property
    def capabilities(self) -> Any:
        """ServerCapabilities that the server declared, of the negotiated revision."""
        declared = self._session.opening.capabilities
        if self._declared is None or self._declared[0] is not declared:
            # A handshake is decoded at the revision that was asked for, which may be another one.
            kind = mcp_wire.types(self.profile.revision).ServerCapabilities
            self._declared = declared, read_as(kind, declared) or kind()
        return self._declared[1]

    @property
    def is_lost(self) -> bool:
        """True if the connection was lost and not reopened."""
        return self._session.is_lost

    @property
    def has_calls(self) -> bool:
        """True if a call of a caller is open."""
        return bool(self._open_calls)

    @property
    def relays_input_requests(self) -> bool:
        """True if server requests are forwarded to the caller."""
        return self._passes_capabilities or bool(self._forwarded)

    async def ready(self) -> None:
        """Reconnect if the connection was lost."""
        await self._session.reconnect()

    # --- requests of callers ---

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
        """Send a request for a caller and return its undecoded result.

        Args:
            method: The method.
            params: Its params, at the revision of `profile`.
            asker: Receives the server's requests and log messages during the call; None: nobody.
            progress: Called with each progress notification.
            again: True retries the request after a lost connection, if the revision stays the same.
            timeout_s: Seconds that the answer may take; None: `max_timeout_s` of the client.
        """
        send = partial(self._request, method, params, asker, progress, timeout_s)
        try:
            return await send()
        except SessionLost:
            if not again:
                raise
            profile = self.profile
            await self.ready()
            if self.profile is not profile:
                raise  # the params are of the old revision
            return await send()

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
            # The caller has its own timeout and cancels the request.
            timeout_s = self._options.settings.max_timeout_s
        sender = self._current_sender()
        if asker is None:
            return await sender.raw(method, params, timeout_s, progress)
        self._open_calls[asker] = None
        token = _current_handler.set(asker)
        try:
            return await sender.raw(method, params, timeout_s, progress)
        finally:
            _current_handler.reset(token)
            self._open_calls.pop(asker, None)

    def _with_meta(self, params: Any, asker: RelayRequestHandler | None) -> Any:
        """Return the params with the `_meta` of the session and the caller's capabilities."""
        profile = self.profile
        own = self._session.meta
        if own:
            key = profile.client_capabilities_key or ""
            # Callers may not know this client's extensions, so the server must not use them.
            own = {**own, key: _without_extensions(own.get(key))}
            if asker is not None and self._passes_capabilities:
                own[key] = asker.capabilities(profile.revision)
            elif asker is not None and self._forwarded:
                declared = asker.capabilities(profile.revision)
                forwarded = {key: one for key, one in declared.items() if key in self._forwarded}
                own[key] = forwarded
            level = asker.log_level() if asker is not None else None
            if level is not None and profile.log_level_key is not None:
                own[profile.log_level_key] = level
        given: dict[str, Any] = params.meta or {}
        meta = {**given, **(own or {})}
        return msgspec.structs.replace(params, meta=meta or None)

    def _current_sender(self) -> RelayRequestSender:
        connection = self._current_connection()
        assert connection is not None
        if self._sender is None or self._sender.connection is not connection:
            self._sender = RelayRequestSender.over(
                connection, self._session, self._options, passes_on=self.relays_input_requests
            )
        return self._sender

    # --- forwarded server requests ---

    async def ask_caller(
        self, kind: str, params: Any = None, elicitation_id: str | None = None
    ) -> Any:
        """Forward a server request to the caller in whose call it was made; return the answer.

        Raises:
            McpError: The caller is not certain; or the error that the caller answered with.
        """
        asker = self.asker() or self.otherwise
        if asker is None:
            raise McpError(
                InvalidRequest.code,
                "nobody can be asked: no call is open that the question could belong to, or "
                "several clients have calls open on this connection",
            )
        return await asker.request(kind, params, elicitation_id)

    def asker(self) -> RelayRequestHandler | None:
        """Return the handler of the call that an incoming message belongs to; None if uncertain."""
        connection = self._current_connection()
        own = (
            _current_handler.get()
            if connection is not None and connection.tells_calls_apart
            else None
        )
        if own is not None and own in self._open_calls:
            return own
        askers = list(self._open_calls)
        if not askers or any(one.client != askers[-1].client for one in askers):
            return None
        return next((one for one in reversed(askers) if one.is_ready), askers[-1])

    # --- notifications ---

    def add(self, listener: RelayListener) -> None:
        """Notify a listener of events, for as long as it is referenced elsewhere."""
        self._listeners.add(listener)

    def discard(self, listener: RelayListener) -> None:
        """Stop notifying a listener."""
        self._listeners.discard(listener)

    def on_notification(self, news: str, params: Any) -> None:
        """Pass on a notification: log messages to the caller if it is certain, others to all."""
        asker = self.asker() if news == "log" else None
        if asker is not None:
            asker.log(params.level, params.data, params.logger)
            return
        for listener in list(self._listeners):
            listener.on_notification(news, params)

    def session_recreated(self) -> None:
        """Notify the listeners that the session continues with a server that lost its state."""
        for listener in list(self._listeners):
            listener.session_recreated()

    def watch(self, *uris: str, lists: bool = False) -> ChangeWatch:
        """Watch resources, or all lists for which the server declared `listChanged`.

        Of several resources, those that the server refuses are left out.
        """
        declared = self.capabilities
        watch = self._session.watch(
            *uris,
            tools=lists and _has_list_changed(declared.tools),
            prompts=lists and _has_list_changed(declared.prompts),
            resources=lists and _has_list_changed(declared.resources),
        )
        watch.skips_refused = len(uris) > 1
        return watch


def _without_extensions(declared: Any) -> Any:
    if getattr(declared, "extensions", None) is None:
        return declared
    return msgspec.structs.replace(declared, extensions=None)


def _has_list_changed(declared: Any) -> bool:
    return declared is not None and bool(declared.list_changed)


class _ResultType(Struct, rename={"result_type": "resultType"}):
    result_type: str = "complete"


_result_type_decoder = msgspec.json.Decoder(_ResultType)


class RelayRequestSender(ClientRequestSender):
    """Sends the requests of a session, decoding results only as far as necessary."""

    _forwards = False

    @classmethod
    def over(
        cls,
        connection: ClientConnection,
        session: ClientSession,
        options: SessionOptions,
        *,
        passes_on: bool,
    ) -> RelayRequestSender:
        """Return a sender over a connection of a session."""
        sender = cls(connection, session.profile, mcp_wire.LATEST, session, options, session.cache)
        sender._forwards = passes_on
        return sender

    @property
    def connection(self) -> ClientConnection:
        """The connection that requests are sent on."""
        return self._connection

    async def raw(
        self,
        method: Method[Any, Any],
        params: Any,
        timeout_s: float | None,
        progress: OnProgress | None,
    ) -> Raw:
        """Send a request and return its undecoded result; hooks and middleware get it decoded.

        Input requests are answered here unless they are forwarded.

        Raises:
            ProtocolError: The result violates the protocol, and the validation is `strict`; or the
                server requests input more than `max_rounds` times.
        """
        wrapped = self._outbound.points.get(method.name) or self._middleware
        answers = self._input_required_type is not None and not self._forwards
        if not wrapped and not answers and self._validation == "lenient":
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

        max_rounds = self._options.settings.max_rounds
        for round_number in range(max_rounds + 1):
            if wrapped:
                raw = await self._hooked(method, params, send)
            else:
                raw = await send(self.context, params)
            if (
                not answers
                or _result_type_decoder.decode(raw).result_type == _ResultType().result_type
            ):
                return raw
            result = self._read(method, raw)
            if type(result) is not self._input_required_type:
                return raw
            params = await self._next_params(method, params, result, round_number)
        raise ProtocolError(f"{method.name}: the server asked {max_rounds} times and is not done")

    async def _hooked(self, method: Method[Any, Any], params: Any, send: Any) -> Raw:
        async def between(context: Any, params: Any) -> Any:
            return method.decode_result(await send(context, params))

        if type(params) is not method.params:
            params = method.decode_params(encode(params))
        return Raw(encode(await self._wrapped(method, between)(self.context, params)))


# --- callbacks that forward to the caller ---


def ask_as(callbacks: ClientCallbacks, declared: latest.ClientCapabilities) -> None:
    """Set callbacks that forward the server requests that these capabilities allow.

    All capabilities are declared to the server as they are, where its revision has them.
    """
    callbacks.declared = declared
    callbacks.pass_on_extensions(declared.extensions or {})
    callbacks.forwarding = {"elicitation": _elicit, "sampling": _sample, "list_roots": _list_roots}
    elicitation, sampling = declared.elicitation, declared.sampling
    if elicitation is not None:
        # An empty object declares forms.
        if elicitation.form is not None or elicitation.url is None:
            callbacks.elicitation = _elicit
        if elicitation.url is not None:
            callbacks.url_elicitation = _elicit_url
    if sampling is not None:
        callbacks.sampling = _sample
        callbacks.sampling_tools = sampling.tools is not None
        callbacks.sampling_context = sampling.context is not None
    if declared.roots is not None:
        callbacks.list_roots = _list_roots


def ask_callers(callbacks: ClientCallbacks) -> None:
    """Set callbacks that forward server requests to the caller, where the client has no handler."""
    callbacks.forwarding = {"elicitation": _elicit, "sampling": _sample, "list_roots": _list_roots}
    if callbacks.elicitation is None and callbacks.url_elicitation is None:
        callbacks.elicitation, callbacks.url_elicitation = _elicit, _elicit_url
    if callbacks.sampling is None:
        callbacks.sampling = _sample
        callbacks.sampling_tools = callbacks.sampling_context = True
    if not callbacks.has_roots:
        callbacks.list_roots = _list_roots


def _relay_of(session: ClientSession) -> ClientSessionRelay:
    relay = relay_of(session)
    assert isinstance(relay, ClientSessionRelay)
    return relay


async def _elicit(
    session: ClientSession, params: latest.ElicitRequestFormParams
) -> latest.ElicitResult:
    result: latest.ElicitResult = await _relay_of(session).ask_caller("elicit", params)
    return result


async def _elicit_url(session: ClientSession, elicitation: UrlElicitation) -> latest.ElicitResult:
    params = latest.ElicitRequestURLParams(message=elicitation.message, url=elicitation.url)
    result: latest.ElicitResult = await _relay_of(session).ask_caller(
        "elicit", params, elicitation.elicitation_id
    )
    return result


async def _sample(
    session: ClientSession, params: latest.CreateMessageRequestParams
) -> latest.CreateMessageResult:
    result: latest.CreateMessageResult = await _relay_of(session).ask_caller(
        "create_message", params
    )
    return result


async def _list_roots(session: ClientSession) -> list[latest.Root]:
    roots: latest.ListRootsResult = await _relay_of(session).ask_caller("list_roots")
    return list(roots.roots)
