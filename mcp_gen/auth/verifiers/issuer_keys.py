"""Public keys of one authorization server: fetched, kept, and fetched again when they rotate."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from msgspec import Struct

from mcp_gen.auth.fetching.caching import fresh_s
from mcp_gen.auth.flows.exchange import FlowRunner
from mcp_gen.auth.proofs.keys import ALGORITHMS, KeyKind, jws, public_part
from mcp_gen.auth.verifiers.issuer_documents import KeySet, read_keys
from mcp_gen.auth.verifiers.token_verifier import VerifierUnavailable
from mcp_gen.core.errors import AuthError, TransportError

if TYPE_CHECKING:
    from mcp_gen.auth.proofs.jws import JoseKey

__all__ = ["IssuerKeys", "KeyTimes", "usable_keys"]

_log = logging.getLogger("mcp_gen.auth")

MAX_KEYS = 100
"""Keys of one issuer that are read."""
MAX_TRIED = 4
"""Keys that are tried for a token that names none."""
MAX_REASON_CHARS = 300
MODULUS_CHARS = range(342, 1367)
"""Length of an RSA modulus in base64url: 2048 to 8192 bits."""


class KeyTimes(Struct, frozen=True):
    """Times of the keys of an issuer, in seconds.

    Args:
        min_age_s: Keys are fresh for at least that long, whatever the headers say.
        default_age_s: Keys are fresh that long if the headers say nothing.
        max_age_s: Keys are fresh for at most that long.
        stale_s: Keys that cannot be fetched again are used for that long after they were fresh.
        retry_s: Keys are fetched at most once in that time, whoever asks for unknown ones.
    """

    min_age_s: float = 60.0
    default_age_s: float = 600.0
    max_age_s: float = 3600.0
    stale_s: float = 6 * 3600.0
    retry_s: float = 10.0


class _Key(NamedTuple):
    key_id: str | None
    kind: KeyKind
    algorithm: str | None
    key: JoseKey


class IssuerKeys:
    """Keys of one issuer.

    One fetch runs at a time. While it runs for keys that are no longer fresh, they are still used.

    Args:
        issuer: The issuer.
        url: Where its keys are; None to read that in its metadata.
        fetcher: Fetches them.
        times: When they are fetched.
        clock: Returns the time in seconds.
    """

    def __init__(
        self,
        issuer: str,
        url: str | None,
        fetcher: Callable[[], FlowRunner],
        times: KeyTimes,
        clock: Callable[[], float],
    ) -> None:
        self._issuer = issuer
        self._url = url
        self._fetcher = fetcher
        self._times = times
        self._clock = clock
        self._keys: Sequence[_Key] | None = None
        self._found: dict[tuple[str | None, str], list[JoseKey]] = {}
        self._fresh_until = float("-inf")
        self._tried_at = float("-inf")
        self._failure = ""
        self._fetching: asyncio.Task[None] | None = None

    def fresh(self, key_id: str | None, algorithm: str) -> Sequence[JoseKey]:
        """Return the keys that a token may be signed with, without waiting; none if unknown.

        Args:
            key_id: The `kid` of the token; None if it has none.
            algorithm: Its `alg`.
        """
        if self._clock() >= self._fresh_until:
            return ()
        return self._found.get((key_id, algorithm)) or self._search(key_id, algorithm)

    async def find(self, key_id: str | None, algorithm: str) -> Sequence[JoseKey]:
        """Return the keys that a token may be signed with; fetch them if they are unknown.

        Args:
            key_id: The `kid` of the token; None if it has none.
            algorithm: Its `alg`.

        Raises:
            VerifierUnavailable: The keys cannot be had.
        """
        now = self._clock()
        stale = now >= self._fresh_until
        usable = now < self._fresh_until + self._times.stale_s
        found = self._search(key_id, algorithm) if usable else ()
        if found and not stale:
            return found
        if found and self._fetching is not None:
            return found
        await self._fetch(anew=not stale)
        usable = self._clock() < self._fresh_until + self._times.stale_s
        if not usable or self._keys is None:
            raise VerifierUnavailable(self._failure, self._times.retry_s)
        return self._search(key_id, algorithm)

    def _search(self, key_id: str | None, algorithm: str) -> Sequence[JoseKey]:
        kind = ALGORITHMS.get(algorithm)
        found = [
            one.key
            for one in self._keys or ()
            if one.kind == kind
            and one.algorithm in (None, algorithm)
            and (key_id is None or one.key_id == key_id)
        ][:MAX_TRIED]
        if found:
            # Bounded: as many entries as there are keys and algorithms, and None.
            self._found[key_id, algorithm] = found
        return found

    async def _fetch(self, *, anew: bool) -> None:
        """Fetch the keys, unless that was tried a moment ago; wait if it is being done."""
        task = self._fetching
        if task is None:
            if 0 <= self._clock() - self._tried_at < self._times.retry_s:
                return
            self._tried_at = self._clock()
            # A task of its own: the request that started it may be cancelled, the others wait.
            task = self._fetching = asyncio.get_running_loop().create_task(self._replace(anew))
        await asyncio.wait([task])
        if task.cancelled():
            raise VerifierUnavailable("the server is about to end")
        task.result()

    async def _replace(self, anew: bool) -> None:
        # The place of the keys is read again with those that are no longer fresh.
        url = self._url
        try:
            flow = read_keys(self._issuer, url, anew=anew)
            found = await self._fetcher().run(flow, configured=url or self._issuer)
            keys = usable_keys(found.keys)
        except (AuthError, TransportError) as error:
            self._fail(str(error))
        else:
            if keys:
                self._keys, self._found, self._failure = keys, {}, ""
                self._fresh_until = self._clock() + self._age_s(found)
            else:
                self._fail("the issuer publishes no key that can verify a signature")
        finally:
            self._fetching = None

    def _fail(self, reason: str) -> None:
        if not self._failure:
            # Once, until it succeeds: while old keys are used, nothing else tells of it.
            shown = ascii(reason[:MAX_REASON_CHARS])[1:-1]
            _log.warning("keys of %s cannot be fetched: %s", self._issuer, shown)
        self._failure = reason

    def _age_s(self, found: KeySet) -> float:
        said = fresh_s(found.headers)
        times = self._times
        wanted = times.default_age_s if said is None else said
        return min(max(wanted, times.min_age_s), times.max_age_s)

    async def aclose(self) -> None:
        """End a fetch that runs."""
        if self._fetching is not None:
            self._fetching.cancel()
            await asyncio.wait([self._fetching])


def usable_keys(jwks: Iterable[Any]) -> list[_Key]:
    """Return the keys of a set that verify signatures; others are left out.

    Args:
        jwks: The JWKs, of which nothing is known.

    Source: https://www.rfc-editor.org/rfc/rfc7517.html#section-4
    """
    found: list[_Key] = []
    for jwk in jwks:
        if len(found) >= MAX_KEYS:
            break
        if isinstance(jwk, dict) and (key := _usable(cast("dict[str, Any]", jwk))):
            found.append(key)
    return found


def _usable(jwk: Mapping[str, Any]) -> _Key | None:
    operations = jwk.get("key_ops", ["verify"])
    if jwk.get("use", "sig") != "sig":
        return None
    if not isinstance(operations, list) or "verify" not in operations:
        return None
    algorithm, key_id = jwk.get("alg"), jwk.get("kid")
    if algorithm is not None and not (isinstance(algorithm, str) and algorithm in ALGORITHMS):
        return None
    try:
        # Symmetric keys have no public part; a private one that slipped in is not read.
        public = public_part(jwk)
        kind = KeyKind(public["kty"], public.get("crv"))
        if kind not in ALGORITHMS.values():
            return None
        if kind.type == "RSA" and len(public["n"]) not in MODULUS_CHARS:
            return None
        key = jws().import_key(public)
    except ValueError:
        return None
    return _Key(key_id if isinstance(key_id, str) else None, kind, algorithm, key)
