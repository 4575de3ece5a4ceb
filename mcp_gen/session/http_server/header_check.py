"""Checks that headers, which intermediaries may route by, agree with the message.

Source: https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Raw

from mcp_gen.core.loose_json import read_members
from mcp_gen.core.transport.header_values import (
    decoded_value,
    matches_value,
    mirrored_param,
    value_at,
)
from mcp_gen.session.kernel.lifecycle import header_mismatch

if TYPE_CHECKING:
    from mcp_gen.core.transport.headers import Headers
    from mcp_wire.profile import Profile

__all__ = ["HeaderCheck", "first_header", "header_names"]

_NULL = Raw(b"null")


class HeaderCheck:
    """Header checks of one revision, with the header names looked up once.

    Args:
        profile: Profile of the revision.
        spoken: Offered revisions, listed in errors.
    """

    __slots__ = ("_method", "_name", "_offered", "_profile", "_version", "param_prefix")

    def __init__(self, profile: Profile, spoken: Sequence[str]) -> None:
        self._profile = profile
        self._offered = list(spoken)
        self._version = _lower(profile.version_header)
        self._method = _lower(profile.method_header)
        self._name = _lower(profile.name_header)
        self.param_prefix = _lower(profile.param_header_prefix)

    def revision(self, headers: Headers) -> str | None:
        """Return the revision that the headers name; None if there is no such header.

        Raises:
            McpError: the header is required and missing.
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
                {"supported": self._offered},
            )
        return stated.strip().decode("latin-1")

    def message(
        self,
        headers: Headers,
        method: str,
        params: Any,
        field: tuple[str, str] | None,
    ) -> None:
        """Check the headers that repeat the method, and the name or URI it is about.

        Args:
            headers: HTTP headers.
            method: Name of the method.
            params: Params as a wire type, or the members that could be decoded.
            field: Parameter that the name header repeats, as its Python name and its JSON name;
                None if the method has none.

        Raises:
            McpError: a header is missing or differs from the body.
        """
        raw = headers.raw
        if self._method:
            given, wanted = raw.get(self._method), method.encode()
            if given != wanted and (given is None or given.strip() != wanted):
                raise self._expected(self._profile.method_header, method)
        about: str | None = None
        if self._name and field is not None:
            about = mirrored_param(params, field)
        if about is not None:
            given = raw.get(self._name)
            # Fast path: most values are not encoded.
            plain = about.isascii() and about.isprintable() and not about.startswith("=")
            if given is None or (
                not (plain and given == about.encode()) and decoded_value(given) != about
            ):
                raise self._expected(self._profile.name_header, about)

    def arguments(
        self, headers: Headers, paths: Mapping[bytes, tuple[str, ...]], arguments: Any
    ) -> None:
        """Check the headers that repeat tool arguments.

        Args:
            headers: HTTP headers.
            paths: JSON path of each repeated argument, by the header name without its prefix.
            arguments: Arguments, decoded or not.

        Raises:
            McpError: a header is missing or differs from the body.
        """
        values = arguments
        if isinstance(arguments, Raw) and arguments != _NULL:
            values = read_members(arguments, tuple({path[0]: None for path in paths.values()}))
            if values is None:
                return  # not an object: the tool refuses it
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


def header_names(names: Iterable[str | None]) -> tuple[bytes, ...]:
    """Return the names of headers as `Headers.raw` has them, each once."""
    return tuple({name.lower().encode(): None for name in names if name})


def first_header(headers: Headers, names: tuple[bytes, ...]) -> bytes | None:
    """Return the value of the first of these headers that there is; None if there is none."""
    raw = headers.raw
    for name in names:
        found = raw.get(name)
        if found is not None:
            return found
    return None
