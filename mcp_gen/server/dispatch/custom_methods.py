"""Requests and notifications that a program adds beside the protocol."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from mcp_gen.core.errors import UsageError
from mcp_gen.core.revisions import select
from mcp_gen.server.context.context import Context
from mcp_gen.session.messages import custom_methods
from mcp_wire.hook_machinery import NoticePoint

if TYPE_CHECKING:
    from mcp_gen.session.kernel.kernel import Kernel
    from mcp_wire.method import Method, Route
    from mcp_wire.profile import Profile

__all__ = ["CustomMethods", "NotificationHandler", "RequestHandler"]

P = TypeVar("P")
R = TypeVar("R")

RequestHandler: TypeAlias = Callable[[Context, P], Awaitable[R]]
"""Async handler of a request."""
NotificationHandler: TypeAlias = Callable[[Context, P], Awaitable[None]]
"""Async handler of a notification."""


class CustomMethods:
    """Registry of requests and notifications beside the protocol.

    Args:
        kernel: Kernel that routes them.
    """

    def __init__(self, kernel: Kernel[Context]) -> None:
        self._kernel = kernel

    def request(
        self, name: str, params: type[P], result: type[R], revisions: Sequence[str]
    ) -> Callable[[RequestHandler[P, R]], RequestHandler[P, R]]:
        """Return the decorator of a request handler; see `Server.method`."""
        row = self._row(name, params, custom_methods.request_row, self._kernel.custom_methods)
        rows = dict.fromkeys(select(revisions), row)

        def add(handler: RequestHandler[P, R]) -> RequestHandler[P, R]:
            _check_async(name, handler)

            def at(profile: Profile) -> Route[Context] | None:
                row = rows.get(profile.revision)
                return custom_methods.route(row, handler, self._kernel.hooks) if row else None

            self._kernel.custom_methods[name] = at
            self._kernel.changed()
            return handler

        return add

    def notification(
        self, name: str, params: type[P], revisions: Sequence[str]
    ) -> Callable[[NotificationHandler[P]], NotificationHandler[P]]:
        """Return the decorator of a notification handler; see `Server.notification`."""
        row = self._row(
            name, params, custom_methods.notification_row, self._kernel.custom_notifications
        )
        rows = dict.fromkeys(select(revisions), row)

        def add(handler: NotificationHandler[P]) -> NotificationHandler[P]:
            _check_async(name, handler)
            self._kernel.custom_notifications[name] = lambda profile: rows.get(profile.revision)
            return NoticePoint[P](self._kernel.hooks, name).add(handler)

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
