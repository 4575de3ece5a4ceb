"""Admission strategies: after a handshake, or by per-request metadata.

`lifecycle_of` picks one from the profile of a revision.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import mcp_wire
from mcp_gen.core.errors import InvalidParams, InvalidRequest, McpError, UsageError
from mcp_gen.core.peer_values import shortened
from mcp_gen.session.peer.log_levels import severity_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_gen.session.peer.session import RequestOrigin
    from mcp_wire.profile import Profile

__all__ = [
    "HandshakeLifecycle",
    "Lifecycle",
    "PerRequestLifecycle",
    "header_mismatch",
    "lifecycle_of",
    "revision_missing",
    "unsupported",
]


class Lifecycle(Protocol):
    """Decides whether a request is admitted, and completes its origin."""

    def admit(self, caller: RequestOrigin, method: str, meta: dict[str, Any] | None) -> None:
        """Check that a request may be made now, and complete its origin from the request.

        Args:
            caller: Origin of the request.
            method: Name of the method.
            meta: `_meta` of the request; None if it has none.

        Raises:
            ProtocolError, McpError: the request is not admitted.
        """
        ...


class HandshakeLifecycle:
    """Admits requests after the `initialize` handshake: revisions until 2025-11-25.

    Args:
        profile: Profile of the revision.
        without: Offered revisions without a handshake.
    """

    def __init__(self, profile: Profile, without: Sequence[str] = ()) -> None:
        self._without = list(without)
        early = (profile.handshake, profile.ping)
        self._early = frozenset(method.name for method in early if method)
        self._handshake = profile.handshake.name if profile.handshake else ""

    def admit(self, caller: RequestOrigin, method: str, meta: dict[str, Any] | None) -> None:
        """Refuse requests before the handshake, except `ping`, and a second handshake.

        Raises:
            InvalidRequest: the request is not admitted.
            McpError: it describes its client, as without a handshake, and names no revision.
        """
        if caller.ready and method == self._handshake:
            raise InvalidRequest(f"`{method}` came twice on one connection")
        if not caller.ready and method not in self._early:
            self._refuse_half_described(method, meta)
            raise InvalidRequest(f"expected `{self._handshake}` first, got `{shortened(method)}`")

    def _refuse_half_described(self, method: str, meta: dict[str, Any] | None) -> None:
        for revision in self._without if meta else ():
            profile = mcp_wire.profile(revision)
            if profile.client_capabilities_key in (meta or {}):
                raise revision_missing(profile, self._without, method)


class PerRequestLifecycle:
    """Admits requests by their `_meta`, which describes the client: revisions from 2026-07-28.

    Args:
        profile: Profile of the revision.
        spoken: Offered revisions of this kind.
    """

    def __init__(self, profile: Profile, spoken: Sequence[str]) -> None:
        self._profile = profile
        self._offered = list(spoken)
        self._known = dict.fromkeys(spoken, True)
        self._version = profile.protocol_version_key or ""
        self._capabilities = profile.client_capabilities_key or ""
        self._info = profile.client_info_key or ""
        self._log_level = profile.log_level_key or ""

    def admit(self, caller: RequestOrigin, method: str, meta: dict[str, Any] | None) -> None:
        """Read revision, capabilities and client info from `_meta`, and check them.

        Raises:
            InvalidParams: the capabilities or the log level are missing or malformed.
            McpError: the revision is missing, not offered, or differs from the one in the headers.
        """
        named: Any = meta.get(self._version) if meta else None
        capabilities: Any = meta.get(self._capabilities) if meta else None
        if meta is None or type(named) is not str:
            raise revision_missing(self._profile, self._offered, method)
        if type(capabilities) is not dict:
            where = f"$.params._meta.{self._capabilities}"
            raise InvalidParams(f"{method}: expected an object - at `{where}`")
        stated = caller.stated_revision
        if stated is not None and stated != named:
            raise header_mismatch(self._profile, "headers and body name different revisions")
        if not self._known.get(named):
            raise unsupported(self._profile, self._offered, named)
        caller.capabilities = capabilities
        caller.client_info = meta.get(self._info)
        caller.ready = True
        if self._log_level in meta:
            self._check_level(method, meta[self._log_level])

    def _check_level(self, method: str, level: object) -> None:
        try:
            severity_of(self._profile, level)
        except UsageError as error:
            where = f"$.params._meta.{self._log_level}"
            raise InvalidParams(f"{method}: {error} - at `{where}`") from None


def revision_missing(profile: Profile, offered: Sequence[str], method: str) -> McpError:
    """Return the error for a request that does not name its revision.

    Args:
        profile: Profile of the revision; it has the key.
        offered: Offered revisions without a handshake. The list tells a client that only knows
            handshakes which revisions it could use instead.
        method: Name of the method.
    """
    return McpError(
        InvalidParams.code,
        f"{shortened(method)}: expected a string, one of {', '.join(offered)} - "
        f"at `$.params._meta.{profile.protocol_version_key}`",
        {"supported": list(offered)},
    )


def header_mismatch(profile: Profile, what: str, data: Any = None) -> McpError:
    """Return the error for headers that do not agree with the body.

    Args:
        profile: Profile of the revision; it has the error code.
        what: Error text.
        data: Error data; None sends none.
    """
    return McpError(profile.errors.header_mismatch or InvalidRequest.code, what, data)


def unsupported(profile: Profile, spoken: Sequence[str], asked: str) -> McpError:
    """Return the error for a protocol version that is not offered.

    Args:
        profile: Profile of the revision to answer at; it has the error code.
        spoken: Offered revisions, listed in the error data.
        asked: Revision that was requested.
    """
    return McpError(
        profile.errors.unsupported_protocol_version or InvalidParams.code,
        f"unsupported protocol version {shortened(asked)!r}",
        {"supported": list(spoken), "requested": shortened(asked)},
    )


def lifecycle_of(profile: Profile, spoken: Sequence[str]) -> Lifecycle:
    """Return the lifecycle of a revision.

    Args:
        profile: Profile of the revision.
        spoken: Offered revisions without a handshake.
    """
    if profile.handshake:
        return HandshakeLifecycle(profile, spoken)
    return PerRequestLifecycle(profile, spoken)
