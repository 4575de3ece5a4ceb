"""Protocol extensions of a server: declared, and their requests routed to handlers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from mcp_gen.core.errors import UsageError
from mcp_gen.core.extensions.extensions import exists_at
from mcp_gen.server.notifications.listeners import GrantedFilter
from mcp_gen.server.notifications.topics import extension_topics_of, fields_of
from mcp_gen.session.kernel.hook_results import check_result
from mcp_wire.extension import Extension, hook_point
from mcp_wire.method import Method, Route

if TYPE_CHECKING:
    from mcp_gen.core.extensions.extensions import Extensions
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.notifications.notifier import Notifier
    from mcp_gen.session.kernel.kernel import Kernel
    from mcp_wire.profile import Profile

__all__ = ["ExtensionRegistry", "OfferedHandlers"]

_RouteFactory: TypeAlias = "Callable[[Profile], Route[Context] | None]"


class OfferedHandlers(Protocol):
    """`Handlers` class of the generated package of an extension."""

    def offers(self, name: str) -> bool:
        """Return True if the request of this Python name is implemented."""
        ...


class ExtensionRegistry:
    """Registry of the protocol extensions of a server.

    Args:
        kernel: Kernel that routes the methods of extensions.
        notify: Knows the clients that listen to topics of extensions.
    """

    def __init__(self, kernel: Kernel[Context], notify: Notifier) -> None:
        self._kernel = kernel
        self._notify = notify
        kernel.hooks.accept = self._check_result

    @property
    def declared(self) -> Extensions:
        """Extensions that are declared."""
        return self._kernel.extensions

    def add(
        self, extension: Extension, handlers: OfferedHandlers | None = None, settings: Any = None
    ) -> None:
        """Add an extension; see `Server.add_extension`."""
        kernel = self._kernel
        kernel.extensions.check(extension)
        if handlers is not None:
            _check_handlers(extension, handlers)
        for name in extension.methods.keys() & (
            kernel.custom_methods.keys() | kernel.custom_notifications
        ):
            raise UsageError(f"{extension.identifier}: there is a method `{name}` already")
        kernel.extensions.add(extension, settings)
        for name, method in extension.methods.items():
            if method.kind == "notification":
                if method.from_client:
                    kernel.custom_notifications[name] = _notification_route(extension, method)
            elif handlers is not None and handlers.offers(extension.names[name]):
                handler = getattr(handlers, extension.names[name])
                kernel.custom_methods[name] = self._request(extension, method, handler)
        agree = getattr(handlers, "agree", None)
        if agree is not None:
            self._notify.listeners.extension_topics.setdefault(extension, _grant_with(agree))
        kernel.changed()

    def _check_result(
        self,
        row: Method[Any, Any],
        hook: Callable[..., Any],
        ctx: Context,
        current: Any,
        result: Any,
    ) -> Any:
        """Check the result of an after hook, which may be one that an extension adds."""
        kind: Any = result.__class__
        if kind in self.declared.arms:
            row = self.declared.rows(ctx.profile).get(row.name, row)
            if kind in row.results:
                ctx.require(self.declared.arms[kind])
        return check_result(row, hook, ctx, current, result)

    def _request(
        self,
        extension: Extension,
        method: Method[Any, Any],
        handler: Callable[[Context, Any], Awaitable[Any]],
    ) -> _RouteFactory:
        point = hook_point(self._kernel.hooks, method.name)

        async def call(ctx: Context, params: Any) -> Any:
            # Before the hooks: such a request is refused and must not be observed.
            ctx.require(extension)
            if point:
                return await point.around(ctx, params, handler, method)
            return await handler(ctx, params)

        return lambda profile: Route(method, call) if exists_at(extension, profile) else None


def _check_handlers(extension: Extension, handlers: Any) -> None:
    requests = [extension.names[one.name] for one in extension.methods.values() if one.results]
    if isinstance(handlers, type) or not all(hasattr(handlers, n) for n in ("offers", *requests)):
        raise UsageError(
            f"{extension.identifier}: expected an instance of a subclass of its package's "
            f"`Handlers`, got {handlers!r}"
        )


def _grant_with(
    agree: Callable[[Context, Any], Awaitable[Any]],
) -> Callable[[Context, Any], Awaitable[GrantedFilter]]:
    async def granted(ctx: Context, requested: Any) -> GrantedFilter:
        agreed = await agree(ctx, requested)
        fields = fields_of(agreed, type(agreed))
        return GrantedFilter(fields, tuple(extension_topics_of(fields)))

    return granted


def _notification_route(
    extension: Extension, method: Method[Any, Any]
) -> Callable[[Profile], Method[Any, None] | None]:
    return lambda profile: method if exists_at(extension, profile) else None
