"""Notifications of a request: sent while it is answered, as fast as the client reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import UNSET

from mcp_gen.server.context.context import origin_of, runtime_of
from mcp_gen.session.peer.session import sender_for

if TYPE_CHECKING:
    from mcp_gen.core.envelope import RequestId
    from mcp_gen.server.context.context import Context
    from mcp_gen.session.messages.channel import Channel
    from mcp_wire.method import Method

__all__ = ["is_wrapped", "send_notification"]

P = TypeVar("P")


async def send_notification(ctx: Context, method: Method[P, None], params: P) -> None:
    """Send a notification of a request, and wait until the client has read enough for another.

    Once the request has been answered, or was cancelled, nothing is sent.
    """
    outlet = origin_of(ctx).channel
    if is_wrapped(ctx, method):
        in_time: Any = _OpenRequestChannel(outlet, ctx.request_id)
        await sender_for(ctx.profile, in_time, runtime_of(ctx).kernel, ctx).notify(method, params)
    elif outlet.answers(ctx.request_id):
        outlet.notify(method, params)
    await outlet.drain()


def is_wrapped(ctx: Context, method: Method[Any, None]) -> bool:
    """Whether hooks or middleware have a part in sending this."""
    kernel = runtime_of(ctx).kernel
    return bool(kernel.outbound_middleware or kernel.hooks.outbound.notices.get(method.name))


class _OpenRequestChannel:
    """An outlet that is shut when its request has been answered: hooks may take their time."""

    def __init__(self, outlet: Channel, id: RequestId | None) -> None:
        self._outlet = outlet
        self._id = id

    def notify(self, method: Method[P, None], params: Any = UNSET) -> None:
        if self._outlet.answers(self._id):
            self._outlet.notify(method, params)
