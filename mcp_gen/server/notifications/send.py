"""Notifications of a request: sent while it is answered, as fast as the client reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import UNSET

from mcp_gen.session.peer.session import asking

if TYPE_CHECKING:
    from mcp_gen.core.envelope import RequestId
    from mcp_gen.server.context.context import Context
    from mcp_gen.session.messages.channel import Outlet
    from mcp_wire.method import Method

__all__ = ["is_wrapped", "tell"]

P = TypeVar("P")


async def tell(ctx: Context, method: Method[P, None], params: P) -> None:
    """Send a notification of a request, and wait until the client has read enough for another.

    Once the request has been answered, or was cancelled, nothing is sent.
    """
    outlet = ctx.caller.outlet
    if is_wrapped(ctx, method):
        in_time: Any = _WhileAnswered(outlet, ctx.request_id)
        await asking(ctx.profile, in_time, ctx.server.runtime.kernel, ctx).notify(method, params)
    elif outlet.answers(ctx.request_id):
        outlet.notify(method, params)
    await outlet.drain()


def is_wrapped(ctx: Context, method: Method[Any, None]) -> bool:
    """Whether hooks or middleware have a part in sending this."""
    kernel = ctx.server.runtime.kernel
    return bool(kernel.sending or kernel.hooks.outbound.notices.get(method.name))


class _WhileAnswered:
    """An outlet that is shut when its request has been answered: hooks may take their time."""

    def __init__(self, outlet: Outlet, id: RequestId | None) -> None:
        self._outlet = outlet
        self._id = id

    def notify(self, method: Method[P, None], params: Any = UNSET) -> None:
        if self._outlet.answers(self._id):
            self._outlet.notify(method, params)
