"""The provider at which users log in, and what a proxy asks it as its registered client."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit

import msgspec
from msgspec import Struct

from mcp_gen.auth.flows.authorization_code import code_challenge
from mcp_gen.auth.flows.exchange import Flow, FlowRunner, HttpAsk, Purpose
from mcp_gen.auth.flows.metadata import ServerMetadata, read_document
from mcp_gen.auth.flows.targets import require_safe_url, shown_issuer
from mcp_gen.auth.flows.token_requests import (
    ClientAuthentication,
    Tokens,
    choose_auth_method,
    request_tokens,
)
from mcp_gen.auth.verifiers.configured_urls import check_url
from mcp_gen.auth.verifiers.issuer_documents import read_metadata
from mcp_gen.core.errors import AuthError, TransportError, UsageError

__all__ = ["LoginProvider", "ProviderClient", "error_code"]

METHODS = ("client_secret_post", "client_secret_basic")
"""Methods of authentication at the token endpoint, the preferred one first."""
MAX_SUBJECT_CHARS = 255
_ERROR = re.compile(r"[a-z_]{1,64}")


class LoginProvider(Struct, frozen=True, kw_only=True):
    """Provider at which users log in: endpoints that are not given are read in its metadata.

    Args:
        issuer: Its issuer. Without metadata, the URL that names it in the principals of users.
        authorization_endpoint: URL where users log in.
        token_endpoint: URL where codes are exchanged.
        userinfo_endpoint: URL that tells, in JSON, whose an access token is.
        subject_claim: Member of that JSON that never changes and is nobody else's, now or later.
        scopes: Scopes to ask for, of the provider's own.
        parameters: Further parameters of the authorization request, such as `access_type`.
        auth_method: `client_secret_post` or `client_secret_basic`; None for what its metadata
            allows.
        iss_parameter: True if its responses name their issuer (RFC 9207); None for what its
            metadata says.
    """

    issuer: str
    authorization_endpoint: str | None = None
    token_endpoint: str | None = None
    userinfo_endpoint: str | None = None
    subject_claim: str = "sub"
    scopes: tuple[str, ...] = ()
    parameters: Mapping[str, str] = {}
    auth_method: str | None = None
    iss_parameter: bool | None = None


class _Endpoints(Struct, frozen=True):
    """Members of a provider's metadata that are used."""

    authorization_endpoint: str
    token_endpoint: str
    userinfo_endpoint: str | None = None
    token_endpoint_auth_methods_supported: list[str] | None = None
    authorization_response_iss_parameter_supported: bool = False


