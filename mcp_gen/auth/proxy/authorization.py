"""Endpoints that a browser visits: the request of a client, consent, and the way back."""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable, Collection
from typing import NamedTuple
from urllib.parse import urlencode, urlsplit

from msgspec import Struct

from mcp_gen.auth.flows.targets import resource_of
from mcp_gen.auth.proxy.clients import ProxyClients, is_loopback_redirect, shown_host
from mcp_gen.auth.proxy.grants import GrantBook
from mcp_gen.auth.proxy.login_provider import ProviderClient, error_code
from mcp_gen.auth.proxy.pages import consent_page, error_page
from mcp_gen.auth.proxy.proxy_store import LOGINS, ProxyStore
from mcp_gen.auth.proxy.sealing import ProxyKeys, digest, random_text
from mcp_gen.auth.proxy.web import EndpointRefusal, WebReply, WebRequest
from mcp_gen.core.errors import AuthError, TransportError

__all__ = ["AuthorizationPages", "ProxyTerms"]

CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")
STATE = re.compile(r"[ -~]{1,2048}")
TICKETS = "consent"
BROWSERS = "browser"
BROWSER_S = 86_400.0


class ProxyTerms(NamedTuple):
    """Facts of a proxy that all its endpoints share.

    Args:
        issuer: Its issuer, and what the URLs of its endpoints begin with.
        resource: URL of the server.
        name: Name of the server, for users.
        scopes: Scopes of a request that asks for none.
        known_scopes: Scopes that are granted.
        login_s: Seconds that a user has for the login.
        clock: Returns the time in seconds since 1970.
        failed: Takes the reason of a failure of the provider, for the log.
    """

    issuer: str
    resource: str
    name: str
    scopes: tuple[str, ...]
    known_scopes: Collection[str]
    login_s: float
    clock: Callable[[], float]
    failed: Callable[[str], None]

    def is_own_resource(self, given: str) -> bool:
        """Return True if a `resource` parameter is that of the server."""
        try:
            return resource_of(given) == resource_of(self.resource)
        except AuthError:
            return False


class _Asked(Struct, frozen=True, array_like=True):
    """An authorization request that was checked."""

    client_id: str
    redirect_uri: str
    state: str | None
    challenge: str
    scopes: tuple[str, ...]


class _Ticket(Struct, frozen=True, array_like=True):
    """Hidden field of a consent form: the request, and the browser that was asked."""

    asked: _Asked
    browser: str
    until: float


class _Login(Struct, frozen=True):
    """A login at the provider that is under way."""

    asked: _Asked
    browser: str
    verifier: str
    until: float


class _Browser(Struct, frozen=True, array_like=True):
    salt: str
    until: float


