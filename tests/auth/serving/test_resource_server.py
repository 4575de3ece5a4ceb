"""A server behind a `ResourceServer`: challenges and metadata lead a client to its token."""

from __future__ import annotations

import re

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from mcp_gen import Server
from mcp_gen.auth import ResourceServer, StaticTokens
from mcp_gen.core.transport.access_token import AccessToken
from tests.auth.serving.servers import open_tools
from tests.support.frames import PER_REQUEST, every_revision
from tests.support.http.asgi import request
from tests.support.http.gated import GatedClient, bearer, gated_client

RESOURCE = "https://api.example/api/mcp"
ISSUER = "https://as.example"
READER = AccessToken("reader-token", subject="alice")
WRITER = AccessToken("writer-token", subject="alice")
HEADERS = {"host": "api.example"}


def gate(resource: str = RESOURCE) -> ResourceServer:
    tokens = {
        READER.raw(): {"sub": "alice", "scope": "mcp", "iss": ISSUER},
        WRITER.raw(): {"sub": "alice", "scope": "mcp write", "iss": ISSUER},
        "other-token": {"sub": "alice", "scope": "else", "iss": ISSUER},
    }
    return ResourceServer(
        issuer=ISSUER, audience=resource, scopes=["mcp"], verifier=StaticTokens(tokens)
    )


def protected() -> Server[None]:
    server = open_tools(Server("protected"))

    @server.tool(scopes=["write"])
    def save() -> str:
        return "saved"

    return server


@every_revision
async def test_a_tool_is_called_once_the_token_has_its_scope(revision: str) -> None:
    app = protected().asgi(auth=gate(), legacy_sse_path="/sse")
    async with gated_client(app, revision, READER) as client:
        assert "alice" in (await client.call("who")).text
        refused = await client.call("save")
        assert refused.frame["error"]["data"] == {"error": "insufficient_scope", "scope": "write"}
        if not client.is_paired:
            assert refused.status == 403
            assert 'error="insufficient_scope"' in str(refused.challenge)
            scopes = re.findall(r'scope="([^"]*)"', str(refused.challenge))[0].split()
            assert {"mcp", "write"} == set(scopes)
        client.token = WRITER
        assert (await client.call("save")).text == "saved"


@pytest.mark.parametrize(
    ("headers", "status"), [({}, 401), (bearer(AccessToken("other-token", subject="x")), 403)]
)
async def test_the_challenge_of_a_mounted_server_leads_to_its_metadata(
    headers: dict[str, str], status: int
) -> None:
    mcp = protected().asgi(auth=gate())
    site = Starlette(routes=[Mount("/.well-known", mcp.well_known), Mount("/api", mcp)])
    refused = await request(site, b"{}", HEADERS | headers, path="/api/mcp")  # type: ignore[arg-type]
    assert refused.status == status
    challenge = refused.headers["www-authenticate"]
    (url,) = re.findall(r'resource_metadata="https://api.example(/[^"]*)"', challenge)
    at_the_root = "/.well-known/oauth-protected-resource/api/mcp"
    for path in (url, at_the_root):
        told = await request(site, b"", HEADERS, method="GET", path=path)  # type: ignore[arg-type]
        assert told.status == 200
        assert told.json["resource"] == RESOURCE
        assert told.json["authorization_servers"] == [ISSUER]


async def test_a_token_that_lacks_the_scopes_of_the_server_is_refused_at_once() -> None:
    other = AccessToken("other-token", subject="alice")
    client = GatedClient(protected().asgi(auth=gate()), PER_REQUEST, other)
    answered = await client.call("who")
    assert answered.status == 403
    assert 'scope="mcp' in str(answered.challenge)
