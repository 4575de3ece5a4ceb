"""Methods of one's own beside those of the protocol."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import mcp_wire
from mcp_gen.core.errors import UsageError
from mcp_gen.core.revisions import select
from mcp_gen.server.context.context import Context
from mcp_gen.session.kernel import custom_methods
from mcp_wire.hook_points import NoticePoint

if TYPE_CHECKING:
    from mcp_gen.session.kernel.kernel import Kernel
    from mcp_wire.method import Method, Route
    from mcp_wire.profile import Profile

__all__ = ["OffersMethods"]

P = TypeVar("P")
R = TypeVar("R")

Answers: TypeAlias = Callable[[Context, P], Awaitable[R]]
Hears: TypeAlias = Callable[[Context, P], Awaitable[None]]


class OffersMethods:
    """The part of a server that answers to methods of its program's own."""

    kernel: Kernel[Context]

    def method(
        self,
        name: str,
        *,
        params: type[P],
        result: type[R],
        revisions: Sequence[str] = mcp_wire.REVISIONS,
    ) -> Callable[[Answers[P, R]], Answers[P, R]]:
        """Answer a request that the protocol does not have: `async def search(ctx, params)`.

        `params` is a type that msgspec can decode from a JSON object: a dataclass, a Struct, a
        TypedDict. `result` is one that becomes a JSON object. The request is answered at
        `revisions`, after the handshake where there is one; `before_any` and the like run around
        it. To tell clients of it, use `Server(experimental=...)`.

        Raises:
            UsageError: a name of the protocol's or one that is taken, a type that JSON cannot
                carry, a handler that is not async.
        """
        row = self._row(name, params, custom_methods.request_row, self.kernel.custom_methods)
        rows = dict.fromkeys(select(revisions), row)

        def add(handler: Answers[P, R]) -> Answers[P, R]:
            _check_async(name, handler)

            def at(profile: Profile) -> Route[Context] | None:
                row = rows.get(profile.revision)
                return custom_methods.route(row, handler, self.kernel.hooks) if row else None

            self.kernel.custom_methods[name] = at
            self.kernel.changed()
            return handler

        return add

    def notification(
        self, name: str, *, params: type[P], revisions: Sequence[str] = mcp_wire.REVISIONS
    ) -> Callable[[Hears[P]], Hears[P]]:
        """Hear a notification that the protocol does not have; see `method`."""
        row = self._row(
            name, params, custom_methods.notification_row, self.kernel.custom_notifications
        )
        rows = dict.fromkeys(select(revisions), row)

        def add(handler: Hears[P]) -> Hears[P]:
            _check_async(name, handler)
            self.kernel.custom_notifications[name] = lambda profile: rows.get(profile.revision)
            return NoticePoint[P](self.kernel.hooks, name).add(handler)

        return add

    def _row(
        self,
        name: str,
        params: type[P],
        make: Callable[[str, type[P]], Method[P, Any]],
        taken: dict[str, Any],
    ) -> Method[P, Any]:
        custom_methods.check_name(name)
        if name in taken:
            raise UsageError(f"method {name!r} is there already; give one of them another name")
        return make(name, params)


def _check_async(name: str, handler: Callable[..., Any]) -> None:
    if not inspect.iscoroutinefunction(handler):
        raise UsageError(f"method {name!r}: its handler is not async; write `async def`")
