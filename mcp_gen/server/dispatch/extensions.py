"""Extensions of the protocol that a server offers: their requests answered, and declared."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from mcp_gen.core.errors import UsageError
from mcp_gen.core.extensions.extensions import carries
from mcp_gen.server.notifications.listeners import GrantedFilter
from mcp_gen.server.notifications.topics import extension_topics_of, fields_of
from mcp_wire.extension import Extension, hook_point
from mcp_wire.method import Method, Route

if TYPE_CHECKING:
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.notifications.notifier import Notifier
    from mcp_gen.session.kernel.kernel import Kernel
    from mcp_wire.profile import Profile

__all__ = ["OffersExtensions"]

_Make: TypeAlias = "Callable[[Profile], Route[Context] | None]"


class _Handlers(Protocol):
    """The `Handlers` of an extension's package."""

    def offers(self, name: str) -> bool:
        """Whether the request of this Python name is answered."""
        ...


class OffersExtensions:
    """The part of a server that takes extensions."""

    kernel: Kernel[Context]
    notify: Notifier

    def add_extension(
        self, extension: Extension, handlers: _Handlers | None = None, *, settings: Any = None
    ) -> None:
        """Offer an extension: declare it, with its `settings`, and answer its requests.

            from mcp_wire.extensions import tasks

            class Tasks(tasks.Handlers[Context]):
                async def get_task(self, ctx, params): ...

            server.add_extension(tasks.EXTENSION, Tasks())

        Clients see it at the revisions that it is for: under `extensions` of the capabilities, or
        under `experimental` where these have no such place. A request of its own from a client that
        has not declared it, too, is refused (see `Context.require`). Of requests that `handlers`
        do not offer, and at other revisions, nothing is known.

        Raises:
            UsageError: it is there already, a method of it is, these are not its settings, or
                the handlers are not its own.

        Source:
        https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning#extension-negotiation
        """
        kernel = self.kernel
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
                    kernel.custom_notifications[name] = _notice(extension, method)
            elif handlers is not None and handlers.offers(extension.names[name]):
                handler = getattr(handlers, extension.names[name])
                kernel.custom_methods[name] = self._request(extension, method, handler)
        agree = getattr(handlers, "agree", None)
        if agree is not None:
            self.notify.listeners.extension_topics.setdefault(extension, _granting(agree))
        kernel.changed()

    def _request(
        self,
        extension: Extension,
        method: Method[Any, Any],
        handler: Callable[[Context, Any], Awaitable[Any]],
    ) -> _Make:
        point = hook_point(self.kernel.hooks, method.name)

        async def call(ctx: Context, params: Any) -> Any:
            # Before hooks: to such a client there is nothing here to be observed.
            ctx.require(extension)
            return await (point.around(ctx, params, handler) if point else handler(ctx, params))

        return lambda profile: Route(method, call) if carries(extension, profile) else None


def _check_handlers(extension: Extension, handlers: Any) -> None:
    asked = [extension.names[one.name] for one in extension.methods.values() if one.results]
    if isinstance(handlers, type) or not all(hasattr(handlers, n) for n in ("offers", *asked)):
        raise UsageError(
            f"{extension.identifier}: expected an instance of a subclass of its package's "
            f"`Handlers`, got {handlers!r}"
        )


def _granting(
    agree: Callable[[Context, Any], Awaitable[Any]],
) -> Callable[[Context, Any], Awaitable[GrantedFilter]]:
    async def granted(ctx: Context, wanted: Any) -> GrantedFilter:
        agreed = await agree(ctx, wanted)
        fields = fields_of(agreed, type(agreed))
        return GrantedFilter(fields, tuple(extension_topics_of(fields)))

    return granted


def _notice(
    extension: Extension, method: Method[Any, Any]
) -> Callable[[Profile], Method[Any, None] | None]:
    return lambda profile: method if carries(extension, profile) else None
