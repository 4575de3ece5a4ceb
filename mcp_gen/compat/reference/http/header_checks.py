"""Comparison of the headers of a request with the message in its body."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcp_gen.compat.json_values import Json, is_object, member
from mcp_gen.compat.known_extensions import named_params
from mcp_gen.core.errors import UsageError
from mcp_gen.core.transport.header_params import marked_params
from mcp_gen.core.transport.header_values import decoded_value, matches_value, value_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mcp_wire.profile import Profile

__all__ = ["metadata_version", "mismatch_of", "name_of"]


def metadata_version(profile: Profile, message: Any) -> str | None:
    """Return the revision that a message names; None if it names none."""
    found = member(message, "params", "_meta", profile.protocol_version_key or "")
    return found if isinstance(found, str) else None


def name_of(profile: Profile, request: Json) -> str | None:
    """Return the value of a request that the name header repeats; None if there is none."""
    found = member(request, "params", named_params(profile.revision).get(request["method"], ""))
    return found if isinstance(found, str) else None


def mismatch_of(
    profile: Profile, headers: Mapping[str, str], request: Json, tools: Iterable[Json]
) -> str | None:
    """Return the name of the first header that does not repeat what it should; None if all do.

    Args:
        profile: A revision whose headers repeat parts of the message.
        headers: The headers, with names in lower case.
        request: The request.
        tools: The tools, of which some arguments are repeated.
    """
    if profile.method_header and headers.get(profile.method_header.lower()) != request["method"]:
        return profile.method_header
    about = name_of(profile, request)
    if profile.name_header and about is not None:
        given = headers.get(profile.name_header.lower())
        if given is None or decoded_value(given.encode("latin-1")) != about:
            return profile.name_header
    for tool in tools if about is not None and "arguments" in request["params"] else ():
        schema = tool.get("inputSchema")
        if tool.get("name") == about and is_object(schema):
            for end, path in _marks(schema).items():
                header = f"{profile.param_header_prefix}{end}"
                given = headers.get(header.lower())
                raw = None if given is None else given.encode("latin-1")
                if not matches_value(raw, value_at(request["params"]["arguments"], path)):
                    return header
    return None


def _marks(schema: Json) -> dict[str, tuple[str, ...]]:
    """Return the marked arguments of a schema; none where a mark is wrong."""
    try:
        return marked_params(schema)
    except UsageError:
        return {}
