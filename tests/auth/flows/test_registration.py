"""Client ids: the order of ways to one, and what a dynamic registration says."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mcp_gen.auth.flows.exchange import HttpAnswer, HttpAsk
from mcp_gen.auth.flows.metadata import ServerMetadata
from mcp_gen.auth.flows.registration import (
    RegisteredClient,
    RegistrationSettings,
    is_metadata_url,
    obtain_client,
)
from mcp_gen.core.errors import AuthError
from tests.auth.scripts import ISSUER, REDIRECT, answer, drive

DOCUMENT = "https://app.example/client.json"
SETTINGS = RegistrationSettings(name="Test client", redirect_uri=REDIRECT)
SERVER = ServerMetadata(issuer=ISSUER, registration_endpoint=f"{ISSUER}/register")


def obtained(
    settings: RegistrationSettings = SETTINGS,
    server: ServerMetadata = SERVER,
    response: object = None,
    **given: Any,
) -> tuple[RegisteredClient, list[dict[str, Any]]]:
    options: dict[str, Any] = {"scopes": None, "known": None, "now": 100.0, **given}
    flow = obtain_client(server, settings, **options)
    answers = {f"{ISSUER}/register": response or answer({"client_id": "new"}, 201)}
    client, asked = drive(flow, answers)
    return client, [msgspec.json.decode(ask.body or b"") for ask in asked]


def failed(**given: Any) -> AuthError:
    with pytest.raises(AuthError) as caught:
        obtained(**given)
    return caught.value


def having(base: Any, **changes: Any) -> Any:
    return msgspec.structs.replace(base, **changes)


# The order


def test_a_client_that_was_registered_by_hand_comes_first() -> None:
    server = having(SERVER, client_id_metadata_document_supported=True)
    settings = having(SETTINGS, client_id="mine", metadata_url=DOCUMENT)
    client, asked = obtained(settings, server, known=KNOWN)
    assert (client, asked) == (RegisteredClient(client_id="mine"), [])


def test_a_metadata_document_comes_before_a_dynamic_registration() -> None:
    server = having(SERVER, client_id_metadata_document_supported=True)
    client, asked = obtained(having(SETTINGS, metadata_url=DOCUMENT), server)
    assert (client, asked) == (RegisteredClient(client_id=DOCUMENT), [])


@pytest.mark.parametrize("supported", [None, False])
def test_a_metadata_document_is_not_used_where_it_is_not_advertised(supported: bool | None) -> None:
    server = having(SERVER, client_id_metadata_document_supported=supported)
    client, _ = obtained(having(SETTINGS, metadata_url=DOCUMENT), server)
    assert client.client_id == "new"


def test_without_any_way_the_user_is_told_to_register() -> None:
    error = failed(server=having(SERVER, registration_endpoint=None))
    assert str(error).endswith("register one there by hand, and give its `client_id`")


KNOWN = RegisteredClient(client_id="known", redirect_uris=(REDIRECT,), dynamic=True)


def test_a_registration_of_before_is_used_again() -> None:
    client, asked = obtained(known=KNOWN)
    assert (client, asked) == (KNOWN, [])


@pytest.mark.parametrize(
    "change",
    [
        {"redirect_uris": ("http://localhost:4000/callback",)},
        {"secret": "s", "secret_expires_at": 99.0},
        {"dynamic": False},
    ],
)
def test_a_registration_that_does_not_fit_any_more_is_made_anew(change: dict[str, Any]) -> None:
    client, _ = obtained(known=having(KNOWN, **change))
    assert client.client_id == "new"


def test_a_secret_that_has_not_ended_keeps_its_registration() -> None:
    known = having(KNOWN, secret="s", secret_expires_at=101.0)
    assert obtained(known=known)[0] is known


# What a dynamic registration says


def test_a_registration_says_what_the_client_is() -> None:
    _, asked = obtained(scopes=("a", "b"))
    assert asked == [
        {
            "client_name": "Test client",
            "redirect_uris": [REDIRECT],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": "client_secret_basic",
            "application_type": "native",
            "scope": "a b",
        }
    ]


APPLICATIONS = {
    "http://localhost:3000/callback": "native",
    "http://127.0.0.1/callback": "native",
    "http://[::1]:3000/callback": "native",
    "https://localhost/callback": "native",
    "https://app.example/callback": "web",
}


@pytest.mark.parametrize("redirect", APPLICATIONS)
def test_the_application_type_is_that_of_the_redirect_uri(redirect: str) -> None:
    _, asked = obtained(having(SETTINGS, redirect_uri=redirect))
    assert asked[0]["application_type"] == APPLICATIONS[redirect]


def refusing(*allowed: str, error: str = "invalid_client_metadata") -> Any:
    """Return the responses of a server that registers no clients for other scopes."""

    def respond(ask: HttpAsk) -> HttpAnswer:
        scope = msgspec.json.decode(ask.body or b"").get("scope", "")
        if {*scope.split()} <= {*allowed}:
            return answer({"client_id": "new"}, 201)
        return answer({"error": error}, 400)

    return respond


@pytest.mark.parametrize("error", ["invalid_client_metadata", "insufficient_scope"])
def test_scopes_that_the_server_does_not_register_are_left_out(error: str) -> None:
    server = having(SERVER, scopes_supported=["openid", "b"])
    client, asked = obtained(server=server, scopes=("a", "b"), response=refusing("b", error=error))
    assert client.client_id == "new"
    assert [one.get("scope") for one in asked] == ["a b", "b"]


def test_a_server_that_registers_no_scopes_is_told_none() -> None:
    _, asked = obtained(scopes=("a",), response=refusing())
    assert [one.get("scope") for one in asked] == ["a", None]


def test_a_registration_without_scopes_is_refused_once() -> None:
    asked: list[HttpAsk] = []

    def refuse(ask: HttpAsk) -> HttpAnswer:
        asked.append(ask)
        return answer({"error": "invalid_client_metadata"}, 400)

    assert failed(response=refuse).error == "invalid_client_metadata"
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("given", "attempts"),
    [
        ({"scopes": ("a",)}, 2),
        ({"scopes": ("a",), "server": having(SERVER, scopes_supported=["a"])}, 1),
        ({"scopes": ("a",), "settings": having(SETTINGS, more={"scope": "c"})}, 1),
    ],
    ids=["others", "all-supported", "of-the-program"],
)
def test_scopes_are_left_out_once_and_only_if_there_are_fewer(
    given: dict[str, Any], attempts: int
) -> None:
    asked: list[HttpAsk] = []

    def refuse(ask: HttpAsk) -> HttpAnswer:
        asked.append(ask)
        return answer({"error": "invalid_client_metadata"}, 400)

    assert failed(response=refuse, **given).error == "invalid_client_metadata"
    assert len(asked) == attempts


def test_a_refusal_for_another_reason_is_not_answered_with_fewer_scopes() -> None:
    asked: list[HttpAsk] = []

    def refuse(ask: HttpAsk) -> HttpAnswer:
        asked.append(ask)
        return answer({"error": "invalid_redirect_uri"}, 400)

    assert failed(response=refuse, scopes=("a",)).error == "invalid_redirect_uri"
    assert len(asked) == 1


def test_members_of_the_program_are_added() -> None:
    _, asked = obtained(having(SETTINGS, more={"client_uri": "https://app.example"}))
    assert asked[0]["client_uri"] == "https://app.example"


@pytest.mark.parametrize(
    ("supported", "wanted"),
    [
        (None, "client_secret_basic"),
        (["none", "client_secret_basic"], "none"),
        (["private_key_jwt", "client_secret_basic", "client_secret_post"], "client_secret_basic"),
        (["client_secret_post", "client_secret_basic"], "client_secret_post"),
        (["client_secret_post"], "client_secret_post"),
    ],
)
def test_the_method_is_one_that_the_server_supports(
    supported: list[str] | None, wanted: str
) -> None:
    server = having(SERVER, token_endpoint_auth_methods_supported=supported)
    _, asked = obtained(server=server)
    assert asked[0]["token_endpoint_auth_method"] == wanted


def test_a_server_that_wants_keys_alone_is_told_of() -> None:
    server = having(SERVER, token_endpoint_auth_methods_supported=["tls_client_auth"])
    assert "wants a client with a key or certificate" in str(failed(server=server))


@pytest.mark.parametrize("supported", [None, ["authorization_code", "refresh_token"]])
def test_a_refresh_token_is_wanted_where_the_server_has_them(supported: list[str] | None) -> None:
    _, asked = obtained(server=having(SERVER, grant_types_supported=supported))
    assert "refresh_token" in asked[0]["grant_types"]


def test_a_refresh_token_is_not_wanted_where_the_server_has_none() -> None:
    server = having(SERVER, grant_types_supported=["authorization_code"])
    assert obtained(server=server)[1][0]["grant_types"] == ["authorization_code"]


# What comes back


@pytest.mark.parametrize("status", [200, 201])
def test_a_registration_is_taken_as_the_server_gives_it(status: int) -> None:
    document = {
        "client_id": "new",
        "client_secret": "s",
        "client_secret_expires_at": 500,
        "token_endpoint_auth_method": "client_secret_post",
    }
    client, _ = obtained(response=answer(document, status))
    assert client == RegisteredClient(
        client_id="new",
        method="client_secret_post",
        secret="s",
        secret_expires_at=500.0,
        redirect_uris=(REDIRECT,),
        dynamic=True,
    )


def test_a_secret_that_expires_at_zero_never_expires() -> None:
    document = {"client_id": "new", "client_secret": "s", "client_secret_expires_at": 0}
    assert obtained(response=document)[0].secret_expires_at is None


@pytest.mark.parametrize(
    ("document", "method"),
    [
        ({"client_id": "n"}, "none"),
        ({"client_id": "n", "client_secret": "s"}, "client_secret_basic"),
        ({"client_id": "n", "client_secret": "s", "token_endpoint_auth_method": "none"}, "none"),
    ],
)
def test_without_a_method_a_secret_decides(document: dict[str, str], method: str) -> None:
    assert obtained(response=document)[0].method == method


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_jwt", "tls_client_auth"])
def test_a_method_that_the_client_cannot_do_is_an_error(method: str) -> None:
    document = {"client_id": "n", "token_endpoint_auth_method": method}
    assert "an authentication that it cannot do" in str(failed(response=document))


@pytest.mark.parametrize("client_id", ["", "a\nb", "a\x00"])
def test_a_client_id_that_cannot_be_sent_is_an_error(client_id: str) -> None:
    assert "printable" in str(failed(response={"client_id": client_id}))


def test_a_refused_registration_says_why_and_what_to_do() -> None:
    refusal = {"error": "invalid_redirect_uri", "error_description": "no loopback"}
    error = failed(response=answer(refusal, 400))
    assert (error.error, str(error)) == (
        "invalid_redirect_uri",
        "the authorization server 'https://as.example' refused the registration of the client: "
        "invalid_redirect_uri (no loopback); register a redirect URI that it allows, and give it "
        "as `redirect_uri=`",
    )


def test_no_repr_shows_a_secret() -> None:
    settings = having(SETTINGS, client_id="c", client_secret="sesame")
    client = having(KNOWN, secret="sesame")
    assert "sesame" not in f"{settings!r} {client!r} {client.authentication()!r}"


# URLs of metadata documents


@pytest.mark.parametrize("url", [DOCUMENT, "https://app.example/a/b?x=1", "https://a.example:8/x"])
def test_a_metadata_document_is_at_an_https_url_with_a_path(url: str) -> None:
    assert is_metadata_url(url)


@pytest.mark.parametrize(
    "url",
    [
        "http://app.example/client.json",
        "https://app.example",
        "https://app.example/",
        "https://user@app.example/x",
        "https://app.example/x#y",
        "https://app.example/a/../x",
        "https://[::1/x",
        "client.json",
    ],
)
def test_a_metadata_document_is_at_no_other_url(url: str) -> None:
    assert not is_metadata_url(url)
