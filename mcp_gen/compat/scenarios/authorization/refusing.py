"""Scenarios in which a client has to give up, or to begin anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_gen.compat.checks.found import NotTested
from mcp_gen.compat.reference.http.exchanges import EndpointResponse
from mcp_gen.compat.scenarios.authorization.granting import (
    DEFAULT_PATHS,
    GrantsTokens,
    as_json,
)
from mcp_gen.compat.scenarios.authorization.steps import (
    asked,
    ends_of,
    fetched,
    going_for_tokens,
)
from mcp_gen.compat.scenarios.scenario import scenario

if TYPE_CHECKING:
    from mcp_gen.compat.checks.client_run import ClientRun
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.json_values import Json
    from mcp_gen.compat.reference.http.exchanges import EndpointRequest

FIRST, SECOND = "/first", "/second"
OTHER_ISSUER = "https://other.example"


# --- giving up ---


def nothing_is_sent(run: ClientRun, found: Found, id: str, expected: str, *names: str) -> None:
    """Judge a run in which a client has to stop before some requests."""
    steps = going_for_tokens(run, id)
    if not fetched(steps):
        raise NotTested("the client asked for no metadata")
    found.saw()
    for one in asked(steps, *names)[:1]:
        found.broken(expected, f"there was a request: {one.name}", one.event)


ISSUER = "authorization:client:server-metadata:issuer"
ADVERTISED = "authorization:client:pkce:advertised"


def foreign_metadata_are_not_used(run: ClientRun, found: Found) -> None:
    nothing_is_sent(run, found, ISSUER, "metadata of another issuer are not used")


@scenario(ISSUER, foreign_metadata_are_not_used, is_exact=False)
class HasForeignMetadata(GrantsTokens):
    """Has metadata of another issuer."""

    def server_metadata(self, request: EndpointRequest) -> Json:
        """Return metadata that name another issuer."""
        return {**super().server_metadata(request), "issuer": OTHER_ISSUER}


def pkce_has_to_be_offered(run: ClientRun, found: Found) -> None:
    expected = "a client goes on only where the metadata offer S256"
    nothing_is_sent(run, found, ADVERTISED, expected, "authorize", "token")


@scenario(ADVERTISED, pkce_has_to_be_offered, is_exact=False)
class OffersNoProof(GrantsTokens):
    """Does not say in its metadata that it knows PKCE."""

    def server_metadata(self, request: EndpointRequest) -> Json:
        """Return metadata without the methods of PKCE."""
        found = super().server_metadata(request)
        del found["code_challenge_methods_supported"]
        return found


REFUSED = "authorization:client:registration:refused"


def a_refused_registration_is_the_end(run: ClientRun, found: Found) -> None:
    steps = going_for_tokens(run, REFUSED)
    if not asked(steps, "register"):
        raise NotTested("the client did not register itself")
    found.saw()
    expected = "a client that is not registered ends with an error that says so"
    ended = run.run_of(REFUSED).ended
    for one in asked(steps, "authorize")[:1]:
        found.broken(expected, "it went on without an id", one.event)
    if ended.hung or ended.well:
        found.broken(expected, str(ended), *ends_of(steps))


@scenario(REFUSED, a_refused_registration_is_the_end, is_exact=False)
class RefusesRegistrations(GrantsTokens):
    """Registers nobody, and says why."""

    def register(self, request: EndpointRequest) -> EndpointResponse:
        """Refuse a registration."""
        super().register(request)
        why = "redirects to this machine are not for web applications"
        return as_json({"error": "invalid_redirect_uri", "error_description": why}, 400)

    def server_metadata(self, request: EndpointRequest) -> Json:
        """Return metadata that offer no other way."""
        found = super().server_metadata(request)
        del found["client_id_metadata_document_supported"]
        return found


# --- responses ---


def no_code_is_sent(run: ClientRun, found: Found, id: str, expected: str) -> None:
    """Judge a run whose authorization response is not to be trusted."""
    steps = going_for_tokens(run, id)
    if not asked(steps, "authorize"):
        raise NotTested("the client did not ask for authorization")
    found.saw()
    for one in asked(steps, "token")[:1]:
        found.broken(expected, "the code was sent to the token endpoint", one.event)


ISS, EXACT, STATE = (f"authorization:client:{one}" for one in ("iss", "iss:exact", "state"))


def another_issuer_gets_no_code(run: ClientRun, found: Found) -> None:
    no_code_is_sent(run, found, ISS, "a response of another issuer is dropped")


@scenario(ISS, another_issuer_gets_no_code, is_exact=False)
class AnswersForAnother(GrantsTokens):
    """Answers an authorization request in the name of another issuer."""

    def response(self, request: EndpointRequest, params: dict[str, str]) -> dict[str, str]:
        """Return the response with another issuer."""
        return {**params, "iss": OTHER_ISSUER}


def issuers_are_not_normalized(run: ClientRun, found: Found) -> None:
    no_code_is_sent(run, found, EXACT, "an issuer that differs in one letter is another one")


@scenario(EXACT, issuers_are_not_normalized, is_exact=False)
class WritesItsIssuerOtherwise(GrantsTokens):
    """Answers an authorization request with a slash behind its issuer."""

    def response(self, request: EndpointRequest, params: dict[str, str]) -> dict[str, str]:
        """Return the response with another spelling."""
        return {**params, "iss": f"{params['iss']}/"}


def a_wrong_state_is_dropped(run: ClientRun, found: Found) -> None:
    steps = going_for_tokens(run, STATE)
    for one in asked(steps, "authorize"):
        if not one.said.get("state"):
            found.broken("an authorization request has a `state`", "it has none", one.event)
            return
    no_code_is_sent(run, found, STATE, "a response with another state is dropped")


@scenario(STATE, a_wrong_state_is_dropped, is_exact=False)
class MixesUpStates(GrantsTokens):
    """Answers an authorization request with the state of another one."""

    def response(self, request: EndpointRequest, params: dict[str, str]) -> dict[str, str]:
        """Return the response with another state."""
        return {**params, "state": "the-state-of-another"}


# --- another issuer ---


BOUND = "authorization:client:bound-credentials"


def credentials_stay_with_their_issuer(run: ClientRun, found: Found) -> None:
    steps = going_for_tokens(run, BOUND)
    later = [one for one in asked(steps) if one.said["path"].startswith(SECOND)]
    if not later:
        raise NotTested("the client did not go to the other authorization server")
    found.saw()
    for one in later:
        if one.said.get("client_id", "").endswith(FIRST):
            expected = "a client registers itself with another issuer anew"
            found.broken(expected, "it used the id of the first one", one.event)
            return


@scenario(BOUND, credentials_stay_with_their_issuer, is_exact=False)
class ChangesItsIssuer(GrantsTokens):
    """Has another authorization server from the second request with a token on."""

    after = 2
    seen = 0

    @property
    def issuer_path(self) -> str:  # type: ignore[override]
        """Path of the issuer of now."""
        return FIRST if self.seen < self.after else SECOND

    def refusal(self, request: EndpointRequest, token: str) -> EndpointResponse | None:
        """Refuse tokens of the first issuer after some requests."""
        self.seen += token in self.scopes
        if self.seen == self.after:
            self.seen += 1
            self.scopes.clear()
        return super().refusal(request, token)

    def is_endpoint(self, path: str) -> bool:
        """Return True for endpoints of both."""
        base = next((one for one in (FIRST, SECOND) if path.startswith(one)), "")
        return path.removeprefix(f"{base}/oauth") in DEFAULT_PATHS

    def client_id(self, request: EndpointRequest) -> str:
        """Return an id that ends with the path of its issuer."""
        return f"client-of{request.path.partition('/oauth')[0]}"
