"""The gate of a protected server: admits requests by their token, and refuses with challenges."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Collection, Mapping
from math import ceil
from typing import Any, cast

import msgspec

from mcp_gen.auth.flows.exchange import FlowRunner
from mcp_gen.auth.proofs.checking import ProofRefused
from mcp_gen.auth.server.admission_log import AdmissionLog
from mcp_gen.auth.server.challenges import Challenger, checked_scopes
from mcp_gen.auth.server.credentials import BadCredentials, read_credentials
from mcp_gen.auth.server.dpop_checks import DpopChecks
from mcp_gen.auth.server.legacy_metadata import SERVER_METADATA, LegacyMetadata
from mcp_gen.auth.server.locations import ResourceLocation, canonical_uri
from mcp_gen.auth.verifiers.configured_urls import check_url
from mcp_gen.auth.verifiers.token_verifier import (
    InvalidToken,
    RequestVerifier,
    TokenVerifier,
    VerifierUnavailable,
)
from mcp_gen.auth.verifiers.verified_tokens import VerifiedTokens
from mcp_gen.core.errors import UsageError
from mcp_gen.core.transport.access_token import AccessToken
from mcp_gen.core.transport.authorizing import Admission, Refusal
from mcp_gen.core.transport.headers import Headers

__all__ = ["ResourceServer"]

MAX_TOKEN_BYTES = 16 * 1024
MAX_CACHED = 10_000
LEEWAY_S = 30.0


class ResourceServer:
    """Protects a server: each request needs a token that was issued for it.

    ```python
    auth = ResourceServer(
        issuer="https://login.example.com",
        audience="https://api.example.com/mcp",
        scopes=["mcp"],
    )
    app = server.asgi(auth=auth)
    ```

    Args:
        issuer: Identifier of the authorization server, or several, exactly as its metadata states
            it. None only with a `verifier` that needs none: clients then learn of no
            authorization server and must have their token from elsewhere.
        audience: What the `aud` of a token must name: the URL of this server as its clients know
            it, or what else the authorization server puts there; or several.
        scopes: Scopes that each request needs. Those of one tool stand at the tool.
        verifier: Verifies tokens, or whole requests; None for a `JwtVerifier` of the issuers.
        dpop: How tokens that are bound to a key are checked. None takes them if the verifier is
            one that knows such tokens.
        resource: URL of this server as its clients know it. None takes the first `audience` that
            is a URL; without one, the URL comes from each request.
        path: Path of the endpoint below the mount; of use where no URL is given.
        metadata_url: URL of the metadata document in challenges; None to derive it.
        allowed_hosts: Hosts that are believed in the header `Host` where no URL is given.
        scopes_supported: Scopes in the metadata; None for `scopes`.
        implied_scopes: For each broad scope the narrower ones that it includes.
        principal: Returns the stable name of who calls. Without it, and where it returns None, that
            is issuer and user, without a user issuer and client.
        leeway_s: Seconds by which clocks may differ.
        cache_s: Longest time, in seconds, that a verified token is remembered; None for that of
            the verifier. A token is never remembered past its end.
        max_cached: The number of tokens that are remembered.
        max_token_bytes: The longest token that is read.
        resource_name: Name of this server, for people.
        documentation: URL of a page for developers.
        legacy_metadata: True to serve the metadata of the (first) issuer from this server, too,
            for clients of 2025-03-26: they look for an authorization server at the origin of the
            server alone. It is a copy, and names the issuer: a strict client refuses a document
            whose issuer is not where it was found.
        fetcher: Fetches what the issuers publish; None for a `Fetcher` with its defaults.
        clock: Returns the time in seconds since 1970.

    Raises:
        UsageError: An option has a value that cannot work.

    Source: https://www.rfc-editor.org/rfc/rfc9728,
        https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization
    """

    def __init__(
        self,
        issuer: str | Collection[str] | None = None,
        *,
        audience: str | Collection[str],
        scopes: Collection[str] = (),
        verifier: TokenVerifier | RequestVerifier | None = None,
        dpop: DpopChecks | None = None,
        resource: str | None = None,
        path: str = "/mcp",
        metadata_url: str | None = None,
        allowed_hosts: Collection[str] = (),
        scopes_supported: Collection[str] | None = None,
        implied_scopes: Mapping[str, Collection[str]] | None = None,
        principal: Callable[[AccessToken], str | None] | None = None,
        leeway_s: float = LEEWAY_S,
        cache_s: float | None = None,
        max_cached: int = MAX_CACHED,
        max_token_bytes: int = MAX_TOKEN_BYTES,
        resource_name: str | None = None,
        documentation: str | None = None,
        legacy_metadata: bool = False,
        fetcher: FlowRunner | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.issuers = (issuer,) if isinstance(issuer, str) else tuple(issuer or ())
        for one in self.issuers:
            check_url("issuer", one)
        self.audiences = frozenset({audience} if isinstance(audience, str) else audience)
        if not self.audiences or "" in self.audiences:
            raise UsageError("audience: expected the URL of this server, as tokens name it")
        self._audiences = frozenset(map(canonical_uri, self.audiences))
        if leeway_s < 0:
            raise UsageError(f"leeway_s={leeway_s!r}: expected 0 or more")
        self.scopes = checked_scopes("scopes", scopes)
        self.leeway_s = leeway_s
        self._fetcher = fetcher
        if verifier is None:
            verifier = self._default_verifier(leeway_s, clock)
        self._verifier = verifier
        self._by_request = verifier if isinstance(verifier, RequestVerifier) else None
        if dpop is None and getattr(verifier, "key_bound", False):
            dpop = DpopChecks()
        self._dpop = dpop
        self._implied = _closure(implied_scopes or {})
        if resource is None:
            named = (audience,) if isinstance(audience, str) else audience
            resource = next((one for one in named if one.startswith(("https:", "http:"))), None)
        self._location = ResourceLocation(
            resource, path, metadata_url=metadata_url, hosts=allowed_hosts
        )
        required = dpop is not None and dpop.required
        algorithms = () if dpop is None else dpop.algorithms
        self._challenger = Challenger(self.scopes, bearer=not required, dpop_algorithms=algorithms)
        supported = self.scopes if scopes_supported is None else scopes_supported
        self._metadata = {
            "authorization_servers": list(self.issuers),
            "scopes_supported": list(checked_scopes("scopes_supported", supported)),
            "bearer_methods_supported": ["header"],
            "resource_name": resource_name,
            "resource_documentation": documentation,
            "dpop_signing_alg_values_supported": list(algorithms),
            "dpop_bound_access_tokens_required": required,
        }
        self._principal = principal
        self._cache_s: float = (
            getattr(verifier, "cache_s", 0.0) if cache_s is None else max(cache_s, 0.0)
        )
        self._max_token_bytes = max_token_bytes
        self._clock = clock
        self._admitted: VerifiedTokens[Admission] = VerifiedTokens(max_cached)
        self._verified: VerifiedTokens[AccessToken] = VerifiedTokens(max_cached)
        self._log = AdmissionLog(clock)
        self._legacy: LegacyMetadata | None = None
        if legacy_metadata:
            if not self.issuers:
                raise UsageError("legacy_metadata: expected an issuer")
            self._legacy = LegacyMetadata(
                self.issuers[0], self._runner, clock, self._log.unavailable
            )

    # --- what transports call ---

    def known(self, scope: Mapping[str, Any], headers: Headers) -> Admission | None:
        """Return the admission of a request whose bearer token was verified before.

        Args:
            scope: The ASGI scope of the request.
            headers: The headers of the request.

        Returns:
            The admission; None if `admit` has to be asked.
        """
        line = headers.raw.get(b"authorization")
        if (
            line is None
            or line[:7] != b"Bearer "
            or len(line) > self._max_token_bytes
            or scope.get("query_string")
        ):
            return None
        return self._admitted.get(line[7:], self._clock())

    async def admit(self, scope: Mapping[str, Any], headers: Headers) -> Admission | Refusal:
        """Verify the credentials of a request.

        Args:
            scope: The ASGI scope of the request.
            headers: The headers of the request.
        """
        try:
            return await self._admit(scope, headers)
        except (InvalidToken, ProofRefused) as error:
            dpop = headers.raw.get(b"authorization", b"")[:5].lower() == b"dpop "
            return self._refuse(scope, 401, str(error), error=error.error, dpop=dpop)
        except VerifierUnavailable as error:
            self._log.unavailable(str(error))
            return _try_later(error.retry_after_s)
        except Exception as error:
            # A verifier of someone else: its message may hold the token.
            at = traceback.extract_tb(error.__traceback__)[-1]
            self._log.unavailable(f"{type(error).__name__} at {at.filename}:{at.lineno}")
            return _try_later(5.0)

    def insufficient(
        self, scope: Mapping[str, Any], missing: Collection[str], admission: Admission
    ) -> Refusal:
        """Return the refusal of an admitted request whose token lacks scopes.

        Args:
            scope: The ASGI scope of the request.
            missing: Scopes that the operation needs and the token has not.
            admission: The admission of the request.
        """
        granted = admission.token.scopes if admission.token is not None else ()
        expected = f"expected a token with the scope {' '.join(sorted(missing))}"
        bound = admission.token is not None and admission.token.key_thumbprint is not None
        return self._refuse(
            scope,
            403,
            expected,
            error="insufficient_scope",
            dpop=bound,
            more=missing,
            granted=granted,
        )

    async def document(self, scope: Mapping[str, Any], path: str) -> bytes | None:
        """Return the metadata document at a path, as JSON; None if there is none.

        Args:
            scope: The ASGI scope of the request.
            path: The path, below the mount of the app.
        """
        if path == SERVER_METADATA and self._legacy is not None:
            return await self._legacy.document()
        if not self.issuers or not self._location.has_metadata(path):
            return None
        document = {"resource": self._location.resource(scope)} | {
            name: value for name, value in self._metadata.items() if value
        }
        return msgspec.json.encode(document)

    async def aclose(self) -> None:
        """Forget the tokens that were verified, and close the verifier and all connections."""
        self._admitted.clear()
        self._verified.clear()
        if self._legacy is not None:
            await self._legacy.aclose()
        close = getattr(self._verifier, "aclose", None)
        if close is not None:
            await close()
        if self._fetcher is not None:
            await self._fetcher.aclose()

    def __repr__(self) -> str:
        return f"ResourceServer({', '.join(self.issuers)}, audience={sorted(self.audiences)!r})"

    # --- checks of a token ---

    async def _admit(self, scope: Mapping[str, Any], headers: Headers) -> Admission | Refusal:
        """Verify the credentials of a request.

        Raises:
            InvalidToken: The token is not one for here and now.
            ProofRefused: The proof of its key is not that of the request.
            VerifierUnavailable: This is not known.
        """
        if self._by_request is not None:
            found = await self._by_request.verify_request(scope)
            if found is None:
                return self._refuse(scope, 401, "expected to know who calls", error=None)
            return self._admission(scope, self._checked(found))
        credentials = read_credentials(scope, headers, self._max_token_bytes)
        if credentials is None:
            return self._refuse(scope, 401, "expected an access token", error=None)
        if isinstance(credentials, BadCredentials):
            error = "invalid_request" if credentials.status == 400 else "invalid_token"
            expected = f"expected {credentials.expected}"
            return self._refuse(scope, credentials.status, expected, error=error)
        key = credentials.token.encode()
        token = self._verified.get(key, self._clock())
        if token is None:
            token = await self._verify(credentials.token)
        dpop = credentials.scheme == "DPoP"
        self._check_binding(scope, token, dpop=dpop)
        admission = self._admission(scope, token)
        if not dpop and isinstance(admission, Admission):
            self._admitted.put(key, admission, self._verified.until(key), self._clock())
        return admission

    def _admission(self, scope: Mapping[str, Any], token: AccessToken) -> Admission | Refusal:
        """Return the admission of a token that is valid; a refusal if it lacks scopes."""
        named = None if self._principal is None else self._principal(token)
        # Nobody is anonymous here: callers without a name would share their sessions.
        principal = token.principal if named is None else named
        if principal is None:
            raise InvalidToken("the token names neither a user nor a client")
        admission = Admission(principal, token)
        missing = set(self.scopes) - token.scopes
        return self.insufficient(scope, missing, admission) if missing else admission

    async def _verify(self, raw: str) -> AccessToken:
        """Return a genuine token for this server that has not ended, and remember it."""
        token = await cast("TokenVerifier", self._verifier).verify(raw)
        now = self._clock()
        if token is None:
            raise InvalidToken("the token is not valid")
        if self.issuers and token.issuer and token.issuer not in self.issuers:
            raise InvalidToken("the token is of another authorization server")
        token = self._checked(token)
        ends, until = token.expires_at, now + self._cache_s
        self._verified.put(raw.encode(), token, until if ends is None else min(until, ends), now)
        return token

    def _checked(self, token: AccessToken) -> AccessToken:
        """Return a token for this server that has not ended, with all scopes that it includes."""
        if "aud" in token.claims and not _names(token.claims["aud"], self._audiences):
            raise InvalidToken("the token is for another audience")
        if token.expires_at is not None and self._clock() >= token.expires_at + self.leeway_s:
            raise InvalidToken("the token has expired")
        if self._implied and not token.scopes.isdisjoint(self._implied):
            return _with_scopes(token, self._implied)
        return token

    def _check_binding(self, scope: Mapping[str, Any], token: AccessToken, *, dpop: bool) -> None:
        """Check that a token is shown as what it is, with its proof if it is bound to a key.

        Raises:
            InvalidToken: It is shown as something else, or not taken here.
            ProofRefused: Its proof is not that of the request.
        """
        if not dpop:
            if token.key_thumbprint is not None:
                raise InvalidToken("the token is bound to a key and was sent as a bearer token")
            if self._dpop is not None and self._dpop.required:
                raise InvalidToken("expected a token that is bound to a key (DPoP)")
            return
        if self._dpop is None:
            raise InvalidToken("expected a bearer token")
        if token.key_thumbprint is None:
            raise InvalidToken("the token is bound to no key: send it as a bearer token")
        proofs = [value for name, value in scope["headers"] if name == b"dpop"]
        url = self._location.request_url(scope)
        self._dpop.check(scope, proofs, token, url, self._clock())

    def _default_verifier(self, leeway_s: float, clock: Callable[[], float]) -> TokenVerifier:
        if not self.issuers:
            raise UsageError("expected an issuer, or a verifier")
        # Loaded for the servers that verify JWTs alone.
        from mcp_gen.auth.verifiers.jwt_verifier import JwtVerifier

        return JwtVerifier(self.issuers, leeway_s=leeway_s, fetcher=self._fetcher, clock=clock)

    def _runner(self) -> FlowRunner:
        if self._fetcher is None:
            # Loads the HTTP client, which a server that fetches nothing need not.
            from mcp_gen.auth.fetching.fetcher import Fetcher

            self._fetcher = Fetcher()
        return self._fetcher

    def _refuse(
        self,
        scope: Mapping[str, Any],
        status: int,
        expected: str,
        *,
        error: str | None,
        dpop: bool = False,
        more: Collection[str] = (),
        granted: Collection[str] = (),
    ) -> Refusal:
        if error is not None:
            # A client without token asks where to get one: that is no event.
            self._log.refused(status, expected)
        url = self._location.metadata_url(scope) if self.issuers else None
        lines = self._challenger.lines(
            url,
            error=error,
            description=expected if error else "",
            dpop=dpop,
            more=more,
            granted=granted,
        )
        if self._dpop is not None and self._dpop.nonces is not None and status == 401:
            nonce = self._dpop.nonces.issue(self._clock())
            lines.append((b"dpop-nonce", nonce.encode("ascii")))
        return Refusal(status, expected, lines)


def _try_later(after_s: float) -> Refusal:
    later = b"%d" % max(1, ceil(after_s))
    message = "the token cannot be verified now: try again later"
    return Refusal(503, message, [(b"retry-after", later)])


def _names(audience: Any, known: frozenset[str]) -> bool:
    items = cast("list[object]", audience) if isinstance(audience, list) else [audience]
    return any(isinstance(one, str) and canonical_uri(one) in known for one in items)


def _closure(implied: Mapping[str, Collection[str]]) -> dict[str, frozenset[str]]:
    """Return for each scope all that it includes, also through others."""
    found: dict[str, frozenset[str]] = {}
    for broad in implied:
        reached, waiting = {broad}, [broad]
        while waiting:
            for narrow in checked_scopes("implied_scopes", implied.get(waiting.pop(), ())):
                if narrow not in reached:
                    reached.add(narrow)
                    waiting.append(narrow)
        found[broad] = frozenset(reached)
    return found


def _with_scopes(token: AccessToken, implied: Mapping[str, frozenset[str]]) -> AccessToken:
    scopes = token.scopes.union(*(implied[one] for one in token.scopes if one in implied))
    return AccessToken(
        token.raw(),
        issuer=token.issuer,
        subject=token.subject,
        client_id=token.client_id,
        scopes=scopes,
        expires_at=token.expires_at,
        claims=token.claims,
        key_thumbprint=token.key_thumbprint,
    )
