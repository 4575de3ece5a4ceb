"""Change topics: the lists of a server, each resource, and topics of extensions."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

from msgspec import UNSET

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mcp_gen.session.kernel.kernel import Kernel
    from mcp_gen.session.messages.channel import Channel
    from mcp_wire.method import Method
    from mcp_wire.profile import Profile

__all__ = [
    "LISTS",
    "PROMPTS",
    "RESOURCES",
    "TOOLS",
    "ChangeTopic",
    "ExtensionTopic",
    "decode_topic",
    "encode_topic",
    "extension_topics_of",
    "fields_of",
    "is_list",
    "is_watched",
    "send",
    "updated",
]

_log = logging.getLogger("mcp_gen.server")


class ChangeTopic(NamedTuple):
    """Topic of change notifications: a list, or one resource.

    Args:
        role: The attribute of Profile that holds its notification.
        capability: The capability that a server declares for it.
        wanted: The field of the subscription filter that requests it.
        uri: The URI of the resource, which may be empty; None for lists.
    """

    role: str
    capability: str
    wanted: str
    uri: str | None = None

    def notification(self, profile: Profile) -> Method[Any, None] | None:
        """Return the notification of a revision; None if it has none."""
        found: Method[Any, None] | None = getattr(profile, self.role)
        return found


TOOLS = ChangeTopic("tools_changed", "tools", "tools_list_changed")
PROMPTS = ChangeTopic("prompts_changed", "prompts", "prompts_list_changed")
RESOURCES = ChangeTopic("resources_changed", "resources", "resources_list_changed")
LISTS = (TOOLS, PROMPTS, RESOURCES)


def updated(uri: str) -> ChangeTopic:
    """Return the topic of one resource (`notifications/resources/updated`)."""
    return ChangeTopic("resource_updated", "resources.subscribe", "resource_subscriptions", uri)


def encode_topic(topic: ChangeTopic) -> bytes:
    """Return a topic as text that other processes can read."""
    return topic.role.encode() if topic.uri is None else b"%b %b" % (_UPDATED, topic.uri.encode())


def decode_topic(text: bytes) -> ChangeTopic | None:
    """Return the topic of a text of `encode_topic`; None if this version knows no such topic."""
    role, space, uri = text.partition(b" ")
    if space:
        return updated(uri.decode()) if role == _UPDATED else None
    return next((topic for topic in LISTS if topic.role.encode() == role), None)


_UPDATED = updated("").role.encode()


class ExtensionTopic(NamedTuple):
    """Topic of an extension: a value under a field of the subscription filter."""

    field: str
    value: Any


def extension_topics_of(fields: Mapping[str, Any]) -> Iterator[ExtensionTopic]:
    """Yield the topics of granted filter fields; each item of a list is a topic."""
    for field, value in fields.items():
        values = value if is_list(value) else [value]
        plain = (one for one in values if isinstance(one, str | int) and one is not False)
        yield from (ExtensionTopic(field, one) for one in dict.fromkeys(plain))


def is_list(value: Any) -> TypeGuard[list[Any]]:
    """Return True if a value is a list."""
    return isinstance(value, list)


def fields_of(value: Any, kind: Any) -> dict[str, Any]:
    """Return the fields of type `kind` that are set in a value."""
    names: tuple[str, ...] = getattr(kind, "__struct_fields__", ())
    found = ((name, getattr(value, name, None)) for name in names)
    return {name: one for name, one in found if one is not None and one is not UNSET}


def is_watched(kernel: Kernel[Any], method: Method[Any, None]) -> bool:
    """Return True if hooks or middleware wrap this notification."""
    return bool(kernel.outbound_middleware or kernel.hooks.outbound.notices.get(method.name))


def send(channel: Channel, method: Method[Any, None], params: Any) -> None:
    """Send a notification to one of many; log an error, so that the others still get theirs."""
    try:
        channel.notify(method, params)
    except Exception:
        _log.exception("%s could not be sent", method.name)
