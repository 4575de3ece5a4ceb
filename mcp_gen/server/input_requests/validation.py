"""Validates URL elicitation and sampling requests."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from mcp_gen.core.checks.sampling import find_unpaired_tool_use
from mcp_gen.core.errors import UsageError
from mcp_wire.latest import ElicitRequestURLParams

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_wire.latest import SamplingMessage

__all__ = ["check_conversation", "check_input_request", "check_url_elicitation"]

_URI = re.compile(
    r"[A-Za-z][A-Za-z0-9+.\-]*:(?:[!#$&'()*+,\-./0-9:;=?@A-Z\[\]_a-z~]|%[0-9A-Fa-f]{2})+"
)


def check_input_request(params: Any) -> None:
    """Check the params of an input request against the specification.

    Raises:
        UsageError: The URL is invalid, or a tool use in a conversation has no result.
    """
    if isinstance(params, ElicitRequestURLParams):
        check_url_elicitation(params.url)
    elif params is not None and hasattr(params, "messages"):
        check_conversation(params.messages)


def check_url_elicitation(url: str) -> None:
    """Check the URL of an elicitation. The error does not show the URL: it may hold secrets.

    Raises:
        UsageError: It is not an absolute URL, or it is http(s) without a host.

    Source:
    https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation#url-mode-elicitation-requests
    """
    if not _URI.fullmatch(url) or not _has_host(url):
        raise UsageError(
            "elicit_url: expected a whole URL with its scheme, such as https://example.org/sign, "
            "and other characters escaped with `%`"
        )


def check_conversation(turns: Sequence[SamplingMessage]) -> None:
    """Check that each tool_use of a sampling conversation is paired with a tool_result.

    Raises:
        UsageError: One is not.
    """
    problem = find_unpaired_tool_use(turns)
    if problem:
        raise UsageError(f"sample: {problem}")


def _has_host(url: str) -> bool:
    """Return True if the URL has a host, or a scheme that needs none."""
    # Imported here, because few servers use URL elicitation.
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return bool(parts.hostname) or parts.scheme not in ("http", "https")
