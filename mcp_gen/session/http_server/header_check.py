"""Headers that repeat what a message says, so that others can route by it: they must agree.

Source: https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from msgspec import Raw

from mcp_gen.core.loose_json import loosely
from mcp_gen.session.kernel.lifecycle import header_mismatch

if TYPE_CHECKING:
    from mcp_gen.core.transport.headers import Headers
    from mcp_wire.profile import Profile

__all__ = [
    "REPEATED",
    "HeaderCheck",
    "about_what",
    "decoded_value",
    "encoded_value",
    "named_by",
    "value_at",
]

REPEATED = ("name", "uri")
"""The members of params that one header repeats, whichever of them there is."""

_NULL = Raw(b"null")
_OPEN, _CLOSE = b"=?base64?", b"?="
_ENCODED = re.compile(rb"=\?base64\?(.*)\?=")
_SENT = re.compile(rb"[\t\x20-\x7e]*")
_PLAIN = re.compile(r"[!-~](?:[ -~]*[!-~])?")
"""Text that is a header's value as it is: visible ASCII with blanks inside."""
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?P<rest>(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)")


class HeaderCheck:
    """The headers of one revision, looked up once."""

    __slots__ = ("_method", "_name", "_profile", "_spoken", "_version", "param_prefix")

    def __init__(self, profile: Profile, spoken: Sequence[str]) -> None:
        self._profile = profile
        self._spoken = list(spoken)
        self._version = _lower(profile.version_header)
        self._method = _lower(profile.method_header)
        self._name = _lower(profile.name_header)
        self.param_prefix = _lower(profile.param_header_prefix)

    def revision(self, headers: Headers) -> str | None:
        """The revision that the headers name; None where there is no such header.

        Raises:
            McpError: it is missing, and must not be.
        """
        if not self._version:
            return None
        stated = headers.raw.get(self._version)
        if stated is None:
            if not self._profile.version_header_required:
                return None
            raise header_mismatch(
                self._profile,
                f"expected the header `{self._profile.version_header}`",
                {"supported": self._spoken},
            )
        return stated.strip().decode("latin-1")

    def message(
        self,
        headers: Headers,
        method: str,
        params: Any,
        field: tuple[str, str] | None = None,
    ) -> None:
        """Check the headers that name the method, and what it is about.

        `params` are a wire type, or what could be read of them. Where the method is an extension's,
        `field` is what its header repeats.

        Raises:
            McpError: a header is missing, or says something else than the body.
        """
        raw = headers.raw
        if self._method:
            given, wanted = raw.get(self._method), method.encode()
            if given != wanted and (given is None or given.strip() != wanted):
                raise self._expected(self._profile.method_header, method)
        about: str | None = None
        if self._name:
            about = about_what(params) if field is None else named_by(params, field)
        if about is not None:
            given = raw.get(self._name)
            # Most are what they seem to be.
            plain = about.isascii() and about.isprintable() and not about.startswith("=")
            if given is None or (
                not (plain and given == about.encode()) and decoded_value(given) != about
            ):
                raise self._expected(self._profile.name_header, about)

    def arguments(
        self, headers: Headers, paths: Mapping[bytes, tuple[str, ...]], arguments: Any
    ) -> None:
        """Check the headers that repeat arguments: `paths` say which, by the ends of their names.

        Raises:
            McpError: a header is missing, or says something else than the body.
        """
        values = arguments
        if isinstance(arguments, Raw) and arguments != _NULL:
            values = loosely(arguments, tuple({path[0]: None for path in paths.values()}))
            if values is None:
                return  # no object: the tool refuses it
        for end, path in paths.items():
            given = headers.raw.get(self.param_prefix + end)
            if not _same(given, value_at(values, path)):
                name = f"{self._profile.param_header_prefix}{end.decode()}"
                where = ".".join(("$.params.arguments", *path))
                raise header_mismatch(
                    self._profile, f"expected the header `{name}` to repeat the value at `{where}`"
                )

    def _expected(self, header: str | None, value: str) -> Exception:
        return header_mismatch(self._profile, f"expected the header `{header}: {value}`")


def decoded_value(value: bytes) -> str | None:
    """What a header's value stands for; None where it is broken.

    Source:
    https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#value-encoding
    """
    value = value.strip(b" \t")
    encoded = _ENCODED.fullmatch(value)
    try:
        if encoded is not None:
            return b64decode(encoded[1], validate=True).decode()
        return value.decode("ascii") if _SENT.fullmatch(value) else None
    except (binascii.Error, UnicodeDecodeError):
        return None


def encoded_value(text: str) -> bytes:
    """A header's value that stands for this text; see `decoded_value`."""
    if (not text or _PLAIN.fullmatch(text)) and not (
        text.startswith("=?base64?") and text.endswith("?=")
    ):
        return text.encode("ascii")
    return _OPEN + b64encode(text.encode()) + _CLOSE


def _same(given: bytes | None, value: Any) -> bool:
    """Whether a header repeats an argument. One that is absent or null has no header."""
    if value is None or given is None:
        return value is given
    text = decoded_value(given)
    if text is None or value is True or value is False:
        return text is not None and text == ("true" if value else "false")
    if isinstance(value, str):
        return text == value
    if isinstance(value, int | float):
        return _is_number(text, value)
    # Not of the kind that its schema has: the tool refuses it.
    return True


def _is_number(text: str, value: float) -> bool:
    """Whether a text is this number, written as JSON has them: all on the way read the same."""
    found = _NUMBER.fullmatch(text)
    if found is None:
        return False
    try:
        return (float(text) if found["rest"] else int(text)) == value
    except ValueError:
        return False  # so many digits that nobody counts them


def about_what(params: Any) -> str | None:
    """The name, or the URI, of what a request is about."""
    if isinstance(params, dict):
        members = cast("dict[str, Any]", params)
        found = [members.get(name) for name in REPEATED]
        return next((one for one in found if isinstance(one, str)), None)
    field = _fields.get(params.__class__)
    if field is None:
        field = _fields[params.__class__] = next((n for n in REPEATED if hasattr(params, n)), "")
    return getattr(params, field) if field else None


def named_by(params: Any, field: tuple[str, str]) -> str | None:
    """What a request of an extension is about; `field` is its attribute, and its name in JSON."""
    attribute, wire = field
    if not wire:
        return None
    if isinstance(params, dict):
        found = cast("dict[str, Any]", params).get(wire)
    else:
        found = getattr(params, attribute, None)
    return found if isinstance(found, str) else None


_fields: dict[type[Any], str] = {}
"""Which of them the params of a kind have."""


def value_at(values: Any, path: tuple[str, ...]) -> Any:
    """The argument at a path; None where there is none."""
    for name in path:
        if not isinstance(values, dict):
            return None
        values = cast("dict[str, Any]", values).get(name)
    return values


def _lower(name: str | None) -> bytes:
    return name.lower().encode() if name else b""
