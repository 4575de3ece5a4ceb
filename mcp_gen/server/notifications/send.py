"""Notifications that belong to a request, with back-pressure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import UNSET

from mcp_gen.server.context.context import origin_of, outer_layers, outer_of, runtime_of
from mcp_gen.session.peer.session import sender_for

if TYPE_CHECKING:
    from mcp_gen.core.envelope import RequestId
    from mcp_gen.server.context.context import Context
    from mcp_gen.session.messages.channel import Channel
    from mcp_wire.method import Method

__all__ = ["is_wrapped", "send_notification"]

P = TypeVar("P")


async def send_notification(ctx: Context, method: Method[P, None], params: P) -> None:
    """Send a notification of a request, and wait for back-pressure.

    Nothing is sent once the request has been answered or cancelled.

    Args:
        ctx: The request.
        method: The notification.
        params: Its params.
    """
    channel = origin_of(ctx).channel
    if is_wrapped(ctx, method):
        open_channel: Any = _OpenRequestChannel(channel, ctx.request_id)
        kernel, outer = runtime_of(ctx).kernel, outer_layers(ctx)
        sender = sender_for(ctx.profile, open_channel, kernel, ctx, outer)
        await sender.notify(method, params)
    elif channel.answers(ctx.request_id):
        channel.notify(method, params)
    await channel.drain()


def is_wrapped(ctx: Context, method: Method[Any, None]) -> bool:
    """Return True if hooks or middleware wrap this notification, also those of outer servers."""
    within: Context | None = ctx
    while within is not None:
        kernel = runtime_of(within).kernel
        if kernel.outbound_middleware or kernel.hooks.outbound.notices.get(method.name):
            return True
        within = outer_of(within)
    return False


class _OpenRequestChannel:
    """Channel that drops messages once its request is answered: hooks may take that long."""

    def __init__(self, channel: Channel, id: RequestId | None) -> None:
        self._channel = channel
        self._id = id

    def notify(self, method: Method[P, None], params: Any = UNSET) -> None:
        if self._channel.answers(self._id):
            self._channel.notify(method, params)
