"""Limits on `subscriptions/listen`: the size of a filter, and what one client may hold open."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from mcp_gen.core.errors import InvalidParams, InvalidRequest
from mcp_gen.core.peer_limits import text_bytes
from mcp_gen.server.notifications.topics import fields_of, is_list, updated
from mcp_gen.session.messages.channel import BaseChannel
from mcp_wire import encode
from mcp_wire.base import wire_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mcp_gen.core.peer_limits import PeerLimits
    from mcp_gen.server.context.context import Context
    from mcp_gen.server.notifications.topics import ChangeTopic, ExtensionTopic
    from mcp_gen.session.kernel.kernel import Kernel
    from mcp_gen.session.messages.channel import Channel
    from mcp_gen.session.peer.session import RequestOrigin

__all__ = ["SubscriptionCounter", "check_filter"]


class _Held(Struct):
    """Subscriptions of one client."""

    listens: int = 0
    topics: int = 0
    topic_bytes: int = 0


class SubscriptionCounter:
    """Counter of the open listens and the subscriptions of each client.

    A client is a connection; over HTTP without sessions a principal. Clients without a principal
    are counted together there: see `PeerLimits.anonymous_clients`.

    Args:
        limits: Limits for one client.
    """

    __slots__ = ("_held", "_limits", "_lock")

    def __init__(self, limits: PeerLimits) -> None:
        self._limits = limits
        self._lock = Lock()  # a server may answer on several event loops
        self._held: dict[Channel | str | None, _Held] = {}

    def __len__(self) -> int:
        return len(self._held)

    def open(self, origin: RequestOrigin) -> None:
        """Count one more open request.

        Raises:
            InvalidRequest: the client has `max_listens` open already.
        """
        client, clients = self._client(origin)
        with self._lock:
            held = self._held.get(client)
            if held is None:
                held = self._held[client] = _Held()
            if held.listens >= self._limits.max_listens * clients:
                raise InvalidRequest(
                    f"{held.listens} requests listen already, as many as this server keeps open "
                    "for one client; listen to more in one request, or end another"
                )
            held.listens += 1

    def add(self, origin: RequestOrigin, topics: Sequence[ChangeTopic | ExtensionTopic]) -> None:
        """Count the topics of a request that is open.

        Raises:
            InvalidParams: the client would be subscribed to more than it may.
        """
        client, clients = self._client(origin)
        number, size_bytes = _size(topics)
        with self._lock:
            held, limits = self._held[client], self._limits
            if held.topics + number > limits.max_subscriptions * clients:
                raise InvalidParams(
                    f"a client may have {limits.max_subscriptions} subscriptions - "
                    "at `$.params.notifications`"
                )
            if held.topic_bytes + size_bytes > limits.max_subscription_bytes * clients:
                raise InvalidParams(
                    f"the subscriptions of a client may have {limits.max_subscription_bytes} bytes "
                    "of URIs and ids - at `$.params.notifications`"
                )
            held.topics += number
            held.topic_bytes += size_bytes

    def close(self, origin: RequestOrigin, topics: Sequence[ChangeTopic | ExtensionTopic]) -> None:
        """Count one open request less, with the topics that were added for it."""
        client, _ = self._client(origin)
        number, size_bytes = _size(topics)
        with self._lock:
            held = self._held[client]
            held.listens -= 1
            held.topics -= number
            held.topic_bytes -= size_bytes
            if not held.listens:
                del self._held[client]

    def _client(self, origin: RequestOrigin) -> tuple[Channel | str | None, int]:
        """Return the key of a client, and how many clients it counts as."""
        channel, principal = origin.channel, origin.principal
        if not isinstance(channel, BaseChannel):
            return channel, 1
        return principal, self._limits.anonymous_clients if principal is None else 1


def check_filter(kernel: Kernel[Any], ctx: Context, wanted: Any) -> None:
    """Check the size of a subscription filter, and of the `_meta` that is kept with it.

    Args:
        kernel: The kernel of the server.
        ctx: The request.
        wanted: The requested filter.

    Raises:
        InvalidParams: a list is too long, or `_meta` too large.
    """
    limits = kernel.limits.peer
    _check_list(updated("").wanted, wanted.resource_subscriptions, limits.max_listen_uris)
    for extension in kernel.extensions.at(ctx.profile):
        for name, value in fields_of(wanted, extension.wanted).items():
            _check_list(name, value, limits.max_listen_tasks)
    # The context of the request is kept as long as the request is open.
    if ctx.meta and len(encode(ctx.meta)) > limits.max_declared_bytes:
        raise InvalidParams(
            f"expected at most {limits.max_declared_bytes} bytes, as this request stays open - "
            "at `$.params._meta`"
        )


def _check_list(name: str, value: Any, most: int) -> None:
    if is_list(value) and len(value) > most:
        raise InvalidParams(
            f"expected at most {most} items, got {len(value)} - "
            f"at `$.params.notifications.{wire_name(name)}`"
        )


def _size(topics: Iterable[ChangeTopic | ExtensionTopic]) -> tuple[int, int]:
    """Return the number of topics that have a URI or id, and the bytes of these."""
    # The last field: the URI of a resource, or the value of an extension.
    named = [value for topic in topics if (value := topic[-1]) != ""]
    return len(named), sum(text_bytes(one) for one in named if isinstance(one, str))
