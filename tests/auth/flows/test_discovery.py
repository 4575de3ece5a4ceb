"""Discovery: the order of places, and which documents are believed."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_gen.auth.flows.challenges import BearerChallenge
from mcp_gen.auth.flows.discovery import Discovered, Wanted, discover, discover_server
from mcp_gen.auth.flows.exchange import HttpAnswer, HttpAsk
from mcp_gen.core.errors import AuthError, TransportError
from mcp_gen.core.revisions import with_authorization_at_origin
from tests.auth.scripts import ISSUER, URL, answer, drive, urls

ORIGIN = "https://api.example"
PRM = f"{ORIGIN}/.well-known/oauth-protected-resource"
AS = f"{ISSUER}/.well-known/oauth-authorization-server"
RESOURCE = {"resource": URL, "authorization_servers": [ISSUER]}


def metadata(issuer: str = ISSUER, **more: Any) -> dict[str, Any]:
    return {
        "issuer": issuer,
        "authorization_endpoint": f"{issuer}/authorize",
        "token_endpoint": f"{issuer}/token",
        **more,
    }


def found(
    answers: dict[str, object], url: str = URL, **wanted: Any
) -> tuple[Discovered, list[str]]:
    result, asked = drive(discover(Wanted(url, **wanted)), answers)
    return result, urls(asked)


def failed(answers: dict[str, object], url: str = URL, **wanted: Any) -> str:
    with pytest.raises(AuthError) as caught:
        found(answers, url, **wanted)
    return str(caught.value)


# Where the metadata of the resource is


def test_the_url_of_the_challenge_comes_first_and_is_enough() -> None:
    told = "https://meta.example/doc"
    _, asked = found(
        {told: RESOURCE, f"{PRM}/mcp": RESOURCE, AS: metadata()},
        challenge=BearerChallenge(resource_metadata=told),
    )
    assert asked == [told, AS]


def test_the_path_comes_before_the_root_which_is_left_alone() -> None:
    _, asked = found({f"{PRM}/mcp": RESOURCE, PRM: RESOURCE, AS: metadata()})
    assert asked == [f"{PRM}/mcp", AS]


def test_the_root_is_asked_where_the_path_has_nothing() -> None:
    _, asked = found({PRM: RESOURCE, AS: metadata()})
    assert asked == [f"{PRM}/mcp", PRM, AS]


def test_a_server_without_a_path_has_one_place() -> None:
    document = {"resource": ORIGIN, "authorization_servers": [ISSUER]}
    _, asked = found({PRM: document, AS: metadata()}, url=f"{ORIGIN}/")
    assert asked == [PRM, AS]


def test_a_page_for_every_path_is_no_metadata() -> None:
    page = HttpAnswer(200, {}, b"<!doctype html>")
    _, asked = found({f"{PRM}/mcp": page, PRM: RESOURCE, AS: metadata()})
    assert asked == [f"{PRM}/mcp", PRM, AS]


def test_a_page_at_every_place_is_an_error_and_leads_to_no_default_endpoint() -> None:
    page = HttpAnswer(200, {}, b"<!doctype html>")
    assert "expected a JSON document" in failed({f"{PRM}/mcp": page, PRM: page})


def test_an_unsafe_url_of_the_challenge_is_not_asked() -> None:
    challenge = BearerChallenge(resource_metadata="http://meta.example/doc")
    assert "not safe" in failed({f"{PRM}/mcp": RESOURCE}, challenge=challenge)


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_server_that_fails_is_told_with_its_status(status: int) -> None:
    said = failed({f"{PRM}/mcp": answer(status=status), PRM: answer(status=status)})
    assert f"expected status 200, got {status}; try again later" in said


# Whose it is


@pytest.mark.parametrize("resource", [URL, ORIGIN, f"{ORIGIN}/", f"{URL}/"])
def test_the_resource_of_the_metadata_is_used_as_it_is_written(resource: str) -> None:
    result, _ = found({f"{PRM}/mcp": {**RESOURCE, "resource": resource}, AS: metadata()})
    assert result.resource == resource


@pytest.mark.parametrize("resource", ["https://evil.example/mcp", f"{ORIGIN}/other", "x"])
def test_metadata_of_another_resource_ends_the_search(resource: str) -> None:
    said = failed({f"{PRM}/mcp": {**RESOURCE, "resource": resource}, AS: metadata()})
    assert said.startswith("the metadata of the server is about another resource: expected")


def test_metadata_without_an_authorization_server_is_an_error() -> None:
    assert "names no authorization server" in failed({f"{PRM}/mcp": {"resource": URL}})


def test_metadata_of_another_shape_is_an_error_that_does_not_quote_it() -> None:
    answers: dict[str, object] = {f"{PRM}/mcp": {"resource": 7, "secret": "xyz"}}
    said = failed(answers)
    assert "Expected `str`, got `int`" in said
    assert "xyz" not in said


# Which authorization server


def test_the_first_authorization_server_is_used() -> None:
    document = {**RESOURCE, "authorization_servers": [ISSUER, "https://second.example"]}
    result, _ = found({f"{PRM}/mcp": document, AS: metadata()})
    assert result.server.issuer == ISSUER


def test_one_that_has_no_metadata_is_passed_over() -> None:
    second = "https://second.example"
    document = {**RESOURCE, "authorization_servers": [ISSUER, second]}
    place = f"{second}/.well-known/oauth-authorization-server"
    result, _ = found({f"{PRM}/mcp": document, place: metadata(second)})
    assert result.server.issuer == second


def test_one_that_cannot_be_reached_is_passed_over() -> None:
    second = "https://second.example"
    document = {**RESOURCE, "authorization_servers": [ISSUER, second]}
    place = f"{second}/.well-known/oauth-authorization-server"
    gone = TransportError("no route")
    result, _ = found({f"{PRM}/mcp": document, AS: gone, place: metadata(second)})
    assert result.server.issuer == second


def test_a_few_authorization_servers_are_tried_and_no_more() -> None:
    many = [f"https://as{number}.example" for number in range(50)]
    asked: list[HttpAsk] = []
    with pytest.raises(AuthError):
        drive(
            discover(Wanted(URL)),
            {f"{PRM}/mcp": {**RESOURCE, "authorization_servers": many}},
            asked,
        )
    assert len({url.split("/")[2] for url in urls(asked)}) == 4


def test_that_of_stored_credentials_is_preferred() -> None:
    second = "https://second.example"
    document = {**RESOURCE, "authorization_servers": [ISSUER, second]}
    place = f"{second}/.well-known/oauth-authorization-server"
    answers: dict[str, object] = {f"{PRM}/mcp": document, AS: metadata(), place: metadata(second)}
    result, asked = found(answers, known_issuer=second)
    assert (result.server.issuer, AS in asked) == (second, False)


def test_the_expected_one_has_to_be_among_them() -> None:
    assert "register a client there" in failed(
        {f"{PRM}/mcp": RESOURCE, AS: metadata()}, issuer="https://mine.example"
    )


def test_the_expected_one_is_used_wherever_it_stands() -> None:
    document = {**RESOURCE, "authorization_servers": ["https://first.example", ISSUER]}
    result, _ = found({f"{PRM}/mcp": document, AS: metadata()}, issuer=ISSUER)
    assert result.server.issuer == ISSUER


# Where its metadata is


def places(issuer: str) -> list[str]:
    asked: list[HttpAsk] = []
    with pytest.raises(AuthError):
        drive(discover_server(issuer), {}, asked)
    return urls(asked)


def test_an_issuer_with_a_path_has_three_places_and_never_the_root() -> None:
    assert places("https://as.example/tenant/1") == [
        "https://as.example/.well-known/oauth-authorization-server/tenant/1",
        "https://as.example/.well-known/openid-configuration/tenant/1",
        "https://as.example/tenant/1/.well-known/openid-configuration",
    ]


@pytest.mark.parametrize("issuer", [ISSUER, f"{ISSUER}/"])
def test_an_issuer_without_a_path_has_two_places(issuer: str) -> None:
    assert places(issuer) == [AS, f"{ISSUER}/.well-known/openid-configuration"]


def test_an_unsafe_issuer_is_not_asked() -> None:
    assert "not safe" in failed(
        {f"{PRM}/mcp": {**RESOURCE, "authorization_servers": ["http://as.example"]}}
    )


# What of it is believed


def test_metadata_of_the_same_issuer_is_used() -> None:
    result, _ = found({f"{PRM}/mcp": RESOURCE, AS: metadata()})
    assert result.server.token_endpoint == f"{ISSUER}/token"


@pytest.mark.parametrize(
    "issuer",
    [f"{ISSUER}/", "https://AS.example", f"{ISSUER}:443", "https://honest.example", ""],
)
def test_metadata_of_an_issuer_that_differs_in_a_character_is_not_used(issuer: str) -> None:
    said = failed({f"{PRM}/mcp": RESOURCE, AS: metadata(issuer)})
    assert "is that of another one: expected the issuer 'https://as.example'" in said


def test_after_metadata_of_another_issuer_the_next_place_may_have_the_right_one() -> None:
    openid = f"{ISSUER}/.well-known/openid-configuration"
    result, _ = found(
        {f"{PRM}/mcp": RESOURCE, AS: metadata("https://evil.example"), openid: metadata()}
    )
    assert result.server.token_endpoint == f"{ISSUER}/token"


@pytest.mark.parametrize("name", ["authorization", "token", "registration", "revocation"])
@pytest.mark.parametrize("url", ["http://as.example/x", "javascript:alert(1)", "file:///x"])
def test_metadata_with_an_unsafe_endpoint_is_not_used(name: str, url: str) -> None:
    said = failed({f"{PRM}/mcp": RESOURCE, AS: metadata(**{f"{name}_endpoint": url})})
    assert f"the {name} endpoint of 'https://as.example' is not safe" in said


def test_an_endpoint_at_another_host_is_used() -> None:
    other = metadata(token_endpoint="https://tokens.example/t")
    result, _ = found({f"{PRM}/mcp": RESOURCE, AS: other})
    assert result.server.token_endpoint == "https://tokens.example/t"


def test_members_that_are_null_or_unknown_do_no_harm() -> None:
    result, _ = found({f"{PRM}/mcp": RESOURCE, AS: metadata(scopes_supported=None, x={"y": 1})})
    assert result.server.scopes_supported is None


# Servers without metadata of the resource


def at_origin(document: dict[str, Any]) -> dict[str, object]:
    return {f"{ORIGIN}/.well-known/oauth-authorization-server": document}


def test_without_metadata_of_the_resource_the_origin_of_the_server_is_asked() -> None:
    result, asked = found(at_origin(metadata(ORIGIN)))
    assert (result.server.issuer, result.resource, result.at_origin, asked) == (
        ORIGIN,
        URL,
        True,
        [f"{PRM}/mcp", PRM, f"{ORIGIN}/.well-known/oauth-authorization-server"],
    )


def test_the_search_at_the_origin_names_the_revision_that_has_it() -> None:
    _, asked = drive(discover(Wanted(URL)), at_origin(metadata(ORIGIN)))
    sent = [ask.headers.get("mcp-protocol-version") for ask in asked]
    assert sent == [None, None, with_authorization_at_origin()]


def test_without_any_metadata_the_endpoints_have_default_paths() -> None:
    result, _ = found({})
    server = result.server
    assert (
        server.authorization_endpoint,
        server.token_endpoint,
        server.registration_endpoint,
        server.code_challenge_methods_supported,
    ) == (f"{ORIGIN}/authorize", f"{ORIGIN}/token", f"{ORIGIN}/register", ["S256"])


def test_metadata_at_the_origin_may_have_an_issuer_with_a_path_there() -> None:
    result, _ = found(at_origin(metadata(f"{ORIGIN}/oauth")))
    assert result.server.token_endpoint == f"{ORIGIN}/oauth/token"


@pytest.mark.parametrize("issuer", ["https://honest.example", "http://api.example", ""])
def test_metadata_at_the_origin_of_another_origin_is_not_used(issuer: str) -> None:
    assert "is that of another one" in failed(at_origin(metadata(issuer)))


def test_the_search_at_the_origin_can_be_turned_off() -> None:
    assert "does not say where to have it" in failed(at_origin(metadata(ORIGIN)), legacy=False)


def test_the_expected_issuer_holds_at_the_origin_as_well() -> None:
    assert "has another authorization server" in failed(at_origin(metadata(ORIGIN)), issuer=ISSUER)


def test_a_resource_with_metadata_never_leads_to_the_origin() -> None:
    answers = {f"{PRM}/mcp": RESOURCE, **at_origin(metadata(ORIGIN))}
    assert "has no metadata" in failed(answers)
