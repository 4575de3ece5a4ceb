"""Discovery documents and keys of the example authorization server."""

from __future__ import annotations

from typing import Any

import pytest

from tests.auth.authorization_server.visitor import RESOURCE, visiting

OAUTH, OIDC = "/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"


@pytest.mark.parametrize(
    ("issuer", "path"),
    [
        ("http://as.example", OAUTH),
        ("http://as.example", OIDC),
        ("http://as.example/", OAUTH),
        ("http://as.example/tenant", f"{OAUTH}/tenant"),
        ("http://as.example/tenant", f"{OIDC}/tenant"),
        ("http://as.example/tenant", f"/tenant{OIDC}"),
    ],
)
async def test_each_document_is_at_its_path_and_names_the_issuer_as_it_is(
    issuer: str, path: str
) -> None:
    async with visiting(issuer=issuer) as visitor:
        found = (await visitor.http.get(f"http://as.example{path}")).json()
    assert found["issuer"] == issuer
    assert found["token_endpoint"] == f"{issuer.rstrip('/')}/token"


@pytest.mark.parametrize("path", [OAUTH, OIDC, f"/tenant{OAUTH}"])
async def test_an_issuer_with_a_path_has_no_document_elsewhere(path: str) -> None:
    async with visiting(issuer="http://as.example/tenant") as visitor:
        found = await visitor.http.get(f"http://as.example{path}")
    assert found.status_code == 404


async def test_a_document_can_be_left_out() -> None:
    async with visiting(documents=("oidc",)) as visitor:
        found = [
            (await visitor.http.get(f"http://as.example{path}")).status_code
            for path in (OAUTH, OIDC)
        ]
    assert found == [404, 200]


@pytest.mark.parametrize(
    ("setting", "member"),
    [
        ({"registration": False}, "registration_endpoint"),
        ({"pkce_methods": ()}, "code_challenge_methods_supported"),
        ({"iss_parameter": False}, "authorization_response_iss_parameter_supported"),
        ({"dpop": "off"}, "dpop_signing_alg_values_supported"),
    ],
)
async def test_what_is_switched_off_is_not_in_the_metadata(
    setting: dict[str, Any], member: str
) -> None:
    async with visiting() as usual, visiting(**setting) as without:
        found = [
            (await one.http.get(f"http://as.example{OAUTH}")).json() for one in (usual, without)
        ]
    assert [member in one for one in found] == [True, False]


async def test_every_endpoint_of_the_metadata_is_there() -> None:
    async with visiting(issuer="http://as.example/tenant") as visitor:
        found = (await visitor.http.get(f"http://as.example{OAUTH}/tenant")).json()
        urls = [found[name] for name in found if name.endswith(("_endpoint", "_uri"))]
        statuses = {url: (await visitor.http.get(url)).status_code for url in urls}
    assert len(urls) >= 4
    assert 404 not in statuses.values()


async def test_a_token_can_be_checked_with_the_keys_after_a_rotation() -> None:
    async with visiting() as visitor:
        old = (await visitor.login())["access_token"]
        visitor.server.rotate_keys()
        new = (await visitor.login())["access_token"]
        found = [(await visitor.claims(token))["aud"] for token in (old, new)]
    assert found == [RESOURCE, RESOURCE]


async def test_a_key_that_is_not_kept_is_gone() -> None:
    async with visiting() as visitor:
        before = (await visitor.http.get("http://as.example/jwks")).json()["keys"]
        visitor.server.rotate_keys(keep=0)
        after = (await visitor.http.get("http://as.example/jwks")).json()["keys"]
    assert len(after) == 1
    assert before[0]["kid"] != after[0]["kid"]
    assert "d" not in after[0]
