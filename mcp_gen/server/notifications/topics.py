"""What can change, and how it is told: the lists of a server, and each of its resources."""

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
    "extension_topics_of",
    "fields_of",
    "is_watched",
    "send",
    "updated",
]

_log = logging.getLogger("mcp_gen.server")


class ChangeTopic(NamedTuple):
    """Something that can change."""

    role: str
    """The attribute of the Profile that has its notification."""
    capability: str
    """What a server declares that tells of it."""
    wanted: str
    """The field of a listening request's filter that asks for it."""
    uri: str = ""
    """Which resource, where it is not a list."""

    def notification(self, profile: Profile) -> Method[Any, None] | None:
        """What is sent at a revision, where it knows of this."""
        found: Method[Any, None] | None = getattr(profile, self.role)
        return found


TOOLS = ChangeTopic("tools_changed", "tools", "tools_list_changed")
PROMPTS = ChangeTopic("prompts_changed", "prompts", "prompts_list_changed")
RESOURCES = ChangeTopic("resources_changed", "resources", "resources_list_changed")
LISTS = (TOOLS, PROMPTS, RESOURCES)


def updated(uri: str) -> ChangeTopic:
    """What one resource reads as."""
    return ChangeTopic("resource_updated", "resources.subscribe", "resource_subscriptions", uri)


class ExtensionTopic(NamedTuple):
    """Something that an extension lets clients hear of: a value under a field of their filter."""

    field: str
    value: Any


def extension_topics_of(fields: Mapping[str, Any]) -> Iterator[ExtensionTopic]:
    """The topics of what was agreed on: each item of a list is one."""
    for field, value in fields.items():
        values = value if _is_list(value) else [value]
        plain = (one for one in values if isinstance(one, str | int) and one is not False)
        yield from (ExtensionTopic(field, one) for one in dict.fromkeys(plain))


def _is_list(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def fields_of(value: Any, kind: Any) -> dict[str, Any]:
    """The fields of a kind that a value has something in."""
    names: tuple[str, ...] = getattr(kind, "__struct_fields__", ())
    found = ((name, getattr(value, name, None)) for name in names)
    return {name: one for name, one in found if one is not None and one is not UNSET}


def is_watched(kernel: Kernel[Any], method: Method[Any, None]) -> bool:
    """Whether hooks or middleware have a part in sending this notification."""
    return bool(kernel.outbound_middleware or kernel.hooks.outbound.notices.get(method.name))


def send(outlet: Channel, method: Method[Any, None], params: Any) -> None:
    """Send one of many the same news: a connection that fails does not keep it from the others."""
    try:
        outlet.notify(method, params)
    except Exception:
        _log.exception("%s could not be sent", method.name)
