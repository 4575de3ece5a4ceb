"""Names of secrets, and the placeholders that stand for their values."""

from __future__ import annotations

import re

__all__ = ["HEADERS", "NO_SECRETS", "NUMBER", "PLACEHOLDER", "WORDS", "is_secret_name"]

PLACEHOLDER = re.compile(r"<redacted-(?:number-)?\d+>")
"""The form of placeholders."""
NUMBER = re.compile(r"<redacted-number-(\d+)>")
"""The form of placeholders of numbers."""

HEADERS = frozenset(
    {
        "authorization",
        "cookie",
        "dpop",
        "mcp-session-id",
        "proxy-authorization",
        "set-cookie",
    }
)
"""Headers whose values are replaced as a whole, beside those with the name of a secret."""
NO_SECRETS = frozenset({"progressToken", "maxTokens"})
"""Names of the protocol that look like those of secrets, and are none: a label and a number."""

WORDS = (
    r"token|secret|passw|passphrase|pwd|key|credential|authorization|auth(?![a-z])|bearer|cookie"
    r"|jwt|dsn(?![a-z])|requestState|dpop|session.?id"
)
"""Parts of the names of secrets, as alternatives of a regular expression that ignores case."""
_NAME = re.compile(WORDS, re.I)


def is_secret_name(name: str) -> bool:
    """Return True if the value of a member, argument, header or parameter is a secret."""
    return _NAME.search(name) is not None and name not in NO_SECRETS
