"""Answers one request at one revision: route, params, hooks, handler, result, bytes.

Both transport shapes end here. The kernel holds no connection: who asks comes in as a `Caller`.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec
from msgspec import Raw

import mcp_wire
from mcp_gen.core import envelope
from mcp_gen.core.error_groups import primary_error
from mcp_gen.core.errors import (
    McpError,
    MethodNotFound,
    ProtocolError,
    UsageError,
)
from mcp_gen.core.extensions.extensions import CLIENT, Extensions, declared, missing
from mcp_gen.core.loose_json import read_meta
from mcp_gen.core.projection.project import project
from mcp_gen.core.revisions import find_revision, per_request, with_handshake
from mcp_gen.core.text_encoding import long_text_field, pre_encode_texts
from mcp_gen.session.kernel.binding import RevisionBinding, timed
from mcp_gen.session.kernel.call import Call
from mcp_gen.session.kernel.errors import bad_params, error_for_peer, is_cancelled
from mcp_gen.session.kernel.lifecycle import lifecycle_of, unsupported
from mcp_gen.session.kernel.limits import Limits
from mcp_gen.session.kernel.results import (
    EncodedResult,
    RelayedResult,
    untyped_result,
    with_identity,
    with_own_identity,
)
from mcp_gen.session.messages.middleware import Middleware, wrap
from mcp_gen.session.messages.notifications import NotificationReceiver
from mcp_gen.session.peer.session import RequestOrigin
from mcp_wire.method import Route

if TYPE_CHECKING:
    from mcp_gen.core.envelope import RequestId
    from mcp_gen.session.kernel.binding import Handle
    from mcp_gen.session.messages.channel import Channel
    from mcp_gen.session.peer.session import Session
    from mcp_wire.handlers import ServerHandlers
    from mcp_wire.hooks import ServerHooks
    from mcp_wire.method import Method
    from mcp_wire.profile import Profile

__all__ = ["Kernel"]

C = TypeVar("C")

_log = logging.getLogger("mcp_gen.server")


class Kernel(Generic[C]):
    """A server without its transports.

    `offered` gives the capabilities that a method may ask for. `changed` must be called when hooks
    or features are added: what comes afterwards is routed anew, what is under way is not.
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
        limits: Limits = Limits(),  # noqa: B008  # it is frozen
    ) -> None:
        self.revisions = tuple(revisions)
        self.handshakes = with_handshake(revisions)
        self.per_request = per_request(revisions)
        self.handlers = handlers
        """What answers; call `changed` after giving it another."""
        self.hooks = hooks
        self.context = context
        self.declared_capabilities = offered
        self._server_info = server_info
        self.limits = limits
        self.sessions: set[Session] = set()
        """The sessions that are open."""
        self.loops: set[asyncio.AbstractEventLoop] = set()
        """The event loops on which there has been somebody to tell of changes."""
        self.on_connection_end: list[Callable[[Channel], None]] = []
        """Called with a connection that is about to end: what stays open on it is to end too."""
        self.middleware: list[Middleware] = []
        """What wraps the handling of what comes, outermost first; call `changed` after it."""
        self.outbound_middleware: list[Middleware] = []
        """What wraps the sending of what goes to clients, outermost first."""
        self.outer_wrapper: Callable[[Handle[C]], Handle[C]] | None = None
        """What is put around middleware and all; call `changed` after it."""
        self.custom_methods: dict[str, Callable[[Profile], Route[C] | None]] = {}
        """Requests that no revision knows, by method: the route of each at a revision."""
        self.custom_notifications: dict[str, Callable[[Profile], Method[Any, None] | None]] = {}
        """Notifications that no revision knows, and somebody listens to: the row of each."""
        self.extensions = Extensions()
        """What is offered beside the protocol; call `changed` after adding to it."""
        self._bindings: dict[str, RevisionBinding[C]] = {}
        keys = sorted({mcp_wire.VERSION_KEYS[revision] for revision in self.per_request})
        # Searched for in undecoded params: most requests of a connection with a handshake lack it.
        # Some encoders write a slash as `\/`.
        pattern = "|".join(map(re.escape, keys)).replace("/", r"\\?/").encode()
        self._names_revision = re.compile(pattern) if keys else None
        self._version_keys = keys
        self._older = self.per_request[:-1]
        """What a request may name beside the newest revision of all."""

    def changed(self) -> None:
        """Hooks or features were added: make routes anew when they are next asked for."""
        # Not cleared: another thread may be at work on one that is outdated by now.
        self._bindings = {}

    def offers(self, capability: str) -> bool:
        """Whether this has been declared to clients."""
        return capability in self.declared_capabilities()

    def binding(self, revision: str) -> RevisionBinding[C]:
        """This server at one revision."""
        bindings = self._bindings
        found = bindings.get(revision)
        if found is None:
            found = bindings[revision] = self._bind(mcp_wire.profile(revision))
        return found

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
            identity[profile.server_info_key] = project(self._server_info, profile.revision).value
        lifecycle = lifecycle_of(profile, self.per_request)
        names = self.extensions.name_params(profile)
        return RevisionBinding(profile, visible, lifecycle, identity, names)

    def _wrapped(self, route: Route[C], profile: Profile) -> Route[C]:
        """The route inside of all middleware, with so much time as a request has."""
        method, limit_s = route.method, self.limits.request_timeout_s
        if self.middleware:
            # A route of its own: middleware sees the params decoded to the end.
            route = Route(method, wrap(self.middleware, method.name, route.call, answered=True))
        if limit_s is not None and method is not profile.listen:
            route.call = timed(limit_s, method.name, route.call)
        if self.outer_wrapper is not None:
            route.call = self.outer_wrapper(route.call)
        return route

    def notification_receiver(self) -> NotificationReceiver:
        """What takes the notifications of one client."""
        return NotificationReceiver(self.hooks, _log, self.middleware, self.custom_notifications)

    def binding_for_request(
        self, agreed: Profile | None, params: Raw, *, sure: bool = False
    ) -> RevisionBinding[C]:
        """The revision to answer a request at: the one it names itself, or what was agreed on.

        Arguments may mention the key under which it is named: `_meta` is only not looked at if it
        is `sure` that nothing but such requests comes.
        """
        if self._names_revision and self._names_revision.search(params):
            named = self._revision_in_meta(params, sure=sure)
            if named is not None:
                return self.binding(named)
        if agreed is not None:
            return self.binding(agreed.revision)
        return self.binding((self.handshakes or self.per_request)[-1])

    def _revision_in_meta(self, params: Raw, *, sure: bool) -> str | None:
        """The revision that a request names, or the newest there is; None if it names none."""
        older, newest = self._older, self.per_request[-1]
        if sure and not older:
            return newest
        meta = read_meta(params) or {}
        keys = [key for key in self._version_keys if key in meta]
        named = (find_revision(meta.get(key), older) for key in keys)
        return next(filter(None, named), newest if keys or sure else None)

    def binding_for_header(self, revision: str) -> RevisionBinding[C]:
        """This server at a revision that a transport names beside the message.

        Raises:
            McpError: it is not offered.
        """
        if find_revision(revision, self.revisions) is None:
            spoken = self.per_request or self.handshakes
            raise unsupported(mcp_wire.profile(spoken[-1]), spoken, revision)
        return self.binding(revision)

    def prepare(
        self,
        binding: RevisionBinding[C],
        id: RequestId,
        method: str,
        params: Raw,
        caller: RequestOrigin,
    ) -> Call[C]:
        """Find the route, decode the params, check that the request may be made.

        Raises:
            ProtocolError, McpError: what the peer is to be told.
        """
        route = binding.routes.get(method)
        if route is None:
            binding.lifecycle.admit(caller, method, read_meta(params))
            raise MethodNotFound(f"{binding.profile.revision}: no method `{method}` here")
        try:
            decoded = route.decode(params)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            binding.lifecycle.admit(caller, method, read_meta(params))
            raise bad_params(method, error) from None
        meta: dict[str, Any] | None
        if self.custom_methods and method in self.custom_methods:
            meta = read_meta(params)
        else:
            meta = getattr(decoded, "meta", None)
        binding.lifecycle.admit(caller, method, meta)
        return Call(id, route, decoded, self.context(id, caller, meta), caller, binding)

    async def run(self, call: Call[C]) -> bytes:
        """Await the handler between its hooks, and return the bytes of the answer.

        Only the task's cancellation and KeyboardInterrupt are raised: every other error is the
        answer.
        """
        try:
            return self.answer(call, await call.route.call(call.ctx, call.params))
        except BaseException as error:
            return self.failure(call, error, cancelled=is_cancelled())

    async def handle(self, call: Call[C]) -> None:
        """Await the handler between its hooks; `write` gives the bytes of the answer.

        For those who send them in another task: what many answers say is not to wait as bytes.
        Raises what `run` raises.
        """
        try:
            call.result = await call.route.call(call.ctx, call.params)
            if call.caller.agreed is not None:
                call.written = self.answer(call, call.result)
        except BaseException as error:
            call.written = self.failure(call, error, cancelled=is_cancelled())

    def write(self, call: Call[C]) -> bytes:
        """The bytes of the answer to a request that has been handled."""
        if call.written is not None:
            return call.written
        try:
            return self.answer(call, call.result)
        except Exception as error:
            return self.failure(call, error, cancelled=False)

    def failure(self, call: Call[C], error: BaseException, *, cancelled: bool) -> bytes:
        """The bytes of the answer to a request whose handler raised.

        `cancelled` says whether it was to: CancelledError is an error like others where not.

        Raises:
            CancelledError, KeyboardInterrupt: the error itself, where the request gets no answer.
        """
        told = primary_error(error)
        if isinstance(told, McpError | ProtocolError):
            call.error_code = told.code
        elif isinstance(told, KeyboardInterrupt) or (
            cancelled and isinstance(told, asyncio.CancelledError)
        ):
            raise told
        return envelope.failure(call.id, error_for_peer(error, call.route.method.name))

    def answer(self, call: Call[C], result: Any) -> bytes:
        """The bytes of the answer to a request whose handler gave this.

        Raises:
            ProjectionError: the revision cannot hold it.
        """
        caller = call.caller
        if caller.agreed is not None:
            # Only now: a hook behind the handler may have refused the handshake.
            agreed, caller.agreed = caller.agreed, None
            if caller.session is not None:
                caller.session.agree(caller, agreed)
        binding = call.binding
        kind: Any = result.__class__
        if kind is dict and call.route.method.name in self.custom_methods:
            return envelope.response(call.id, untyped_result(binding, result))
        if kind not in call.route.results or caller.profile is not binding.profile:
            if kind is EncodedResult:
                return envelope.response(call.id, result.json)
            if kind is RelayedResult:
                return envelope.response(call.id, with_own_identity(result.json, binding))
            if kind is Raw:
                return with_identity(envelope.response(call.id, result), binding)
            if kind in self.extensions.arms:
                self._check_arm(call, kind)
            else:
                result = project(result, caller.profile.revision).value
        field = long_text_field(result.__class__)
        if field:
            result = pre_encode_texts(result, field)
        if binding.identity:
            result = binding.whole(result)
        return envelope.response(call.id, result)

    def _check_arm(self, call: Call[C], kind: type[Any]) -> None:
        """Let a result of an extension pass where the client can make something of it.

        Raises:
            MissingCapability: it has not declared the extension.
            UsageError: the request is none that may be answered so.
        """
        extension, profile = self.extensions.arms[kind], call.binding.profile
        if declared(extension, call.caller.capabilities, profile, CLIENT) is None:
            raise missing(extension, profile)
        name = call.route.method.name
        row = self.extensions.rows(profile).get(name)
        if row is None or kind not in row.results:
            raise UsageError(f"{profile.revision}: {name} is not answered with {kind.__name__}")
