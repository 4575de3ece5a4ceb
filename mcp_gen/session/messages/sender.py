"""Asking the peer at the revision that is spoken: its types, hooks and middleware around it."""

from __future__ import annotations

import inspect
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec

from mcp_gen.core.errors import InvalidParams, ProtocolError, UsageError
from mcp_gen.core.projection.project import project
from mcp_gen.session.messages.middleware import wrap

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from mcp_gen.session.messages.channel import Channel
    from mcp_gen.session.messages.middleware import Inner, Middleware
    from mcp_wire.callers import OnProgress
    from mcp_wire.hook_points import HookPoint, HookSet
    from mcp_wire.method import Method
    from mcp_wire.profile import Profile

__all__ = ["DEFAULT_TIMEOUT_S", "RequestSender", "RevisionAdapter", "is_plain"]

P = TypeVar("P")
R = TypeVar("R")

DEFAULT_TIMEOUT_S = 60.0


_ATOMS = frozenset({bool, float, int, str, type(None)})


class _CallPlan(NamedTuple):
    """A call of one revision: what it takes, and what it needs."""

    call: Callable[..., Awaitable[Any]]
    takes: frozenset[str]
    needs: tuple[str, ...]


class RevisionAdapter:
    """Turns the calls over all revisions into those of the one that is spoken.

    `calls` are the generated calls of that revision; `meta` goes into every request.
    """

    def __init__(self, profile: Profile, calls: Any, meta: dict[str, Any] | None = None) -> None:
        self.profile = profile
        self._calls = calls
        self._meta = meta
        self._plans: dict[str, _CallPlan] = {}
        self.default_timeout_s: float = DEFAULT_TIMEOUT_S
        """How long an answer may take where the call does not say."""

    @property
    def revision(self) -> str:
        """The revision that is spoken."""
        return self.profile.revision

    @property
    def meta(self) -> dict[str, Any] | None:
        """What goes into `_meta` of every request."""
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
        """What `_ask` awaits."""
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
        """The call of the revision that is spoken, and its arguments with the revision's types.

        Raises:
            UsageError: the revision lacks the request or an argument of it, or needs one more.
            ProjectionError: it cannot hold a value.
        """
        plan = self._plans.get(name)
        if plan is None:
            plan = self._plans[name] = self._plan(name)
        given = {key: value for key, value in fields.items() if value is not None}
        if not plan.takes >= given.keys():
            given = self._spread(name, plan, given)
        for key, value in given.items():
            if not is_plain(value):
                given[key] = project(value, self.revision).value
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
        """What is given to a call that does not take all of it by these names.

        Where other revisions have several shapes of the params, this one may take their fields.
        """
        if "params" in given and "params" not in plan.takes:
            return _fields(project(given["params"], self.revision).value)
        for key in sorted(given.keys() - plan.takes):
            raise UsageError(f"{self.revision}: {name} has no `{key}`")
        return given

    def _with_identity(self, meta: dict[str, Any] | None) -> dict[str, Any] | None:
        return _merged(self._meta, meta)


def is_plain(value: Any) -> bool:
    """Whether there is nothing of any revision in a value, as in most arguments."""
    kind: Any = value.__class__
    if kind in _ATOMS:
        return True
    if kind is dict:
        value = value.values()
    elif kind is not list:
        return False
    # No generator: it would take longer to make than most arguments to look at.
    return _ATOMS.issuperset(map(type, value)) or all(map(is_plain, value))


