"""Verifies access tokens by asking their issuer about each."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from mcp_gen.auth.flows.exchange import Flow, HttpAnswer, Purpose
from mcp_gen.auth.flows.targets import shown_issuer
from mcp_gen.auth.flows.token_requests import ClientAuthentication, post_form
from mcp_gen.auth.proofs.client_assertions import KeyAssertions
from mcp_gen.auth.proofs.keys import SigningKey
from mcp_gen.auth.verifiers.claims import check_audience, check_times, token_of_claims
from mcp_gen.auth.verifiers.configured_urls import check_url
from mcp_gen.auth.verifiers.issuer_documents import read_metadata
from mcp_gen.auth.verifiers.token_verifier import InvalidToken, VerifierUnavailable
from mcp_gen.auth.verifiers.verified_tokens import VerifiedTokens
from mcp_gen.core.errors import AuthError, TransportError, UsageError
from mcp_gen.core.transport.access_token import AccessToken

if TYPE_CHECKING:
    from mcp_gen.auth.flows.exchange import FlowRunner

__all__ = ["IntrospectionVerifier"]

METHODS = ("client_secret_basic", "client_secret_post", "private_key_jwt")
MAX_RETRY_S = 300.0
MAX_INACTIVE = 10_000
USES: Mapping[str, frozenset[str]] = {
    "token_type": frozenset({"bearer", "dpop", "access_token"}),
    "token_use": frozenset({"access", "access_token"}),
    "typ": frozenset({"bearer", "dpop", "at+jwt", "jwt"}),
}
"""Members that tell access tokens from others, such as refresh tokens, which are active as well."""


class IntrospectionVerifier:
    """Verifies tokens by introspection at their issuer (RFC 7662), also those that are no JWTs.

    Each token is asked about once in `cache_s`: a token that is revoked is believed that long.
    `ResourceServer` checks the audience.

    ```python
    verifier = IntrospectionVerifier(
        "https://login.example.com", client_id="files", client_secret=os.environ["SECRET"]
    )
    auth = ResourceServer("https://login.example.com", audience=url, verifier=verifier)
    ```

    Args:
        issuer: The issuer of the tokens.
        client_id: Client id of this server there.
        client_secret: Its secret.
        private_key: In place of a secret a private key (PEM or JWK), for `private_key_jwt`.
        auth_method: Authentication at the endpoint: `client_secret_basic`, `client_secret_post` or
            `private_key_jwt`; None for the one that suits.
        endpoint: URL of the endpoint; None to read it in the metadata of the issuer.
        needs_audience: False to accept tokens of which the issuer tells no audience. Then every
            token of the issuer is accepted, also those of other servers: only for an issuer that
            serves this server alone. It has to tell their kind (`token_type`).
        leeway_s: Seconds by which clocks may differ.
        cache_s: Seconds for which `ResourceServer` remembers an active token.
        inactive_s: Seconds for which it is remembered that a token is not active.
        max_running: Requests to the endpoint at the same time; more are answered with 503.
        fetcher: Sends the requests; None for a `Fetcher` with its defaults.
        clock: Returns the time in seconds since 1970.

    Raises:
        UsageError: An option has a value that cannot work.

    Source: https://www.rfc-editor.org/rfc/rfc7662.html#section-2
    """

    key_bound = True
    """Tokens may be bound to a key (DPoP)."""

    def __init__(
        self,
        issuer: str,
        *,
        client_id: str,
        client_secret: str | None = None,
        private_key: SigningKey | str | bytes | Mapping[str, Any] | None = None,
        auth_method: str | None = None,
        endpoint: str | None = None,
        needs_audience: bool = True,
        leeway_s: float = 30.0,
        cache_s: float = 30.0,
        inactive_s: float = 10.0,
        max_running: int = 100,
        fetcher: FlowRunner | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        check_url("issuer", issuer)
        if endpoint is not None:
            check_url("endpoint", endpoint)
        if (client_secret is None) == (private_key is None):
            raise UsageError("expected either client_secret or private_key")
        if max_running < 1:
            raise UsageError(f"max_running={max_running!r}: expected 1 or more")
        method = auth_method or METHODS[2 if client_secret is None else 0]
        if method not in METHODS or (method == METHODS[2]) != (client_secret is None):
            raise UsageError(
                f"auth_method={method!r}: expected {' or '.join(METHODS[:2])} with a secret, "
                f"{METHODS[2]} with a key"
            )
        signer = None if private_key is None else KeyAssertions(SigningKey.load(private_key))
        self._client = ClientAuthentication(client_id, method, client_secret, signer)
        self.cache_s = cache_s
        self._issuer = issuer
        self._endpoint = endpoint
        self._needs_audience = needs_audience
        self._leeway_s = leeway_s
        self._inactive_s = inactive_s
        self._inactive: VerifiedTokens[bool] = VerifiedTokens(MAX_INACTIVE)
        self._max_running = max_running
        self._running = 0
        self._fetcher = fetcher
        self._clock = clock

    async def verify(self, token: str) -> AccessToken | None:
        """Return what the issuer says of a token; None if it is not active.

        Args:
            token: The token as the client sent it.

        Raises:
            InvalidToken: It is not one for now and for access.
            VerifierUnavailable: The issuer cannot be asked.
        """
        key = token.encode()
        if self._inactive.get(key, self._clock()):
            return None
        claims = await self._ask(token)
        now = self._clock()
        if claims["active"] is not True:
            self._inactive.put(key, True, now + self._inactive_s, now)
            return None
        if claims.get("iss") not in (None, self._issuer):
            raise InvalidToken("the token is of another authorization server")
        for name, allowed in USES.items():
            use = claims.get(name)
            if use is not None and not (isinstance(use, str) and use.lower() in allowed):
                raise InvalidToken("the token is not an access token")
        check_times(claims, now, self._leeway_s)
        if self._needs_audience or claims.get("aud") is not None:
            check_audience(claims)
        elif not claims.keys() & USES.keys():
            # A refresh token may look so.
            raise InvalidToken("neither audience nor kind of the token is told")
        return token_of_claims(token, claims, issuer=self._issuer)

    async def _ask(self, token: str) -> dict[str, Any]:
        """Return the response about a token.

        Raises:
            VerifierUnavailable: There is none.
        """
        if self._running >= self._max_running:
            raise VerifierUnavailable("too many tokens are being introspected", 1.0)
        self._running += 1
        try:
            # The endpoint may be elsewhere than the issuer, if the operator says so.
            configured = self._endpoint or self._issuer
            answer = await self._runner().run(self._flow(token), configured=configured)
        except (AuthError, TransportError) as error:
            raise VerifierUnavailable(str(error)) from None
        finally:
            self._running -= 1
        if answer.status in (400, 401, 403):
            raise VerifierUnavailable(
                f"{shown_issuer(self._issuer)} refuses introspection with status {answer.status}: "
                "check the client_id of this server, its secret and what it may do"
            )
        if answer.status != 200:
            raise VerifierUnavailable(
                f"the introspection endpoint answered with status {answer.status}",
                _retry_s(answer),
            )
        try:
            claims = msgspec.json.decode(answer.body, type=dict[str, Any])
        except (ValueError, RecursionError):
            claims = {}
        if not isinstance(claims.get("active"), bool):
            raise VerifierUnavailable("the introspection response says not whether it is active")
        return claims

    def _flow(self, token: str) -> Flow[HttpAnswer]:
        endpoint = self._endpoint
        if endpoint is None:
            endpoint = (yield from read_metadata(self._issuer)).introspection_endpoint
            if endpoint is None:
                raise AuthError(
                    f"the metadata of {shown_issuer(self._issuer)} has no "
                    "`introspection_endpoint`: give `endpoint`"
                )
        return (
            yield from post_form(
                endpoint,
                Purpose.INTROSPECTION,
                self._issuer,
                self._client,
                {"token": token, "token_type_hint": "access_token"},
                now=self._clock(),
            )
        )

    def _runner(self) -> FlowRunner:
        if self._fetcher is None:
            # Loads the HTTP client, which a server that is given one need not.
            from mcp_gen.auth.fetching.fetcher import Fetcher

            self._fetcher = Fetcher()
        return self._fetcher

    async def aclose(self) -> None:
        """Close the connections."""
        self._inactive.clear()
        if self._fetcher is not None:
            await self._fetcher.aclose()

    def __repr__(self) -> str:
        return f"IntrospectionVerifier({self._issuer}, client_id={self._client.client_id!r})"


def _retry_s(answer: HttpAnswer) -> float:
    said = answer.headers.get("retry-after", "")
    if said.isascii() and said.isdigit() and len(said) < 10:
        return min(float(said), MAX_RETRY_S)
    return 5.0
