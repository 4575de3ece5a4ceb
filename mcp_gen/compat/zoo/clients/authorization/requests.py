"""Clients with a fault in what they ask for or in how they use a token, and their twins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar
from urllib.parse import urlsplit

from mcp_gen.compat.json_values import Json
from mcp_gen.compat.reference.client_script import ScriptFailure
from mcp_gen.compat.zoo.clients.authorization.authorizing import Authorizes
from mcp_gen.compat.zoo.clients.http import wire_of
from mcp_gen.compat.zoo.zoo import breaks, keeps

# --- registration ---


class _NamedByUrl(Authorizes):
    """Names itself by the URL of a metadata document, where that is taken."""

    document_url: ClassVar[str] = ""

    async def client_id(self, server: Json) -> str:
        if server.get("client_id_metadata_document_supported"):
            return self.document_url
        return await super().client_id(server)


@breaks("authorization:client:metadata-document:url")
class NamedByAnOrigin(_NamedByUrl):
    """Names itself by a URL without a path."""

    document_url = "https://zoo.example"


@keeps("authorization:client:metadata-document:url")
class NamedByADocument(_NamedByUrl):
    """Names itself by the shortest URL that there is."""

    document_url = "https://zoo.example/c"


@breaks("authorization:client:registration")
class BringsItsOwnId(Authorizes):
    """Makes up its id, and registers itself nowhere."""

    async def client_id(self, server: Json) -> str:
        return f"zoo-{urlsplit(str(server['issuer'])).path.strip('/')}"


@keeps("authorization:client:registration")
class RegistersTwice(Authorizes):
    """Registers itself once more before it goes on."""

    async def client_id(self, server: Json) -> str:
        await super().client_id(server)
        self.client_ids.pop(server["issuer"])
        return await super().client_id(server)


@breaks("authorization:client:registration:refused")
class GoesOnUnregistered(Authorizes):
    """Says that all went well where it was not registered."""

    async def run(self) -> None:
        try:
            await super().run()
        except ScriptFailure as failure:
            if "registration" not in str(failure):
                raise


@keeps("authorization:client:registration:refused")
class RegistersOnceMore(Authorizes):
    """Tries to register itself a second time before it gives up."""

    async def client_id(self, server: Json) -> str:
        try:
            return await super().client_id(server)
        except ScriptFailure:
            return await super().client_id(server)


@breaks("authorization:client:application-type")
class HasNoType(Authorizes):
    """Does not say what kind of application it is."""

    def registration(self) -> Json:
        return {key: one for key, one in super().registration().items() if key[-4:] != "type"}


@keeps("authorization:client:application-type")
class IsOfTheWeb(Authorizes):
    """Is an application of the web."""

    redirect_uri = "https://zoo.example/callback"

    def registration(self) -> Json:
        return {**super().registration(), "application_type": "web"}


@breaks("authorization:client:redirects")
class RedirectsToAnywhere(Authorizes):
    """Has its user sent back over a network in the clear."""

    redirect_uri = "http://zoo.example/callback"


@keeps("authorization:client:redirects")
class ListensAtAnotherPort(Authorizes):
    """Is sent back to another port of this machine than it has registered."""

    redirect_uri = "http://127.0.0.1:3999/callback"

    def registration(self) -> Json:
        uri = self.redirect_uri.replace("3999", "3998")
        return {**super().registration(), "redirect_uris": [uri]}


@breaks("authorization:client:bound-credentials")
class IsTheSameEverywhere(Authorizes):
    """Uses the id of its first registration with every issuer."""

    async def client_id(self, server: Json) -> str:
        for known in self.client_ids.values():
            return known
        return await super().client_id(server)


@keeps("authorization:client:bound-credentials")
class RegistersWithEach(Authorizes):
    """Registers itself with each issuer under another name."""

    def registration(self) -> Json:
        return {**super().registration(), "client_name": f"zoo {len(self.client_ids)}"}


# --- requests for tokens ---


@breaks("authorization:client:pkce")
class NeedsNoProof(Authorizes):
    """Sends no challenge with its authorization request."""

    def challenge_params(self, verifier: str) -> dict[str, str]:
        return {}


@keeps("authorization:client:pkce")
class AsksTwice(Authorizes):
    """Gets itself a second token before it goes on."""

    async def authorize(self, challenge: Mapping[str, str]) -> None:
        await super().authorize(challenge)
        await super().authorize(challenge)


@breaks("authorization:client:pkce:advertised")
class TrustsInProofs(Authorizes):
    """Goes on where nobody says that PKCE is known."""

    def check_proofs(self, server: Json) -> None:
        server.setdefault("code_challenge_methods_supported", ["S256"])


@keeps("authorization:client:pkce:advertised")
class RegistersBeforeItLooks(Authorizes):
    """Registers itself before it sees that PKCE is not offered."""

    async def found_server(self, resource: Json | None) -> Json:
        found = await super().found_server(resource)
        if "registration_endpoint" in found:
            await self.client_id(found)
        return found


@breaks("authorization:client:resource")
class NamesNoResource(Authorizes):
    """Does not say which server its token is for."""

    def resource_params(self) -> dict[str, str]:
        return {}


@keeps("authorization:client:resource")
class NamesTheOrigin(Authorizes):
    """Names the server by its origin alone."""

    def resource_params(self) -> dict[str, str]:
        parts = urlsplit(wire_of(self).url)
        return {"resource": f"{parts.scheme}://{parts.netloc}"}


@breaks("authorization:client:resource:canonical")
class NamesAPart(Authorizes):
    """Names the server by a URL with a fragment."""

    def resource_params(self) -> dict[str, str]:
        return {"resource": f"{wire_of(self).url}#part"}


@keeps("authorization:client:resource:canonical")
class NamesItExactly(Authorizes):
    """Names the server by its URL, in one request with each kind of token."""

    def registration(self) -> Json:
        return {**super().registration(), "client_uri": "https://zoo.example"}


@breaks("authorization:client:refresh")
class CountsOnRefreshTokens(Authorizes):
    """Gives up where it gets no refresh token."""

    async def take_tokens(self, url: str, form: Mapping[str, str], scope: str) -> None:
        await super().take_tokens(url, form, scope)
        raise ScriptFailure("there is no refresh token")


@keeps("authorization:client:refresh")
class WantsNoRefreshTokens(Authorizes):
    """Registers for codes alone."""

    def registration(self) -> Json:
        return {**super().registration(), "grant_types": ["authorization_code"]}


# --- responses ---


class _ChecksLess(Authorizes):
    """Leaves out one check of responses."""

    def check_response(
        self, params: Mapping[str, str], state: str, issuer: str, server: Json
    ) -> None:
        super().check_response(self.seen_as(params, state, issuer), state, issuer, server)

    def seen_as(self, params: Mapping[str, str], state: str, issuer: str) -> Mapping[str, str]:
        """Return the response as it is seen."""
        return params


@breaks("authorization:client:state")
class KeepsNoState(_ChecksLess):
    """Does not look at the state of a response."""

    def seen_as(self, params: Mapping[str, str], state: str, issuer: str) -> Mapping[str, str]:
        return {**params, "state": state}


@keeps("authorization:client:state")
class HasShortStates(Authorizes):
    """Has a state of few characters, beside a word of its own."""

    def state_params(self, state: str) -> dict[str, str]:
        return {**super().state_params(state), "prompt": "login"}


@breaks("authorization:client:iss")
class KnowsNoIssuers(_ChecksLess):
    """Looks at the issuer of a response only if it is much like its own."""

    def seen_as(self, params: Mapping[str, str], state: str, issuer: str) -> Mapping[str, str]:
        said = params.get("iss", "")
        return params if said.startswith(issuer) else {**params, "iss": issuer}


@keeps("authorization:client:iss")
class ChecksTheIssuerTwice(Authorizes):
    """Checks a response once more."""

    def check_response(
        self, params: Mapping[str, str], state: str, issuer: str, server: Json
    ) -> None:
        super().check_response(params, state, issuer, server)
        super().check_response(params, state, issuer, server)


@breaks("authorization:client:iss:exact")
class NormalizesIssuers(_ChecksLess):
    """Takes an issuer with a slash behind it for the same."""

    def seen_as(self, params: Mapping[str, str], state: str, issuer: str) -> Mapping[str, str]:
        return {**params, "iss": params.get("iss", "").rstrip("/")}


@keeps("authorization:client:iss:exact")
class ComparesBytes(_ChecksLess):
    """Compares issuers as bytes."""

    def seen_as(self, params: Mapping[str, str], state: str, issuer: str) -> Mapping[str, str]:
        return {**params, "iss": params.get("iss", "").encode().decode()}


# --- scopes ---


@breaks("authorization:client:scopes")
class WantsAll(Authorizes):
    """Asks for all scopes that there are, whatever the challenge says."""

    def chosen_scope(self, challenge: Mapping[str, str], resource: Json) -> str:
        return super().chosen_scope({}, resource)


@keeps("authorization:client:scopes")
class WantsToStay(Authorizes):
    """Asks for a refresh token, too."""

    def chosen_scope(self, challenge: Mapping[str, str], resource: Json) -> str:
        found = super().chosen_scope(challenge, resource)
        return f"{found} offline_access" if found and "offline" not in found else found


@breaks("authorization:client:step-up")
class StaysBelow(Authorizes):
    """Asks for no more scopes, and says that all went well."""

    steps_up = False


@keeps("authorization:client:step-up")
class StepsUpInAnyOrder(Authorizes):
    """Asks for more scopes before those that it has."""

    def chosen_scope(self, challenge: Mapping[str, str], resource: Json) -> str:
        return " ".join(reversed(super().chosen_scope(challenge, resource).split()))


@breaks("authorization:client:step-up:union")
class LosesScopes(Authorizes):
    """Asks for the scopes of a challenge alone."""

    def chosen_scope(self, challenge: Mapping[str, str], resource: Json) -> str:
        self.scope = ""
        return super().chosen_scope(challenge, resource)


@keeps("authorization:client:step-up:union")
class UnitesAllScopes(Authorizes):
    """Asks for all scopes that it has ever asked for."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.ever: dict[str, None] = {}

    def chosen_scope(self, challenge: Mapping[str, str], resource: Json) -> str:
        self.ever.update(dict.fromkeys(super().chosen_scope(challenge, resource).split()))
        return " ".join(self.ever)


