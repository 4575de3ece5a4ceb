"""How a peer comes to be asked anything: after a handshake, or with every request.

Two strategies, picked from the profile once. Whether there is a third revision, or a tenth, nothing
below asks again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from mcp_gen.core.errors import InvalidParams, InvalidRequest, McpError, UsageError
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
    "unsupported",
]


class Lifecycle(Protocol):
    """Decides whether a request may be made now, and by whom it is made."""

    def admit(self, caller: RequestOrigin, method: str, meta: dict[str, Any] | None) -> None:
        """Complete the caller from the request.

        Raises:
            ProtocolError, McpError: the request has no place here.
        """
        ...


class HandshakeLifecycle:
    """What the client is was said in the handshake: until 2025-11-25."""

    def __init__(self, profile: Profile) -> None:
        early = (profile.handshake, profile.ping)
        self._early = frozenset(method.name for method in early if method)
        self._handshake = profile.handshake.name if profile.handshake else ""

    def admit(self, caller: RequestOrigin, method: str, meta: dict[str, Any] | None) -> None:
        """Refuse what comes before the handshake, or a second one."""
        if caller.ready and method == self._handshake:
            raise InvalidRequest(f"`{method}` came twice on one connection")
        if not caller.ready and method not in self._early:
            raise InvalidRequest(f"expected `{self._handshake}` first, got `{method}`")


class PerRequestLifecycle:
    """What the client is stands in the `_meta` of every request: from 2026-07-28."""

    def __init__(self, profile: Profile, spoken: Sequence[str]) -> None:
        self._profile = profile
        self._spoken = list(spoken)
        self._known = dict.fromkeys(spoken, True)
        self._version = profile.protocol_version_key or ""
        self._capabilities = profile.client_capabilities_key or ""
        self._info = profile.client_info_key or ""
        self._log_level = profile.log_level_key or ""

    def admit(self, caller: RequestOrigin, method: str, meta: dict[str, Any] | None) -> None:
        """Read who asks; refuse a request that does not say so, or names another revision."""
        named: Any = meta.get(self._version) if meta else None
        capabilities: Any = meta.get(self._capabilities) if meta else None
        if meta is None or type(named) is not str:
            raise self._revision_missing(method)
        if type(capabilities) is not dict:
            where = f"$.params._meta.{self._capabilities}"
            raise InvalidParams(f"{method}: expected an object - at `{where}`")
        stated = caller.stated_revision
        if stated is not None and stated != named:
            raise header_mismatch(self._profile, "headers and body name different revisions")
        if not self._known.get(named):
            raise unsupported(self._profile, self._spoken, named)
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

    def _revision_missing(self, method: str) -> McpError:
        # A client that knows nothing but handshakes learns from this what it could speak instead.
        return McpError(
            InvalidParams.code,
            f"{method}: expected a string, one of {', '.join(self._spoken)} - "
            f"at `$.params._meta.{self._version}`",
            {"supported": self._spoken},
        )


def header_mismatch(profile: Profile, what: str, data: Any = None) -> McpError:
    """The error where headers and body do not agree."""
    return McpError(profile.errors.header_mismatch or InvalidRequest.code, what, data)


def unsupported(profile: Profile, spoken: Sequence[str], asked: str) -> McpError:
    """The error where a revision is asked for that is not offered; `spoken` are those that are."""
    return McpError(
        profile.errors.unsupported_protocol_version or InvalidParams.code,
        f"unsupported protocol version {asked!r}",
        {"supported": list(spoken), "requested": asked},
    )


def lifecycle_of(profile: Profile, spoken: Sequence[str]) -> Lifecycle:
    """The strategy of a revision; `spoken` are the revisions of its kind that are offered."""
    if profile.handshake:
        return HandshakeLifecycle(profile)
    return PerRequestLifecycle(profile, spoken)
