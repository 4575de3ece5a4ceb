"""URIs as texts: what they may be made of, and how escapes are read."""

from __future__ import annotations

import re

from mcp_gen.core.errors import UsageError

__all__ = ["check_beginning", "check_literal", "check_uri", "decoded", "is_uri"]

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")
_SCHEME_BEGUN = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*)?")
_NO_LITERAL = re.compile(r"[^!#$&'()*+,\-./0-9:;=?@A-Z\[\]_a-z~%]|%(?![0-9A-Fa-f]{2})")
_NO_URI = re.compile(r"[\x00-\x20\x7f<>\"\\^`{|}]")
_BAD_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")


def check_literal(text: str, what: str) -> None:
    """Refuse what a URI cannot hold as it stands.

    Raises:
        UsageError: with the character, and how to write it.
    """
    found = _NO_LITERAL.search(text)
    if found:
        from urllib.parse import quote

        raise UsageError(f"{what}: a URI cannot hold {found[0]!r}; write {quote(found[0])}")


def check_uri(text: str, what: str) -> None:
    """Refuse what is no URI; `what` is where that was written.

    Raises:
        UsageError: with what is missing or wrong.
    """
    check_literal(text, what)
    if not _SCHEME.match(text):
        raise _without_scheme(text, what)


def check_beginning(text: str, what: str) -> None:
    """Refuse what no URI begins with; `text` is what stands before a template's first variable.

    Raises:
        UsageError: it is neither a scheme nor the beginning of one.
    """
    if not (_SCHEME.match(text) or _SCHEME_BEGUN.fullmatch(text)):
        raise _without_scheme(text, what)


def _without_scheme(text: str, what: str) -> UsageError:
    return UsageError(f"{what}: a URI begins with a scheme, such as `config://{text}`")


def is_uri(text: str) -> bool:
    """Whether a client's text is a URI, characters beyond ASCII allowed."""
    return bool(_SCHEME.match(text)) and not _NO_URI.search(text)


def decoded(raw: str) -> str:
    """The text that escapes stand for.

    Raises:
        ValueError: an escape that is cut off, or that is not UTF-8.
    """
    if "%" not in raw:
        return raw
    from urllib.parse import unquote_to_bytes

    if _BAD_PERCENT.search(raw):
        raise ValueError("a `%` without two hexadecimal digits")
    return unquote_to_bytes(raw).decode()