class ProviderClient:
    """The client of a provider. Its repr has no secret.

    Args:
        provider: The provider.
        client_id: The client that is registered there.
        client_secret: Its secret.
        callback: Its redirect URI.
        identify: Returns the user of an access token; None to ask the userinfo endpoint.
        fetcher: Returns what sends requests.
        clock: Returns the time in seconds since 1970.

    Raises:
        UsageError: An option has a value that cannot work.
    """

    def __init__(
        self,
        provider: LoginProvider,
        client_id: str,
        client_secret: str,
        callback: str,
        identify: Callable[[str], Awaitable[str]] | None,
        fetcher: Callable[[], FlowRunner],
        clock: Callable[[], float],
    ) -> None:
        check_url("upstream", provider.issuer)
        endpoints = (
            provider.authorization_endpoint,
            provider.token_endpoint,
            provider.userinfo_endpoint,
        )
        for endpoint in endpoints:
            if endpoint is not None:
                check_url("endpoint of upstream", endpoint)
        if provider.auth_method not in (None, *METHODS):
            raise UsageError(f"auth_method={provider.auth_method!r}: expected one of {METHODS}")
        if not client_id or not client_secret:
            raise UsageError("expected the client_id and client_secret of the provider's client")
        self._given = provider
        self._client_id = client_id
        self._client_secret = client_secret
        self._callback = callback
        self._identify = identify
        self._fetcher = fetcher
        self._clock = clock
        self._found: _Endpoints | None = None

    @property
    def issuer(self) -> str:
        """Issuer of the provider."""
        return self._given.issuer

    async def authorization_url(self, state: str, verifier: str) -> str:
        """Return the URL that sends a user to the login.

        Args:
            state: A random text that is used once.
            verifier: A random text that is used once; its hash is sent.

        Raises:
            AuthError: The provider cannot be used.
            TransportError: The provider cannot be reached.
        """
        endpoint = (await self._endpoints()).authorization_endpoint
        own = {
            "response_type": "code",
            "client_id": self._client_id,
            "redirect_uri": self._callback,
            "state": state,
            "code_challenge": code_challenge(verifier),
            "code_challenge_method": "S256",
        }
        if self._given.scopes:
            own["scope"] = " ".join(self._given.scopes)
        joint = "&" if urlsplit(endpoint).query else "?"
        return f"{endpoint}{joint}{urlencode({**self._given.parameters, **own})}"

    async def check_issuer(self, iss: str | None) -> None:
        """Check the issuer that a response names.

        Raises:
            AuthError: It is another, or missing where the provider always names it.

        Source: https://www.rfc-editor.org/rfc/rfc9207.html#section-2.4
        """
        always = (await self._endpoints()).authorization_response_iss_parameter_supported
        if iss is None and not always:
            return
        if iss != self.issuer:
            raise AuthError(
                f"a response of the provider was refused: expected `iss` to be "
                f"{shown_issuer(self.issuer)}, got {'none' if iss is None else 'another'}"
            )

    async def exchange(self, code: str, verifier: str) -> Tokens:
        """Exchange a code for tokens.

        Args:
            code: The code.
            verifier: What `authorization_url` had.

        Raises:
            AuthError: The provider refuses.
            TransportError: The provider cannot be reached.
        """
        return await self._tokens(
            {
                "grant_type": "authorization_code",
                "code": code,
                "redirect_uri": self._callback,
                "code_verifier": verifier,
            }
        )

    async def refresh(self, refresh_token: str) -> Tokens:
        """Exchange a refresh token for new tokens.

        Raises:
            AuthError: The provider refuses: with `invalid_grant`, the user has to log in again.
            TransportError: The provider cannot be reached.
        """
        return await self._tokens({"grant_type": "refresh_token", "refresh_token": refresh_token})

    async def subject(self, access_token: str) -> str:
        """Return the user that an access token is of.

        Raises:
            AuthError: The provider does not say.
            TransportError: The provider cannot be reached.
        """
        if self._identify is not None:
            found: object = await self._identify(access_token)
        else:
            url = (await self._endpoints()).userinfo_endpoint
            if url is None:
                raise AuthError(
                    f"the provider {shown_issuer(self.issuer)} has no userinfo endpoint: give "
                    "`userinfo_endpoint`, or `identify`"
                )
            found = await self._fetcher().run(
                _subject(url, access_token, self._given.subject_claim), configured=self.issuer
            )
        # Numbers are numbers of users; True and 1.0 would be somebody else's.
        text = str(found) if type(found) in (str, int) else ""
        if not 0 < len(text) <= MAX_SUBJECT_CHARS:
            raise AuthError(
                f"the provider {shown_issuer(self.issuer)} names no user: expected a text or a "
                f"number of at most {MAX_SUBJECT_CHARS} characters (`subject_claim`, `identify`)"
            )
        return text

    async def _tokens(self, form: Mapping[str, str]) -> Tokens:
        endpoints = await self._endpoints()
        method = self._given.auth_method or choose_auth_method(
            endpoints.token_endpoint_auth_methods_supported, METHODS
        )
        if method is None:
            raise AuthError(
                f"the provider {shown_issuer(self.issuer)} takes no client secrets: expected one "
                f"of {', '.join(METHODS)} in its metadata"
            )
        server = ServerMetadata(self.issuer, token_endpoint=endpoints.token_endpoint)
        client = ClientAuthentication(self._client_id, method, self._client_secret)
        flow = request_tokens(server, client, form, now=self._clock())
        return await self._fetcher().run(flow, configured=self.issuer)

    async def _endpoints(self) -> _Endpoints:
        if self._found is None:
            self._found = await self._find_endpoints()
        return self._found

    async def _find_endpoints(self) -> _Endpoints:
        given = self._given
        members = {
            name: value
            for name, value in (
                ("authorization_endpoint", given.authorization_endpoint),
                ("token_endpoint", given.token_endpoint),
                ("userinfo_endpoint", given.userinfo_endpoint),
                ("authorization_response_iss_parameter_supported", given.iss_parameter),
            )
            if value is not None
        }
        document: Mapping[str, Any] = {}
        if not {"authorization_endpoint", "token_endpoint"} <= members.keys():
            flow = read_metadata(given.issuer)
            document = (await self._fetcher().run(flow, configured=given.issuer)).document
        try:
            found = msgspec.convert({**document, **members}, _Endpoints)
        except msgspec.ValidationError as error:
            raise AuthError(
                f"the metadata of the provider {shown_issuer(given.issuer)} is not as expected: "
                f"{error}"
            ) from None
        for endpoint in (found.authorization_endpoint, found.token_endpoint):
            require_safe_url(endpoint, f"an endpoint of {shown_issuer(given.issuer)}")
        return found

    def __repr__(self) -> str:
        return f"ProviderClient({self.issuer!r}, client_id={self._client_id!r})"


def error_code(text: str) -> str:
    """Return the error code of a response, or a name for what is none."""
    return text if _ERROR.fullmatch(text) else "an unknown error"


def _subject(url: str, access_token: str, claim: str) -> Flow[object]:
    headers = {
        "accept": "application/json",
        "authorization": f"Bearer {access_token}",
        # GitHub refuses requests without.
        "user-agent": "mcp-gen",
    }
    answer = yield HttpAsk("GET", url, Purpose.USERINFO, headers)
    if answer.status >= 500 or answer.status == 429:
        raise TransportError(
            f"the userinfo endpoint {shown_issuer(url)} answered with status {answer.status}"
        )
    if answer.status != 200:
        raise AuthError(
            f"the userinfo endpoint {shown_issuer(url)} answered with status {answer.status}: "
            "expected 200; check the scopes",
            "invalid_token" if answer.status in (401, 403) else None,
        )
    return read_document(answer, dict[str, Any], Purpose.USERINFO.value).get(claim)
