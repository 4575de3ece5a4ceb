"""Sends typed requests and notifications at the negotiated revision, through hooks."""

from __future__ import annotations

import inspect
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec import Struct

import mcp_wire
from mcp_gen.core.bounds import check_bounds
from mcp_gen.core.errors import InvalidResult, ProjectionError, ProtocolError, UsageError
from mcp_gen.core.projection.project import restate
from mcp_gen.session.messages.middleware import wrap

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from mcp_gen.session.messages.channel import Channel
    from mcp_gen.session.messages.middleware import Inner, Middleware
    from mcp_wire.hook_machinery import HookPoint, HookSet
    from mcp_wire.method import Method
    from mcp_wire.peer_calls import OnProgress
    from mcp_wire.profile import Profile

__all__ = ["DEFAULT_TIMEOUT_S", "RequestSender", "RevisionAdapter", "SendingLayer", "is_plain"]

P = TypeVar("P")
R = TypeVar("R")

DEFAULT_TIMEOUT_S = 60.0
"""Seconds to wait for a response by default."""

_ATOMS = frozenset({bool, float, int, str, type(None)})


class _CallPlan(Struct, frozen=True):
    """Generated call of one revision, with its parameter names and its required ones."""

    call: Callable[..., Awaitable[Any]]
    takes: frozenset[str]
    needs: tuple[str, ...]


