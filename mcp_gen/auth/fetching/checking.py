"""Checks where a request goes before it is sent: one resolution, whose addresses are used."""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable, Sequence
from collections.abc import Set as AbstractSet
from typing import TypeAlias

from mcp_gen.auth.fetching.addresses import AddressClass, AddressPolicy, address_class
from mcp_gen.auth.fetching.connecting import Resolver
from mcp_gen.auth.fetching.targets import Target, target_of
from mcp_gen.core.errors import AuthError, TransportError
from mcp_gen.core.transport.addresses import is_loopback

__all__ = ["AddressCheck"]

KNOWN_CLASS_S = 60.0
"""Seconds for which the class of a configured host is remembered."""
MAX_KNOWN_CLASSES = 100
MAX_ADDRESSES = 8
"""Number of addresses of a host that are tried."""

_NUMBER = re.compile(r"(?:.*\.)?(?:0x[0-9a-f]*|[0-9]+)")
"""Hosts that the C library reads as an IPv4 address: their last part is a number."""
Prober: TypeAlias = "Callable[[Target, Sequence[str]], Awaitable[AddressClass | None]]"
"""Connects to an https host and returns the class of its address; see `DirectSender.probe`."""


class AddressCheck:
    """Resolves hosts, and refuses those at addresses that are not allowed.

    Args:
        policy: Which addresses are allowed.
        resolver: Resolves host names.
        probe: Connects to an https host and returns the class of the address; None if its
            certificate was not verified.
        clock: Returns seconds.
    """

    def __init__(
        self,
        policy: AddressPolicy,
        resolver: Resolver,
        probe: Prober,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._policy = policy
        self._resolver = resolver
        self._probe = probe
        self._clock = clock
        self._classes: dict[str, tuple[float, AddressClass]] = {}

    async def addresses(
        self,
        target: Target,
        what: str,
        configured: str | None,
        led_from: AddressClass | None = None,
    ) -> Sequence[str]:
        """Return the addresses that a request may be sent to, in the order to try them.

        One address that is not allowed is enough to refuse the host.

        Args:
            target: The URL of the request.
            what: What is there, for the error.
            configured: The URL that the user or operator configured; None for none.
            led_from: The class of the address that redirected to it; None if none did.

        Raises:
            AuthError: One of the addresses is not allowed.
            TransportError: The host has no address.
        """
        addresses = await self._resolve(target, what)
        classes = set(map(address_class, addresses))
        if target.scheme == "http" and classes != {AddressClass.LOOPBACK}:
            raise AuthError(f"{what}: expected https: {target.host} is not on loopback")
        given = _given(configured)
        allowed = self._allowed(target, given, _known_class(given), led_from)
        hopeless = AddressClass.NEVER in classes or (led_from is not None and classes != {led_from})
        if not classes <= allowed and given is not None and not hopeless:
            allowed = self._allowed(target, given, await self._class_of(given), led_from)
        refused = classes - allowed
        if refused:
            never = AddressClass.NEVER
            raise _refused(target, what, never if never in refused else refused.pop(), led_from)
        return addresses[:MAX_ADDRESSES]

    def literal(self, target: Target, what: str, configured: str | None) -> None:
        """Check what the URL itself tells of the address, where another program resolves names.

        Args:
            target: The URL of the request.
            what: What is there, for the error.
            configured: The URL that the user or operator configured; None for none.

        Raises:
            AuthError: The host is an address, or a name of loopback, that is not allowed.
        """
        found = _literal_class(target.host)
        if found is None:
            return
        given = _given(configured)
        if found not in self._allowed(target, given, _known_class(given), None):
            raise _refused(target, what, found, None)

    def _allowed(
        self,
        target: Target,
        given: Target | None,
        led_by: AddressClass | None,
        led_from: AddressClass | None,
    ) -> AbstractSet[AddressClass]:
        host = None if given is None else given.host
        allowed = self._policy.allowed(target.host, host, led_by)
        return allowed if led_from is None else allowed & {led_from}

    async def _resolve(self, target: Target, what: str) -> Sequence[str]:
        try:
            addresses = await self._resolver(target.host, target.port)
        except (OSError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or "it cannot be resolved"
            raise TransportError(f"{what}: {target.host} has no address: {reason}") from error
        if not addresses:
            raise TransportError(f"{what}: {target.host} has no address")
        return addresses

    async def _class_of(self, given: Target) -> AddressClass | None:
        """Return the class of the configured host's address; None if it cannot be told.

        The owner of a name decides what it resolves to, now and a moment later. So what it
        resolves to counts only if the one who is there has the certificate of the name.
        """
        known = _known_class(given)
        if known is not None:
            return known
        kept = self._classes.get(given.authority)
        if kept is not None and 0 <= self._clock() - kept[0] < KNOWN_CLASS_S:
            return kept[1]
        found = await self._learn(given)
        if found is None:
            return None
        if len(self._classes) >= MAX_KNOWN_CLASSES:
            self._classes.clear()
        self._classes[given.authority] = self._clock(), found
        return found

    async def _learn(self, given: Target) -> AddressClass | None:
        try:
            addresses = await self._resolve(given, given.host)
            classes = set(map(address_class, addresses))
            if AddressClass.NEVER in classes:
                return None
            if classes == {AddressClass.PUBLIC}:
                return AddressClass.PUBLIC
            return await self._probe(given, addresses[:MAX_ADDRESSES])
        except TransportError:
            return None


def _given(configured: str | None) -> Target | None:
    return None if configured is None else target_of(configured, "the configured URL")


def _known_class(given: Target | None) -> AddressClass | None:
    return None if given is None else _literal_class(given.host)


def _literal_class(host: str) -> AddressClass | None:
    """Return the class of a host that is an address or a name of loopback; None for others."""
    if ":" in host:
        return address_class(host)
    if is_loopback(host):
        return AddressClass.LOOPBACK
    return address_class(host) if _NUMBER.fullmatch(host) else None


def _refused(
    target: Target, what: str, found: AddressClass, led_from: AddressClass | None
) -> AuthError:
    # Without the address: names and numbers of a network are not for everyone who sees errors.
    text = f"{what}: {target.host} is at {found.value}"
    if found is AddressClass.NEVER:
        return AuthError(f"{text}: nothing is sent there")
    if led_from is not None:
        return AuthError(f"{text}, and a redirect from {led_from.value} may not lead there")
    return AuthError(
        f"{text}, where a server elsewhere may not lead; if it is meant, allow it: "
        f'allow_hosts=["{target.host}"]'
    )