class AuthorizationPages:
    """Leads a user from a client to the provider and back.

    Each request is shown to the user, who has to allow it, before anything goes to the provider:
    the provider knows one client alone, and may let it pass without a question. Consent is not
    remembered. The consent form and the response of the provider are bound to the browser by a
    cookie.

    Args:
        terms: The proxy.
        keys: Signs tickets and cookies, encrypts logins.
        store: Has the logins that are under way.
        clients: The clients.
        provider: The provider.
        grants: Takes what came of a login.

    Source: https://modelcontextprotocol.io/docs/tutorials/security/security_best_practices#confused-deputy-problem
    """

    def __init__(
        self,
        terms: ProxyTerms,
        keys: ProxyKeys,
        store: ProxyStore,
        clients: ProxyClients,
        provider: ProviderClient,
        grants: GrantBook,
    ) -> None:
        self._terms = terms
        self._keys = keys
        self._store = store
        self._clients = clients
        self._provider = provider
        self._grants = grants
        parts = urlsplit(terms.issuer)
        self._origin = f"{parts.scheme}://{parts.netloc}"
        self._secure = parts.scheme == "https"
        # The prefix keeps other hosts of the same site from setting the cookie.
        self.cookie_name = "__Host-mcp-login" if self._secure else "mcp-login"

    async def authorize(self, request: WebRequest) -> WebReply:
        """Answer the request of a client with the question for consent."""
        try:
            params = request.params()
            client = self._clients.find(params.get("client_id", ""))
            if client is None:
                raise EndpointRefusal(
                    "invalid_request", "the application is not registered here: it has to register"
                )
            redirect_uri = params.get("redirect_uri", "")
            if not client.redirects_to(redirect_uri):
                raise EndpointRefusal(
                    "invalid_request", "the application has not registered this redirect_uri"
                )
        except EndpointRefusal as refusal:
            return error_page(refusal.description)
        try:
            asked = self._checked(params, redirect_uri)
        except EndpointRefusal as refusal:
            return self._refused(redirect_uri, params.get("state"), refusal)
        now = self._terms.clock()
        browser, cookie = self._browser(request), None
        if browser is None:
            browser = self._keys.sign(BROWSERS, _Browser(random_text(), now + BROWSER_S))
            cookie = self._set_cookie(browser)
        ticket = _Ticket(asked, digest(browser), now + self._terms.login_s)
        return consent_page(
            server=self._terms.name,
            client=client.name,
            host=shown_host(redirect_uri),
            redirect_uri=redirect_uri,
            resource=self._terms.resource,
            scopes=asked.scopes,
            provider=shown_host(self._provider.issuer),
            action=f"{self._terms.issuer}/consent",
            ticket=self._keys.sign(TICKETS, ticket),
            cookie=cookie,
        )

    async def consent(self, request: WebRequest) -> WebReply:
        """Answer the form of the consent page: on to the provider, or back to the client."""
        try:
            form = request.form()
            if request.headers.get("origin", self._origin) != self._origin:
                raise EndpointRefusal("invalid_request", "expected the form of this server", 403)
            ticket = self._keys.read(TICKETS, form.get("ticket", ""), _Ticket)
            if ticket is None or self._terms.clock() >= ticket.until:
                raise EndpointRefusal("invalid_request", "this page is too old")
            if not self._is_browser(request, ticket.browser):
                raise EndpointRefusal("invalid_request", "the page was for another browser", 403)
        except EndpointRefusal as refusal:
            return error_page(refusal.description, refusal.status)
        asked = ticket.asked
        if form.get("decision") != "allow":
            return self._answer(asked, error="access_denied")
        state, verifier = random_text(), random_text()
        try:
            url = await self._provider.authorization_url(state, verifier)
        except (AuthError, TransportError) as error:
            self._terms.failed(str(error))
            return self._answer(asked, error="temporarily_unavailable")
        until = self._terms.clock() + self._terms.login_s
        login = self._keys.seal(_Login(asked, ticket.browser, verifier, until))
        await self._store.add(LOGINS, digest(state), login, until)
        return _redirect(url)

    async def callback(self, request: WebRequest) -> WebReply:
        """Answer the response of the provider: back to the client, with a code of the proxy."""
        try:
            params = request.params()
            login = await self._login(request, params.get("state", ""))
        except EndpointRefusal as refusal:
            return error_page(refusal.description, refusal.status)
        asked = login.asked
        try:
            await self._provider.check_issuer(params.get("iss"))
            if "error" in params:
                code = error_code(params["error"])
                if code != "access_denied":
                    self._terms.failed(f"the provider refused a login: {code}")
                return self._answer(
                    asked, error=code if code == "access_denied" else "server_error"
                )
            if "code" not in params:
                raise AuthError("the provider sent a user back without a code")
            upstream = await self._provider.exchange(params["code"], login.verifier)
            subject = await self._provider.subject(upstream.access_token)
        except (AuthError, TransportError) as error:
            self._terms.failed(str(error))
            return self._answer(asked, error="server_error")
        except Exception as error:
            # A function of someone else: its message may hold the token.
            self._terms.failed(f"a user was not identified: {type(error).__name__}")
            return self._answer(asked, error="server_error")
        code = await self._grants.begin(
            client_id=asked.client_id,
            subject=subject,
            resource=self._terms.resource,
            scopes=asked.scopes,
            redirect_uri=asked.redirect_uri,
            challenge=asked.challenge,
            upstream=upstream,
        )
        return self._answer(asked, code=code)

    def _checked(self, params: dict[str, str], redirect_uri: str) -> _Asked:
        """Return a request after its checks.

        Raises:
            EndpointRefusal: It is refused.
        """
        if params.get("response_type") != "code":
            raise EndpointRefusal("unsupported_response_type", "expected response_type=code")
        if params.get("code_challenge_method") != "S256" or not CHALLENGE.fullmatch(
            params.get("code_challenge", "")
        ):
            raise EndpointRefusal(
                "invalid_request", "expected code_challenge with code_challenge_method=S256"
            )
        # Clients of the first revision send none; a token is for this server in any case.
        if not self._terms.is_own_resource(params.get("resource", self._terms.resource)):
            raise EndpointRefusal("invalid_target", "expected the resource to be this server")
        wanted = list(dict.fromkeys(params.get("scope", "").split()))
        scopes = tuple(one for one in wanted if one in self._terms.known_scopes)
        if wanted and not scopes:
            raise EndpointRefusal("invalid_scope", "expected scopes of this server")
        state = params.get("state")
        if state is not None and not STATE.fullmatch(state):
            raise EndpointRefusal(
                "invalid_request", "expected a state of at most 2048 printable ASCII characters"
            )
        return _Asked(
            params["client_id"],
            redirect_uri,
            state,
            params["code_challenge"],
            scopes or self._terms.scopes,
        )

    async def _login(self, request: WebRequest, state: str) -> _Login:
        """Return the login of a response, which is then used up.

        Raises:
            EndpointRefusal: There is none, or it is of another browser.
        """
        key = digest(state)
        raw = await self._store.get(LOGINS, key)
        login = None if raw is None else self._keys.unseal(raw, _Login)
        if login is not None and not self._is_browser(request, login.browser):
            raise EndpointRefusal("invalid_request", "the login was begun in another browser", 403)
        # Of two that race, one takes it.
        if (
            login is None
            or self._terms.clock() >= login.until
            or await self._store.take(LOGINS, key) != raw
        ):
            raise EndpointRefusal("invalid_request", "the login is too old, or was used already")
        return login

    def _browser(self, request: WebRequest) -> str | None:
        """Return the cookie of a browser; None if it has none that lasts for a login."""
        value = request.cookie(self.cookie_name) or ""
        found = self._keys.read(BROWSERS, value, _Browser)
        needed = self._terms.clock() + 2 * self._terms.login_s
        return value if found is not None and found.until >= needed else None

    def _is_browser(self, request: WebRequest, expected: str) -> bool:
        value = request.cookie(self.cookie_name) or ""
        found = self._keys.read(BROWSERS, value, _Browser)
        return (
            found is not None
            and self._terms.clock() < found.until
            and hmac.compare_digest(digest(value), expected)
        )

    def _set_cookie(self, value: str) -> str:
        # Lax: the way back from the provider is a navigation from another site.
        secure = "; Secure" if self._secure else ""
        return (
            f"{self.cookie_name}={value}; Path=/; Max-Age={BROWSER_S:.0f}; HttpOnly; SameSite=Lax"
            f"{secure}"
        )

    def _refused(self, redirect_uri: str, state: str | None, refusal: EndpointRefusal) -> WebReply:
        """Tell a client what is wrong with its request.

        Everybody may register: without the user this server leads to no other host.
        """
        url = self._response_url(
            redirect_uri, state, error=refusal.code, error_description=refusal.description
        )
        if is_loopback_redirect(redirect_uri):
            return _redirect(url)
        return error_page(refusal.description, link=(shown_host(redirect_uri), url))

    def _answer(self, asked: _Asked, **params: str) -> WebReply:
        return _redirect(self._response_url(asked.redirect_uri, asked.state, **params))

    def _response_url(self, redirect_uri: str, state: str | None, **params: str) -> str:
        known = {**params, "iss": self._terms.issuer}
        if state is not None:
            known["state"] = state
        joint = "&" if "?" in redirect_uri else "?"
        return f"{redirect_uri}{joint}{urlencode(known)}"


def _redirect(url: str) -> WebReply:
    # 303: nothing of a form is posted to the next page.
    headers = {"location": url, "cache-control": "no-store", "referrer-policy": "no-referrer"}
    return WebReply(303, headers)