@breaks("authorization:client:step-up:bounded")
class NeverGivesUp(Authorizes):
    """Asks for more scopes again and again."""

    max_attempts = 20


@keeps("authorization:client:step-up:bounded")
class GivesUpSoon(Authorizes):
    """Asks for more scopes once."""

    max_attempts = 2


# --- the use of tokens ---


class _ShowsOtherwise(Authorizes):
    """Sends one request otherwise when it has a token."""

    async def use(self) -> None:
        await super().use()
        frame = self.harmless_frame()
        headers, path = self.otherwise(self.headers(frame), wire_of(self).url)
        body = self.encoded(frame)
        number = await wire_of(self).exchange("POST", body, headers, path)
        await wire_of(self).response(number, self.timeout_s)

    def otherwise(self, headers: dict[str, str], url: str) -> tuple[dict[str, str], str]:
        """Return the headers and the URL of the request."""
        return headers, url


@breaks("authorization:client:token")
class ForgetsItsToken(_ShowsOtherwise):
    """Leaves out its token once."""

    def otherwise(self, headers: dict[str, str], url: str) -> tuple[dict[str, str], str]:
        del headers["Authorization"]
        return headers, url


@keeps("authorization:client:token")
class ShowsItsTokenLoudly(_ShowsOtherwise):
    """Spells the scheme in capitals."""

    def otherwise(self, headers: dict[str, str], url: str) -> tuple[dict[str, str], str]:
        return {**headers, "Authorization": headers["Authorization"].replace("B", "b")}, url


@breaks("authorization:client:token:no-query")
class ShowsItsTokenInTheUrl(_ShowsOtherwise):
    """Shows its token in the URL as well."""

    def otherwise(self, headers: dict[str, str], url: str) -> tuple[dict[str, str], str]:
        return headers, f"{url}?access_token={self.access_token}"


@keeps("authorization:client:token:no-query")
class HasAQuery(_ShowsOtherwise):
    """Has something else in the URL."""

    def otherwise(self, headers: dict[str, str], url: str) -> tuple[dict[str, str], str]:
        return headers, f"{url}?token_type=bearer"


@breaks("authorization:client:token:own")
class BringsAForeignToken(Authorizes):
    """Tries the token of another server first."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.access_token = "token-of-another-server"


@keeps("authorization:client:token:own")
class ForgetsATokenThatIsRefused(Authorizes):
    """Forgets its token before it asks for another one."""

    async def authorize(self, challenge: Mapping[str, str]) -> None:
        self.access_token = ""
        await super().authorize(challenge)
