"""Answers one request at one revision: route, decode, admit, run, encode.

Holds no connection: the sender of a request comes in as a `RequestOrigin`.
"""

from __future__ import annotations

import asyncio
import logging
import re
import signal
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec
from msgspec import Raw

import mcp_wire
from mcp_gen.core import envelope
from mcp_gen.core.bounds import check_bounds
from mcp_gen.core.checks.finite import check_finite
from mcp_gen.core.error_groups import primary_error
from mcp_gen.core.errors import (
    InsufficientScope,
    InvalidParams,
    McpError,
    MethodNotFound,
    ProtocolError,
    UsageError,
)
from mcp_gen.core.extensions.extensions import CLIENT, Extensions, declared, missing
from mcp_gen.core.loose_json import read_meta
from mcp_gen.core.mistakes.checks import check_callable
from mcp_gen.core.peer_values import shortened
from mcp_gen.core.projection.project import restate
from mcp_gen.core.revisions import find_revision, per_request, with_handshake
from mcp_gen.core.text_encoding import Piece, join_pieces, long_field, take_long_values
from mcp_gen.session.kernel.binding import Bindings, RevisionBinding, timed
from mcp_gen.session.kernel.call import Call
from mcp_gen.session.kernel.errors import (
    bad_params,
    cut_off,
    error_for_peer,
    is_cancelled,
    store_down,
)
from mcp_gen.session.kernel.hook_results import check_result, restate_result
from mcp_gen.session.kernel.lifecycle import lifecycle_of, unsupported
from mcp_gen.session.kernel.limits import Limits
from mcp_gen.session.kernel.results import (
    EncodedResult,
    RelayedResult,
    has_short_texts_only,
    untyped_result,
    with_identity,
    with_own_identity,
)
from mcp_gen.session.messages.current import CURRENT
from mcp_gen.session.messages.middleware import Middleware, wrap
from mcp_gen.session.messages.notifications import NotificationReceiver
from mcp_gen.session.peer.session import RequestOrigin
from mcp_wire import encode
from mcp_wire.method import Route

if TYPE_CHECKING:
    from mcp_gen.core.envelope import RequestId
    from mcp_gen.core.peer_limits import PeerLimits
    from mcp_gen.session.kernel.binding import Handle
    from mcp_gen.session.messages.channel import Channel
    from mcp_gen.session.peer.session import Session
    from mcp_wire.handlers import ServerHandlers
    from mcp_wire.hooks import ServerHooks
    from mcp_wire.method import Method
    from mcp_wire.profile import Profile

__all__ = ["Kernel"]

C = TypeVar("C")

NOTHING_MATCHES = rb"(?!)"
"""Pattern that matches no text."""

_TOLD = frozenset({MethodNotFound.code, InvalidParams.code})
"""Error codes of the refusals that `on_error` hooks hear of."""

_log = logging.getLogger("mcp_gen.server")


