"""What no question may be, whatever the client has declared: no URL, or half of a tool's use."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from mcp_gen.core.errors import UsageError
from mcp_wire.latest import ElicitRequestURLParams, ToolResultContent, ToolUseContent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_wire.latest import SamplingMessage

__all__ = ["check_page", "check_question", "check_turns"]

_URI = re.compile(
    r"[A-Za-z][A-Za-z0-9+.\-]*:(?:[!#$&'()*+,\-./0-9:;=?@A-Z\[\]_a-z~]|%[0-9A-Fa-f]{2})+"
)


def check_question(params: Any) -> None:
    """Refuse a question that its specification rules out.

    Raises:
        UsageError: a URL that is none; a conversation in which the use of a tool has no result.
    """
    if isinstance(params, ElicitRequestURLParams):
        check_page(params.url)
    elif params is not None and hasattr(params, "messages"):
        check_turns(params.messages)


def check_page(url: str) -> None:
    """Refuse what no user can be sent to. The text is not shown: it may hold secrets.

    Source:
    https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation#url-mode-elicitation-requests
    """
    if not _URI.fullmatch(url) or not _has_host(url):
        raise UsageError(
            "elicit_url: expected a whole URL with its scheme, such as https://example.org/sign, "
            "and other characters escaped with `%`"
        )


def check_turns(turns: Sequence[SamplingMessage]) -> None:
    """Refuse a conversation in which uses of tools and their results do not go in pairs.

    Source:
    https://modelcontextprotocol.io/specification/2026-07-28/client/sampling#tool-use-and-result-balance
    """
    open_uses: list[str] = []
    for number, turn in enumerate(turns):
        blocks = turn.content if isinstance(turn.content, list) else [turn.content]
        uses = [block.id for block in blocks if isinstance(block, ToolUseContent)]
        results = [block.tool_use_id for block in blocks if isinstance(block, ToolResultContent)]
        where = f"at `$.messages[{number}]`"
        if results and len(results) < len(blocks):
            raise UsageError(f"sample: results of tools stand in a message of their own - {where}")
        if sorted(results) != sorted(open_uses):
            raise UsageError(
                f"sample: every use of a tool is followed by its result, and by nothing else; "
                f"open are {open_uses}, and there are results of {results} - {where}"
            )
        if results and turn.role != "user":
            raise UsageError(f"sample: results of tools are the user's turn - {where}")
        if uses and turn.role != "assistant":
            raise UsageError(f"sample: uses of tools are the assistant's turn - {where}")
        open_uses = uses
    if open_uses:
        raise UsageError(f"sample: the uses {open_uses} of tools have no results; add them")


def _has_host(url: str) -> bool:
    """Whether what is to be found at a host names one."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return bool(parts.hostname) or parts.scheme not in ("http", "https")
