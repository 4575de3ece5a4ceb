"""HTTP headers that belong to a message of a client, at any revision."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mcp_gen.compat.json_values import Json, is_object, member
from mcp_gen.compat.known_extensions import named_params
from mcp_gen.core.errors import UsageError
from mcp_gen.core.transport.header_params import marked_params
from mcp_gen.core.transport.header_values import encoded_value, value_at

if TYPE_CHECKING:
    from mcp_wire.profile import Profile

__all__ = ["param_headers", "request_headers"]


def request_headers(
    profile: Profile, message: Any, *, session_id: str | None, tools: Mapping[str, Json]
) -> dict[str, str]:
    """Return the headers of a message, beside those of HTTP itself.

    Args:
        profile: The revision.
        message: The message: a JSON value, or bytes that are none.
        session_id: The session; None for none.
        tools: The tools that are known, by name: some of their arguments are repeated in headers.
    """
    named: dict[str, str] = {}
    if profile.session_header and session_id:
        named[profile.session_header] = session_id
    method, params = member(message, "method"), member(message, "params")
    is_opening = profile.handshake is not None and method == profile.handshake.name
    if profile.version_header and not is_opening:
        named[profile.version_header] = _version(profile, params)
    if profile.method_header and isinstance(method, str):
        named[profile.method_header] = method
        about = member(params, named_params(profile.revision).get(method, ""))
        if profile.name_header and isinstance(about, str):
            named[profile.name_header] = encoded_value(about).decode()
            if about in tools and is_object(member(params, "arguments")):
                named |= param_headers(profile, tools[about], member(params, "arguments"))
    return named


def _version(profile: Profile, params: Any) -> str:
    """Return the revision that the header repeats: that of the body, where it has one."""
    said = member(params, "_meta", profile.protocol_version_key or "")
    return said if isinstance(said, str) else profile.revision


def param_headers(profile: Profile, tool: Json, arguments: Json) -> dict[str, str]:
    """Return the headers that repeat arguments of a tool; none where its marks are wrong."""
    schema = tool.get("inputSchema")
    if not is_object(schema) or profile.param_header_prefix is None:
        return {}
    try:
        marks = marked_params(schema)
    except UsageError:
        return {}
    texts = {end: header_text(value_at(arguments, path)) for end, path in marks.items()}
    return {
        f"{profile.param_header_prefix}{end}": encoded_value(text).decode()
        for end, text in texts.items()
        if text is not None
    }


def header_text(value: Any) -> str | None:
    """Return the text of an argument in a header; None for one that no header repeats."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int) else None
