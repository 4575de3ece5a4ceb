"""The example authorization server as a program."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx2

from examples.oauth.authorization_server.endpoints.token import challenge_of
from tests.auth.authorization_server.test_consent import Form
from tests.conformance.server_leg import ServerUnderTest

REDIRECT = "http://127.0.0.1:1/callback"
VERIFIER = "v" * 43


async def test_the_program_takes_a_user_from_its_consent_page_to_a_token(tmp_path: Path) -> None:
    words = ("--client", "app", REDIRECT, "--scope", "files")
    program = ServerUnderTest(tmp_path / "log", "examples.oauth.authorization_server", *words)
    try:
        async with httpx2.AsyncClient(base_url=program.origin, trust_env=False) as http:
            metadata = (await http.get("/.well-known/oauth-authorization-server")).json()
            asked = {
                "response_type": "code",
                "client_id": "app",
                "redirect_uri": REDIRECT,
                "code_challenge": challenge_of(VERIFIER, "S256"),
                "code_challenge_method": "S256",
                "scope": "files",
            }
            page = await http.get(metadata["authorization_endpoint"], params=asked)
            form = Form(page.text)
            fields = {"user": "demo", "password": "demo", "decision": "allow"}
            answer = await http.post(form.action, data={**form.fields, **fields})
            code = parse_qs(urlsplit(answer.headers["location"]).query)["code"][0]
            sent = {
                "grant_type": "authorization_code",
                "client_id": "app",
                "code": code,
                "redirect_uri": REDIRECT,
                "code_verifier": VERIFIER,
            }
            tokens = (await http.post(metadata["token_endpoint"], data=sent)).json()
    finally:
        faults = program.end()
    assert faults == []
    assert (tokens["token_type"], tokens["scope"]) == ("Bearer", "files")
    told = (tmp_path / "log").read_text()
    assert f"issuer: {program.origin}\nuser: demo, password: demo\n" in told


async def test_the_program_gives_a_client_with_a_secret_a_token_of_its_own(tmp_path: Path) -> None:
    words = ("--program", "reports", "its-secret")
    program = ServerUnderTest(tmp_path / "log", "examples.oauth.authorization_server", *words)
    sent = {"grant_type": "client_credentials", "scope": "files"}
    try:
        async with httpx2.AsyncClient(base_url=program.origin, trust_env=False) as http:
            refused = await http.post("/token", data=sent, auth=("reports", "another"))
            answer = await http.post("/token", data=sent, auth=("reports", "its-secret"))
    finally:
        faults = program.end()
    assert faults == []
    assert refused.status_code == 401
    assert answer.json()["scope"] == "files"