class Kernel(Generic[C]):
    """A server without its transports.

    Call `changed` after adding hooks or features. Requests that arrive later are routed anew;
    requests in progress are not affected.

    Args:
        handlers: Handlers of the methods.
        hooks: Hooks of the server.
        revisions: Offered revisions, oldest first.
        context: Makes the context of a request from its id (None for notifications), its origin and
            its `_meta`.
        offered: Returns the capabilities that the server declares. Methods that require another
            one are not routed.
        server_info: Name and version of the server.
        limits: Limits of the server; see `Limits` for the defaults.
        mask_errors: True sends nothing of a failure but the id under which it is logged.
    """

    def __init__(
        self,
        *,
        handlers: ServerHandlers[C],
        hooks: ServerHooks,
        revisions: Sequence[str],
        context: Callable[[RequestId | None, RequestOrigin, dict[str, Any] | None], C],
        offered: Callable[[], frozenset[str]],
        server_info: Any,
        limits: Limits = Limits(),
        mask_errors: bool = False,
    ) -> None:
        self.revisions = tuple(revisions)
        self.handshakes = with_handshake(revisions)
        self.per_request = per_request(revisions)
        self.handlers = handlers
        """Handlers of the methods; call `changed` after replacing them."""
        self.hooks = hooks
        hooks.accept, hooks.outbound.accept = check_result, restate_result
        hooks.check = hooks.outbound.check = check_callable
        self.context = context
        self.declared_capabilities = offered
        self.server_info = server_info
        self.limits = limits
        self.mask_errors = mask_errors
        self.sessions: set[Session] = set()
        """Open sessions."""
        self.loops: set[asyncio.AbstractEventLoop] = set()
        """Event loops that have had clients to notify of changes."""
        self.on_connection_end: list[Callable[[Channel], None]] = []
        """Functions called with a channel before it ends, to end what is still open on it."""
        self.middleware: list[Middleware] = []
        """Middleware around incoming messages, outermost first; call `changed` after adding one."""
        self.outbound_middleware: list[Middleware] = []
        """Middleware around messages to clients, outermost first."""
        self.outer_wrapper: Callable[[Handle[C]], Handle[C]] | None = None
        """Wrapper around each route, outside all middleware; call `changed` after setting it."""
        self.custom_methods: dict[str, Callable[[Profile], Route[C] | None]] = {}
        """Custom requests, by method: each function returns the route at a revision."""
        self.custom_notifications: dict[str, Callable[[Profile], Method[Any, None] | None]] = {}
        """Custom notifications, by method: each function returns the row at a revision."""
        self.extensions = Extensions()
        """Offered protocol extensions; call `changed` after adding one."""
        self.bindings = Bindings(self._bind)
        """This server bound to each revision."""
        keys = sorted({mcp_wire.VERSION_KEYS[revision] for revision in self.per_request})
        # Searched in undecoded params: most requests of a connection with a handshake lack the key.
        # Some encoders write a slash as `\/`.
        pattern = "|".join(map(re.escape, keys)).replace("/", r"\\?/").encode()
        self.names_revision = re.compile(pattern if keys else NOTHING_MATCHES).search
        """Searches undecoded params; finds nothing if they name no revision in `_meta`."""
        self._version_keys = keys
        self._older = self.per_request[:-1]
        """Revisions that a request may name, except the newest one."""

    @property
    def peer_limits(self) -> PeerLimits:
        """Limits on what one client can cause."""
        return self.limits.peer

    @property
    def max_log_bytes(self) -> int | None:
        """Most bytes of the data of one log message; None for no limit."""
        return self.limits.max_log_bytes

    def changed(self) -> None:
        """Drop the cached routes after hooks or features were added."""
        # Replaced, not cleared: another thread may be adding an outdated binding to the old dict.
        self.bindings = Bindings(self._bind)

    def offers(self, capability: str) -> bool:
        """Return True if the capability is declared to clients."""
        return capability in self.declared_capabilities()

    def _bind(self, profile: Profile) -> RevisionBinding[C]:
        dispatch = import_module(f"{profile.module}.dispatch")
        routes: dict[str, Route[C]] = dispatch.ServerDispatcher(self.handlers, self.hooks).routes()
        offered = self.declared_capabilities()
        visible = {
            name: self._wrapped(route, profile)
            for name, route in routes.items()
            if not route.method.capability or route.method.capability in offered
        }
        for name, row in self.extensions.rows(profile).items():
            known = visible.get(name)
            if known is not None and row.params is not known.method.params:
                visible[name] = Route(known.method, known.call, row.params)
        for name, make in self.custom_methods.items():
            route = make(profile)
            if route is not None:
                visible.setdefault(name, self._wrapped(route, profile))
        identity: dict[str, Any] = {}
        if profile.server_info_key:
            identity[profile.server_info_key] = restate(self.server_info, profile.revision).value
        lifecycle = lifecycle_of(profile, self.per_request)
        names = self.extensions.name_params(profile)
        return RevisionBinding(profile, visible, lifecycle, identity, names)

    def _wrapped(self, route: Route[C], profile: Profile) -> Route[C]:
        """Return the route inside middleware, the request timeout and the outer wrapper."""
        method, limit_s = route.method, self.limits.request_timeout_s
        if self.middleware:
            # A new route, which decodes `arguments` as well: middleware gets fully decoded params.
            route = Route(method, wrap(self.middleware, method.name, route.call, answered=True))
        if limit_s is not None and method is not profile.listen:
            route.call = timed(limit_s, method.name, route.call)
        if self.outer_wrapper is not None:
            route.call = self.outer_wrapper(route.call)
        return route

    def notification_receiver(self, clients: int = 1) -> NotificationReceiver:
        """Return a new receiver for the notifications of one client, or of several."""
        most = self.limits.peer.max_hook_tasks * clients
        return NotificationReceiver(
            self.hooks, _log, self.middleware, self.custom_notifications, most
        )

    def binding_for_request(
        self, agreed: Profile | None, params: Raw, *, sure: bool = False
    ) -> RevisionBinding[C]:
        """Return the binding for a request: at the revision named in `_meta`, else the agreed one.

        Args:
            agreed: Profile that a handshake has agreed on; None without one.
            params: Params of the request, not decoded.
            sure: True if each request on this connection names its revision. If only one such
                revision is offered, `_meta` is then not read. Otherwise it must be read: tool
                arguments may hold the same key.
        """
        if self.names_revision(params):
            named = self._revision_in_meta(params, sure=sure)
            if named is not None:
                return self.bindings[named]
        if agreed is not None:
            return self.bindings[agreed.revision]
        return self.bindings[(self.handshakes or self.per_request)[-1]]

    def _revision_in_meta(self, params: Raw, *, sure: bool) -> str | None:
        """Return the revision that a request names in `_meta`; None if it names none.

        A revision that is not offered gives the newest one: its lifecycle refuses the request.
        """
        older, newest = self._older, self.per_request[-1]
        if sure and not older:
            return newest
        meta = read_meta(params) or {}
        keys = [key for key in self._version_keys if key in meta]
        named = (find_revision(meta.get(key), older) for key in keys)
        return next(filter(None, named), newest if keys or sure else None)

    def binding_for_header(self, revision: str) -> RevisionBinding[C]:
        """Return the binding at a revision that the transport names beside the message.

        Raises:
            McpError: the revision is not offered.
        """
        if find_revision(revision, self.revisions) is None:
            offered = self.per_request or self.handshakes
            raise unsupported(mcp_wire.profile(offered[-1]), offered, revision)
        return self.bindings[revision]

    def prepare(
        self,
        binding: RevisionBinding[C],
        id: RequestId,
        method: str,
        params: Raw,
        caller: RequestOrigin,
    ) -> Call[C]:
        """Find the route of a request, decode its params and admit it.

        Args:
            binding: Server bound to the request's revision.
            id: Id of the request.
            method: Name of the method.
            params: Params, not decoded.
            caller: Origin of the request; the lifecycle may complete it from `_meta`.

        Raises:
            ProtocolError, McpError: the error to answer the request with.
        """
        route = binding.routes.get(method)
        if route is None:
            binding.lifecycle.admit(caller, method, read_meta(params))
            shown = shortened(method)
            raise MethodNotFound(f"{binding.profile.revision}: no method `{shown}` here")
        try:
            decoded = route.decode(params)
        except msgspec.DecodeError as error:
            binding.lifecycle.admit(caller, method, read_meta(params))
            raise bad_params(method, error) from None
        meta: dict[str, Any] | None
        if self.custom_methods and method in self.custom_methods:
            meta = read_meta(params)
        else:
            meta = getattr(decoded, "meta", None)
        binding.lifecycle.admit(caller, method, meta)
        if len(params) > self.limits.peer.max_declared_bytes:
            self._check_declared(route.method, params, caller)
        return Call(id, route, decoded, self.context(id, caller, meta), caller, binding)

    def _check_declared(self, method: Method[Any, Any], params: Raw, caller: RequestOrigin) -> None:
        """Check the size of the capabilities and the info that a client declares.

        Raises:
            InvalidParams: they are too large.
        """
        if method is caller.profile.handshake:
            size_bytes = len(params)  # it declares nothing else
        elif caller.profile.handshake is None:
            size_bytes = len(encode(caller.capabilities)) + len(encode(caller.client_info))
        else:
            return
        limit_bytes = self.limits.peer.max_declared_bytes
        if size_bytes > limit_bytes:
            raise InvalidParams(
                f"{method.name}: expected at most {limit_bytes} bytes of capabilities and client "
                "info"
            )

    def report_refusal(
        self,
        notices: NotificationReceiver,
        id: RequestId,
        method: str,
        params: Raw,
        caller: RequestOrigin,
        error: McpError | ProtocolError,
    ) -> None:
        """Start the `on_error` hooks for a request that is refused before its handler.

        They hear of unknown methods and of undecodable params. Other refusals are not reported: a
        request before the handshake, one too many, headers that disagree with the body. The hooks
        run in a task of their own, so the response does not wait for them.

        Args:
            notices: Owner of that task.
            id: Id of the request.
            method: Name of the method.
            params: Params, not decoded.
            caller: Origin of the request.
            error: Error that the request is answered with.
        """
        hooks = self.hooks
        if hooks.error_every and error.code in _TOLD:
            ctx = self.context(id, caller, read_meta(params))
            token = CURRENT.set(ctx)
            notices.run_limited(hooks.tell_error(ctx, method, None, error))
            CURRENT.reset(token)

    async def run(self, call: Call[C]) -> bytes:
        """Run the handler of a request between its hooks and return the encoded response.

        Errors become error responses, except for one that is raised.

        Raises:
            CancelledError: the current task was cancelled.
        """
        token = CURRENT.set(call.ctx)
        try:
            return self.answer(call, await call.route.call(call.ctx, call.params))
        except BaseException as error:
            return self.failure(call, error, cancelled=is_cancelled())
        finally:
            # Some apps answer many requests in one task.
            try:  # noqa: SIM105  # `suppress` and `leave` are frames of each call
                CURRENT.reset(token)
            except ValueError:
                pass  # closed by another task

    def write(self, call: Call[C]) -> bytes:
        """Return the encoded response to a request whose handler has run.

        For responses that another task sends: a waiting result takes less memory than its bytes.
        """
        if call.written is not None:
            return call.written
        try:
            return self.answer(call, call.result)
        except Exception as error:
            return self.failure(call, error, cancelled=False)

    def failure(self, call: Call[C], error: BaseException, *, cancelled: bool) -> bytes:
        """Return the encoded error response to a request whose handler raised.

        KeyboardInterrupt interrupts the process, too, in the next turn of the event loop.

        Args:
            call: The request.
            error: Exception of the handler.
            cancelled: True if the request was cancelled. If False, CancelledError is an error like
                any other.

        Raises:
            CancelledError: `error` itself, if the request gets no response.
        """
        primary = primary_error(error)
        if isinstance(primary, McpError | ProtocolError):
            call.error_code = primary.code
            if isinstance(primary, InsufficientScope):
                call.missing_scopes = primary.missing
        elif isinstance(primary, KeyboardInterrupt):
            # As Ctrl-C does it: whoever serves ends in good order, and answers what is open.
            asyncio.get_running_loop().call_soon(signal.raise_signal, signal.SIGINT)
            call.error_code = ProtocolError.code
            return cut_off(call.id)
        elif cancelled and isinstance(primary, asyncio.CancelledError):
            raise primary
        down = store_down(primary)
        if down is not None:
            call.error_code, call.may_retry = down.code, True
            return envelope.failure(call.id, down)
        what = call.route.method.name
        return envelope.failure(call.id, error_for_peer(error, what, mask=self.mask_errors))

    def answer(self, call: Call[C], result: Any) -> bytes:
        """Return the encoded response for the result of a handler.

        A handshake takes effect here, after its hooks have succeeded.

        Args:
            call: The request.
            result: Result of the handler, of any revision, encoded or not.

        Raises:
            ProjectionError: the revision cannot hold the result.
            MissingCapability: the result is one of an extension that the client has not declared.
            UsageError: the request must not be answered with a result of this type.
        """
        caller = call.origin
        if caller.agreed is not None:
            # Not earlier: a hook after the handler may have refused the handshake.
            agreed, caller.agreed = caller.agreed, None
            if caller.session is not None:
                caller.session.agree(caller, agreed)
        binding, route = call.binding, call.route
        kind: Any = result.__class__
        if kind is dict and route.method.name in self.custom_methods:
            answer = envelope.response(call.id, untyped_result(binding, result))
            check_finite(result, answer, route.method.name)
            return answer
        if kind not in route.results or caller.profile is not binding.profile:
            if kind is EncodedResult:
                return envelope.response(call.id, result.json)
            if kind is RelayedResult:
                return envelope.response(call.id, with_own_identity(result.json, binding))
            if kind is Raw:
                return with_identity(envelope.response(call.id, result), binding)
            if kind in self.extensions.arms:
                self._check_arm(call, kind)
            else:
                result = restate(result, caller.profile.revision).value
        if binding.identity:
            result = binding.with_identity(result)
        pieces: Sequence[Piece] = ()
        if not has_short_texts_only(result):
            check_bounds(result)
            field = long_field(result.__class__)
            if field:
                result, pieces = take_long_values(result, field)
                if pieces:
                    call.result = None  # not kept beside the pieces
        answer = envelope.response(call.id, result)
        method = route.method
        # The results of tools have been checked, where their types can hold floats.
        is_checked = method is binding.profile.call_tool and result.__class__ is method.results[0]
        if not is_checked and b"null" in answer:
            check_finite(result, answer, method.name)
        return join_pieces(answer, pieces) if pieces else answer

    def _check_arm(self, call: Call[C], kind: type[Any]) -> None:
        """Check that an extension's result type may answer the request.

        Raises:
            MissingCapability: the client has not declared the extension.
            UsageError: the extension does not add this result type to the method.
        """
        extension, profile = self.extensions.arms[kind], call.binding.profile
        if declared(extension, call.origin.capabilities, profile, CLIENT) is None:
            raise missing(extension, profile)
        name = call.route.method.name
        row = self.extensions.rows(profile).get(name)
        if row is None or kind not in row.results:
            raise UsageError(f"{profile.revision}: {name} is not answered with {kind.__name__}")