@cache
def _parameters(call: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """What a generated call takes."""
    _, *parameters = inspect.signature(call).parameters.items()
    return dict(parameters)


class RequestSender:
    """The peer of the generated calls: sends, and decodes what comes back.

    Around that are the hooks, and around these the middleware, which may answer itself. Results are
    read with the types of `results_at`, which may be newer than what is spoken, or by `rows`, where
    these have the method: they are of extensions.
    """

    def __init__(
        self,
        outlet: Channel,
        results_at: Profile,
        outbound: HookSet,
        context: Any = None,
        *,
        middleware: Sequence[Middleware] = (),
        peer: str = "server",
        rows: Mapping[str, Method[Any, Any]] | None = None,
    ) -> None:
        self._channel = outlet
        self._read_as = {**results_at.methods, **rows} if rows else results_at.methods
        self._extra_results: dict[str, frozenset[type[Any]]] = {
            name: frozenset(row.results) for name, row in (rows or {}).items()
        }
        """What requests may be answered with that extensions have a part in."""
        self._outbound = outbound
        self._middleware = middleware
        self._peer = peer
        self.context = context
        """What hooks and middleware get as their context."""

    async def request(
        self,
        method: Method[P, R],
        params: P,
        *,
        timeout_s: float | None = None,
        progress: OnProgress | None = None,
    ) -> R:
        """Send a request and decode its result.

        Raises:
            InvalidParams: the result is not one of this method; the message ends in the path.
            ProtocolError: the result is of a kind that was not asked for.
        """

        point = self._outbound.points.get(method.name)
        if not point and not self._middleware:
            return await self._exchange(method, params, timeout_s, progress)

        async def send(context: Any, params: P) -> R:
            return await self._exchange(method, params, timeout_s, progress)

        call: Inner = send
        if point:
            call = _between(point, send)
        if self._middleware:
            call = wrap(self._middleware, method.name, call, answered=True)
        result: R = await call(self.context, params)
        return result

    async def _exchange(
        self,
        method: Method[P, R],
        params: P,
        timeout_s: float | None,
        progress: OnProgress | None,
    ) -> R:
        """What is inside of hooks and middleware: the request on its way, and its result read."""
        raw = await self._channel.request(method, params, timeout_s=timeout_s, progress=progress)
        return self._read(method, raw)

    async def notify(self, method: Method[P, None], params: P) -> None:
        """Send a notification, after its hooks."""

        async def send(context: Any, params: P) -> None:
            point = self._outbound.notices.get(method.name)
            if point:
                await point.tell(context, params)
            self._channel.notify(method, params)

        if self._middleware:
            call = wrap(self._middleware, method.name, send, answered=False)
            await call(self.context, params)
        else:
            await send(self.context, params)

    def _read(self, method: Method[Any, R], raw: msgspec.Raw) -> R:
        reader: Method[Any, R] = self._read_as.get(method.name, method)
        try:
            result = reader.decode_result(raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise InvalidParams(f"{method.name}: the {self._peer}'s result: {error}") from None
        if reader.results and type(result) is not reader.results[0]:
            self._check_kind(method, result)
        return result

    def _check_kind(self, method: Method[Any, Any], result: Any) -> None:
        if type(result) not in self._extra_results.get(method.name, ()):
            self._other_kind(method, result)

    def _other_kind(self, method: Method[Any, Any], result: Any) -> None:
        """The result is not of the kind that answers the request.

        Raises:
            ProtocolError: it is of one that was not asked for.
        """
        kind = type(result).__name__
        raise ProtocolError(f"{method.name}: the {self._peer} answered with {kind}, unasked for")


def _between(point: HookPoint[P, R], send: Callable[[Any, P], Awaitable[R]]) -> Inner:
    async def call(context: Any, params: P) -> R:
        return await point.around(context, params, send)

    return call


def _fields(params: msgspec.Struct) -> dict[str, Any]:
    values = ((name, getattr(params, name)) for name in params.__struct_fields__)
    return {name: value for name, value in values if value is not None}


def _add_meta(given: dict[str, Any], meta: dict[str, Any] | None) -> None:
    """Add keys to `_meta`, which is an argument of its own or a field of whole params."""
    whole = given.get("params")
    if not meta:
        return
    if whole is None:
        given["meta"] = _merged(given.get("meta"), meta)
    else:
        given["params"] = msgspec.structs.replace(whole, meta=_merged(whole.meta, meta))


def _merged(below: dict[str, Any] | None, above: dict[str, Any] | None) -> dict[str, Any] | None:
    return {**below, **above} if below and above else above or below