class RevisionAdapter:
    """Adapts calls written for all revisions to the generated calls of the negotiated revision.

    Args:
        profile: Profile of the negotiated revision.
        calls: Generated calls of that revision (`ToServer` or `ToClient`).
        meta: Members that are added to `_meta` of each request.
    """

    def __init__(self, profile: Profile, calls: Any, meta: dict[str, Any] | None = None) -> None:
        self.profile = profile
        self._calls = calls
        self._meta = meta
        self._plans: dict[str, _CallPlan] = {}
        self.default_timeout_s: float = DEFAULT_TIMEOUT_S
        """Seconds to wait for a response if the call sets no `timeout_s`; 60 by default."""

    @property
    def revision(self) -> str:
        """The negotiated revision."""
        return self.profile.revision

    @property
    def meta(self) -> dict[str, Any] | None:
        """Members that are added to `_meta` of each request."""
        return self._meta

    async def _request(
        self,
        name: str,
        fields: dict[str, Any],
        *,
        meta: dict[str, Any] | None,
        timeout_s: float | None,
        progress: OnProgress | None,
    ) -> Any:
        return await self._called(name, fields, meta, timeout_s, progress)

    def _called(
        self,
        name: str,
        fields: dict[str, Any],
        meta: dict[str, Any] | None,
        timeout_s: float | None,
        progress: OnProgress | None,
    ) -> Awaitable[Any]:
        """Return the awaitable of the generated call, with `_meta` and default timeout added."""
        call, given = self._at_revision(name, fields, self._with_identity(meta))
        return call(
            **given,
            timeout_s=self.default_timeout_s if timeout_s is None else timeout_s,
            progress=progress,
        )

    async def _notify(
        self, name: str, fields: dict[str, Any], *, meta: dict[str, Any] | None
    ) -> None:
        call, given = self._at_revision(f"notify_{name}", fields, meta)
        await call(**given)

    def _at_revision(
        self, name: str, fields: dict[str, Any], meta: dict[str, Any] | None
    ) -> tuple[Callable[..., Awaitable[Any]], dict[str, Any]]:
        """Return the generated call of this revision and its arguments, with the revision's types.

        Raises:
            UsageError: the revision lacks the request or an argument of it, or requires one more.
            ProjectionError: the revision cannot hold a value.
        """
        plan = self._plans.get(name)
        if plan is None:
            plan = self._plans[name] = self._plan(name)
        given = {key: value for key, value in fields.items() if value is not None}
        if not plan.takes >= given.keys():
            given = self._spread(name, plan, given)
        for key, value in given.items():
            if not is_plain(value):
                given[key] = restate(value, self.revision).value
        if meta:
            _add_meta(given, meta)
        for key in plan.needs:
            if key not in given:
                raise UsageError(f"{self.revision}: {name} needs `{key}`")
        return plan.call, given

    def _plan(self, name: str) -> _CallPlan:
        call = getattr(self._calls, name, None)
        if call is None:
            raise UsageError(f"{self.revision} has no {name}")
        takes = _parameters(call.__func__)
        needs = tuple(key for key, one in takes.items() if one.default is one.empty)
        return _CallPlan(call, frozenset(takes), needs)

    def _spread(self, name: str, plan: _CallPlan, given: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of a call that lacks a parameter for some of those given.

        Revisions with several shapes of params take them whole, as `params`. This revision may take
        their fields instead.

        Raises:
            UsageError: the call has no such parameter.
        """
        if "params" in given and "params" not in plan.takes:
            return _fields(restate(given["params"], self.revision).value)
        for key in sorted(given.keys() - plan.takes):
            raise UsageError(f"{self.revision}: {name} has no `{key}`")
        return given

    def _with_identity(self, meta: dict[str, Any] | None) -> dict[str, Any] | None:
        return _merged(self._meta, meta)


def is_plain(value: Any) -> bool:
    """Return True if a value holds atoms, lists and dicts only, so needs no projection."""
    kind: Any = value.__class__
    if kind in _ATOMS:
        return True
    if kind is dict:
        value = value.values()
    elif kind is not list:
        return False
    # No generator expression: creating one costs more than checking most arguments.
    return _ATOMS.issuperset(map(type, value)) or all(map(is_plain, value))


@cache
def _parameters(call: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """Return the parameters of a generated call, without `self`."""
    _, *parameters = inspect.signature(call).parameters.items()
    return dict(parameters)


class SendingLayer(Struct, frozen=True):
    """Hooks and middleware of one server around the messages to a client."""

    outbound: HookSet
    """Hooks around outgoing messages."""
    middleware: Sequence[Middleware]
    """Middleware around outgoing messages, outermost first."""
    context: Any
    """Context that hooks and middleware get."""


class RequestSender:
    """Sends the messages of the generated calls to the peer and decodes its results.

    Hooks run around each request and notification, middleware around the hooks. Middleware may
    answer a request itself, without sending it.

    Args:
        outlet: Channel to the peer.
        results_at: Profile whose types decode the results. It may be newer than the negotiated one.
            Results of a method that it lacks have the types of the newest revision before it that
            has the method.
        outbound: Hooks around outgoing messages.
        context: Context that hooks and middleware get.
        middleware: Middleware around outgoing messages, outermost first.
        outer: The same of further servers that messages pass on their way, in this order.
        peer: The peer's role in error texts.
        rows: Method rows of extensions, which decode results in place of the profile's rows.
    """

    def __init__(
        self,
        outlet: Channel,
        results_at: Profile,
        outbound: HookSet,
        context: Any = None,
        *,
        middleware: Sequence[Middleware] = (),
        outer: Sequence[SendingLayer] = (),
        peer: str = "server",
        rows: Mapping[str, Method[Any, Any]] | None = None,
    ) -> None:
        self._channel = outlet
        self._results_at = results_at.revision
        self._read_as = {**results_at.methods, **rows} if rows else results_at.methods
        self._extra_results: dict[str, frozenset[type[Any]]] = {
            name: frozenset(row.results) for name, row in (rows or {}).items()
        }
        """Result types that extensions add, by method."""
        self._outbound = outbound
        self._middleware = middleware
        self._outer = outer
        self._peer = peer
        self._check_result: Callable[[Method[Any, Any], msgspec.Raw], None] | None = None
        """Called with each decoded result as it came; None for no further checks."""
        self.context = context
        """Context that hooks and middleware get."""

    async def request(
        self,
        method: Method[P, R],
        params: P,
        *,
        timeout_s: float | None = None,
        progress: OnProgress | None = None,
    ) -> R:
        """Send a request through middleware and hooks, and return its decoded result.

        Args:
            method: Method row of the request.
            params: Params of the request.
            timeout_s: Seconds to wait for the response; None waits without limit.
            progress: Callback for progress notifications of this request.

        Raises:
            InvalidResult: the result does not fit the method; the message ends in the JSON path.
            ProtocolError: the result is of an alternative type that was not asked for.
            McpError: the peer answered with an error.
            RequestTimeout: no response within `timeout_s`.
            SessionLost: the connection ended first.
        """

        point = self._outbound.points.get(method.name)
        if not point and not self._middleware and not self._outer:
            return await self._exchange(method, params, timeout_s, progress)

        async def send(context: Any, params: P) -> R:
            return await self._exchange(method, params, timeout_s, progress)

        row = self._read_as.get(method.name) or self._older_row(method)
        call: Inner = send
        for layer in reversed(self._outer):
            call = _in_context(layer.context, _around_request(layer, row, call))
        result: R = await self._wrapped(row, call)(self.context, params)
        return result

    def _wrapped(self, row: Method[Any, Any], call: Inner) -> Inner:
        """Return the sending of a request inside the own hooks and middleware."""
        return _around_request(self._layer, row, call)

    @property
    def _layer(self) -> SendingLayer:
        return SendingLayer(self._outbound, self._middleware, self.context)

    async def _exchange(
        self,
        method: Method[P, R],
        params: P,
        timeout_s: float | None,
        progress: OnProgress | None,
    ) -> R:
        """Send the request on the channel and decode its result, inside hooks and middleware."""
        check_bounds(params)
        raw = await self._channel.request(method, params, timeout_s=timeout_s, progress=progress)
        return self._read(method, raw)

    async def notify(self, method: Method[P, None], params: P) -> None:
        """Send a notification after its hooks have run, inside middleware."""

        async def send(context: Any, params: P) -> None:
            check_bounds(params)
            self._channel.notify(method, params)

        call: Inner = send
        for layer in reversed(self._outer):
            call = _in_context(layer.context, _around_notification(layer, method, call))
        call = _around_notification(self._layer, method, call)
        await call(self.context, params)

    def _read(self, method: Method[Any, R], raw: msgspec.Raw) -> R:
        reader: Method[Any, R] = self._read_as.get(method.name) or self._older_row(method)
        try:
            result = reader.decode_result(raw)
        except msgspec.DecodeError as error:
            refused = InvalidResult(f"{method.name}: the {self._peer}'s result: {error}")
            result = self._read_other(method, raw, refused)
        else:
            if reader.results and type(result) is not reader.results[0]:
                self._check_kind(method, result)
        if self._check_result is not None:
            self._check_result(method, raw)
        return result

    def _older_row(self, method: Method[Any, R]) -> Method[Any, R]:
        """Return the newest row of a method that the revision of the results lacks."""
        names = mcp_wire.REVISIONS
        for revision in reversed(names[: names.index(self._results_at)]):
            row = mcp_wire.profile(revision).methods.get(method.name)
            if row is not None:
                return row
        return method

    def _read_other(self, method: Method[Any, R], raw: msgspec.Raw, refused: InvalidResult) -> R:
        """Read a result that the newer types refuse with those of the negotiated revision.

        A member that only a later revision names is the peer's own at the negotiated one, and may
        have any value. Subclasses may decode the result as another type.

        Raises:
            InvalidResult: `refused`.
        """
        try:
            result: R = restate(method.decode_result(raw), self._results_at).value
        except (msgspec.DecodeError, ProjectionError):
            raise refused from None
        return result

    def _check_kind(self, method: Method[Any, Any], result: Any) -> None:
        if type(result) not in self._extra_results.get(method.name, ()):
            self._other_kind(method, result)

    def _other_kind(self, method: Method[Any, Any], result: Any) -> None:
        """Handle a result of another type than the request's own; subclasses may allow it.

        Raises:
            ProtocolError: the result is of a type that was not asked for.
        """
        kind = type(result).__name__
        raise ProtocolError(f"{method.name}: the {self._peer} answered with {kind}, unasked for")


def _between(
    point: HookPoint[P, R], send: Callable[[Any, P], Awaitable[R]], row: Method[P, R]
) -> Inner:
    async def call(context: Any, params: P) -> R:
        return await point.around(context, params, send, row)

    return call


def _around_request(layer: SendingLayer, row: Method[Any, Any], inner: Inner) -> Inner:
    """Return the sending of a request inside the hooks and middleware of one server."""
    point, call = layer.outbound.points.get(row.name), inner
    if point:
        call = _between(point, call, row)
    if layer.middleware:
        call = wrap(layer.middleware, row.name, call, answered=True)
    return call


def _around_notification(layer: SendingLayer, method: Method[Any, None], inner: Inner) -> Inner:
    """Return the sending of a notification inside the hooks and middleware of one server."""
    point, call = layer.outbound.notices.get(method.name), inner
    if point:

        async def tell(context: Any, params: Any) -> None:
            await point.tell(context, params)
            await inner(context, params)

        call = tell
    if layer.middleware:
        call = wrap(layer.middleware, method.name, call, answered=False)
    return call


def _in_context(context: Any, call: Inner) -> Inner:
    async def within(_: Any, params: Any) -> Any:
        return await call(context, params)

    return within


def _fields(params: msgspec.Struct) -> dict[str, Any]:
    values = ((name, getattr(params, name)) for name in params.__struct_fields__)
    return {name: value for name, value in values if value is not None}


def _add_meta(given: dict[str, Any], meta: dict[str, Any] | None) -> None:
    """Add members to `_meta`, which is an argument of its own or a field of whole `params`."""
    whole = given.get("params")
    if not meta:
        return
    if whole is None:
        given["meta"] = _merged(given.get("meta"), meta)
    else:
        given["params"] = msgspec.structs.replace(whole, meta=_merged(whole.meta, meta))


def _merged(below: dict[str, Any] | None, above: dict[str, Any] | None) -> dict[str, Any] | None:
    return {**below, **above} if below and above else above or below
