"""Headers that repeat what a message says, so that others can route by it: they must agree.

Source: https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Raw

from mcp_gen.core.loose_json import read_members
from mcp_gen.core.transport.header_values import (
    about_what,
    decoded_value,
    matches_value,
    named_by,
    value_at,
)
from mcp_gen.session.kernel.lifecycle import header_mismatch

if TYPE_CHECKING:
    from mcp_gen.core.transport.headers import Headers
    from mcp_wire.profile import Profile

__all__ = ["HeaderCheck"]

_NULL = Raw(b"null")


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
            values = read_members(arguments, tuple({path[0]: None for path in paths.values()}))
            if values is None:
                return  # no object: the tool refuses it
        for end, path in paths.items():
            given = headers.raw.get(self.param_prefix + end)
            if not matches_value(given, value_at(values, path)):
                name = f"{self._profile.param_header_prefix}{end.decode()}"
                where = ".".join(("$.params.arguments", *path))
                raise header_mismatch(
                    self._profile, f"expected the header `{name}` to repeat the value at `{where}`"
                )

    def _expected(self, header: str | None, value: str) -> Exception:
        return header_mismatch(self._profile, f"expected the header `{header}: {value}`")


def _lower(name: str | None) -> bytes:
    return name.lower().encode() if name else b""
