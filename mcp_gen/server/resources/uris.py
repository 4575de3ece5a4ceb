"""URI syntax checks and percent-decoding."""

from __future__ import annotations

import re

from mcp_gen.core.errors import UsageError

__all__ = [
    "check_literal",
    "check_prefix",
    "check_uri",
    "decoded",
    "escaped",
    "is_traversal",
    "is_uri",
]

# Texts, not compiled patterns: `re` compiles and keeps each one when it is first used.
_SCHEME = r"[A-Za-z][A-Za-z0-9+.\-]*:"
_SCHEME_BEGUN = r"([A-Za-z][A-Za-z0-9+.\-]*)?"
_NO_LITERAL = r"[^!#$&'()*+,\-./0-9:;=?@A-Z\[\]_a-z~%]|%(?![0-9A-Fa-f]{2})"
_NO_URI = r"[\x00-\x20\x7f<>\"\\^`{|}]"
_ASCII = "".join(map(chr, range(128)))
_BAD_PERCENT = r"%(?![0-9A-Fa-f]{2})"


def check_literal(text: str, what: str) -> None:
    """Check that a URI may contain a text unescaped. `what` begins the error message.

    Raises:
        UsageError: Names the character, and its percent-encoding.
    """
    found = re.search(_NO_LITERAL, text)
    if found:
        # Loaded when used: few URIs need it.
        from urllib.parse import quote

        raise UsageError(f"{what}: a URI cannot hold {found[0]!r}; write {quote(found[0])}")


def check_uri(text: str, what: str) -> None:
    """Check that a text is a URI. `what` begins the error message.

    Raises:
        UsageError: The scheme is missing, or a character is not allowed.
    """
    check_literal(text, what)
    if not re.match(_SCHEME, text):
        raise _without_scheme(text, what)


def check_prefix(text: str, what: str) -> None:
    """Check the literal text before a template's first variable. `what` begins the error message.

    Raises:
        UsageError: The text is neither a scheme nor the beginning of one.
    """
    if not (re.match(_SCHEME, text) or re.fullmatch(_SCHEME_BEGUN, text)):
        raise _without_scheme(text, what)


def _without_scheme(text: str, what: str) -> UsageError:
    return UsageError(f"{what}: a URI begins with a scheme, such as `config://{text}`")


def is_uri(text: str) -> bool:
    """Return True if a client's text is a URI; characters beyond ASCII are allowed."""
    return bool(re.match(_SCHEME, text)) and not re.search(_NO_URI, text)


def escaped(uri: str) -> str:
    """Return the URI with its characters beyond ASCII percent-encoded: a result may hold no others.

    Source: https://www.rfc-editor.org/rfc/rfc3987.html#section-3.1
    """
    # Loaded when used: few URIs need it.
    from urllib.parse import quote

    return quote(uri, safe=_ASCII)


def decoded(raw: str) -> str:
    """Percent-decode a text.

    Raises:
        ValueError: An escape is incomplete, or the bytes are not UTF-8.
    """
    if "%" not in raw:
        return raw
    # Loaded when used: few URIs need it.
    from urllib.parse import unquote_to_bytes

    if re.search(_BAD_PERCENT, raw):
        raise ValueError("a `%` without two hexadecimal digits")
    return unquote_to_bytes(raw).decode()


def is_traversal(value: str) -> bool:
    """Return True if a decoded value has `.` or `..` as a segment, a backslash or NUL.

    Used as a path, it might name something outside of its folder, or something else than it shows.
    """
    if "\\" in value or "\0" in value:
        return True
    return "." in value and not {".", ".."}.isdisjoint(value.split("/"))
