"""What no question may be, whatever the client has declared: no URL, or half of a tool's use."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from mcp_gen.core.errors import UsageError
from mcp_gen.core.sampling import find_unpaired_tool_use
from mcp_wire.latest import ElicitRequestURLParams

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_wire.latest import SamplingMessage

__all__ = ["check_conversation", "check_input_request", "check_url_elicitation"]

_URI = re.compile(
    r"[A-Za-z][A-Za-z0-9+.\-]*:(?:[!#$&'()*+,\-./0-9:;=?@A-Z\[\]_a-z~]|%[0-9A-Fa-f]{2})+"
)


def check_input_request(params: Any) -> None:
    """Refuse a question that its specification rules out.

    Raises:
        UsageError: a URL that is none; a conversation in which the use of a tool has no result.
    """
    if isinstance(params, ElicitRequestURLParams):
        check_url_elicitation(params.url)
    elif params is not None and hasattr(params, "messages"):
        check_conversation(params.messages)


def check_url_elicitation(url: str) -> None:
    """Refuse what no user can be sent to. The text is not shown: it may hold secrets.

    Source:
    https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation#url-mode-elicitation-requests
    """
    if not _URI.fullmatch(url) or not _has_host(url):
        raise UsageError(
            "elicit_url: expected a whole URL with its scheme, such as https://example.org/sign, "
            "and other characters escaped with `%`"
        )


def check_conversation(turns: Sequence[SamplingMessage]) -> None:
    """Refuse a conversation in which uses of tools and their results do not go in pairs."""
    wrong = find_unpaired_tool_use(turns)
    if wrong:
        raise UsageError(f"sample: {wrong}")


def _has_host(url: str) -> bool:
    """Whether what is to be found at a host names one."""
    # Imported here: few servers send their users to a URL.
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return bool(parts.hostname) or parts.scheme not in ("http", "https")
