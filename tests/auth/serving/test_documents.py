"""Metadata documents of a protected server: public, cacheable, open to every origin."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount, Route

from mcp_gen import Server, UsageError
from mcp_gen.transports.http_server.app import AsgiApp
from tests.auth.serving.servers import ALICE, guarded
from tests.support.http.asgi import Reply, open_request, request
from tests.support.http.gated import DOCUMENT, FakeGate

BODY = FakeGate().documents[DOCUMENT]
PAGE = {"origin": "https://page.example"}


def app_of(**options: Any) -> AsgiApp:
    return guarded(Server("guarded"), ALICE, **options)


async def get(app: Any, path: str = DOCUMENT, method: str = "GET", **named: Any) -> Reply:
    headers = named.pop("headers", PAGE)
    return await request(app, b"", headers, method=method, path=path, **named)


async def test_a_document_needs_no_token_and_is_open_to_every_origin() -> None:
    reply = await get(app_of())
    assert (reply.status, reply.body) == (200, BODY)
    assert reply.headers["content-type"] == "application/json"
    assert reply.headers["access-control-allow-origin"] == "*"
    assert reply.headers["cache-control"] == "public, max-age=3600"


async def test_the_head_of_a_document_has_its_length_and_no_body() -> None:
    opened = open_request(app_of(), b"", PAGE, method="HEAD", path=DOCUMENT)
    await opened.ended()
    reply = opened.so_far
    assert reply is not None
    assert (reply.status, reply.body) == (200, b"")
    assert reply.headers["content-length"] == str(len(BODY))


async def test_a_page_may_ask_for_a_document_with_a_header_of_its_own() -> None:
    asked = PAGE | {"access-control-request-headers": "mcp-protocol-version"}
    reply = await get(app_of(), method="OPTIONS", headers=asked)
    assert reply.status == 204
    assert reply.headers["access-control-allow-headers"] == "*"
    assert reply.headers["access-control-allow-methods"] == "GET, HEAD"


@pytest.mark.parametrize("method", ["POST", "DELETE", "PUT"])
async def test_a_document_is_only_read(method: str) -> None:
    reply = await get(app_of(), method=method)
    assert (reply.status, reply.headers["allow"]) == (405, "GET, HEAD")


async def test_a_document_is_not_served_to_a_host_that_is_not_listed() -> None:
    app = app_of(allowed_hosts=["api.example"])
    assert (await get(app, headers={"host": "evil.example"})).status == 403
    assert (await get(app, headers={"host": "api.example"})).status == 200


async def test_another_path_has_no_document() -> None:
    assert (await get(app_of(), DOCUMENT + "/else", headers={})).status == 404


async def test_a_server_without_a_gate_has_no_documents() -> None:
    assert (await get(Server("open").asgi(), headers={})).status == 404


async def test_a_document_is_served_below_a_mount() -> None:
    app = Starlette(routes=[Mount("/api", app_of())])
    reply = await get(app, "/api" + DOCUMENT)
    assert (reply.status, reply.body) == (200, BODY)


@pytest.mark.parametrize("how", ["mount", "route"])
async def test_documents_at_the_root_of_a_site_are_those_of_the_mounted_server(how: str) -> None:
    gate = FakeGate(ALICE)
    gate.documents = {"/.well-known/oauth-protected-resource/api/mcp": BODY}
    mcp = app_of(gate=gate)
    root = (
        Mount("/.well-known", mcp.well_known)
        if how == "mount"
        else Route("/.well-known/oauth-protected-resource/api/mcp", mcp.well_known)
    )
    app = Starlette(routes=[root, Mount("/api", mcp)])
    reply = await get(app, "/.well-known/oauth-protected-resource/api/mcp")
    assert (reply.status, reply.body) == (200, BODY)
    if how == "mount":
        assert (await get(app, "/.well-known/else")).status == 404


async def test_frameworks_that_take_the_mount_out_of_the_path_are_understood() -> None:
    mcp = app_of()
    path = DOCUMENT.removeprefix("/.well-known")
    reply = await get(mcp.well_known, path, root_path="/.well-known")
    assert (reply.status, reply.body) == (200, BODY)


def test_an_app_without_a_gate_has_nothing_for_the_root_of_a_site() -> None:
    with pytest.raises(UsageError, match="make the app with `auth=`"):
        _ = Server("open").asgi().well_known
