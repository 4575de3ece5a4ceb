"""The metadata of a protected resource, and its URL under mounts and behind proxies."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mcp_gen.auth import ResourceServer, StaticTokens
from tests.auth.server.requests import ISSUER, RESOURCE, challenges, refused, scope

WELL_KNOWN = "/.well-known/oauth-protected-resource"


def gate(**options: Any) -> ResourceServer:
    return ResourceServer(
        options.pop("issuer", ISSUER),
        audience=options.pop("audience", RESOURCE),
        verifier=StaticTokens({"token-of-alice": "alice"}),
        **options,
    )


async def document(server: ResourceServer, path: str, /, **more: Any) -> Any:
    lines = more.pop("lines", ())
    found = await server.document(scope(*lines, path=path, **more), path)
    return None if found is None else msgspec.json.decode(found)


async def metadata_url(server: ResourceServer, /, **more: Any) -> str:
    challenge = challenges(await refused(server, *more.pop("lines", ()), **more))[0]
    return challenge.partition('resource_metadata="')[2].partition('"')[0]


async def test_the_document_names_the_resource_its_authorization_servers_and_scopes() -> None:
    server = gate(scopes=["mcp"], resource_name="Files", documentation="https://example.com/docs")
    assert await document(server, WELL_KNOWN + "/mcp") == {
        "resource": RESOURCE,
        "authorization_servers": [ISSUER],
        "scopes_supported": ["mcp"],
        "bearer_methods_supported": ["header"],
        "resource_name": "Files",
        "resource_documentation": "https://example.com/docs",
    }


async def test_other_scopes_can_be_advertised_than_each_request_needs() -> None:
    server = gate(scopes=["mcp"], scopes_supported=["mcp", "files:read"])
    found = await document(server, WELL_KNOWN)
    assert found["scopes_supported"] == ["mcp", "files:read"]


@pytest.mark.parametrize("path", [WELL_KNOWN, WELL_KNOWN + "/", WELL_KNOWN + "/mcp"])
async def test_the_document_is_at_the_root_form_and_at_the_path_of_the_endpoint(path: str) -> None:
    assert (await document(gate(), path))["resource"] == RESOURCE


@pytest.mark.parametrize(
    "path",
    [WELL_KNOWN + "/other", WELL_KNOWN + "x", WELL_KNOWN + "cp", WELL_KNOWN + "/cp", "/mcp", "/"],
)
async def test_there_is_no_document_at_other_paths(path: str) -> None:
    assert await document(gate(), path) is None


async def test_without_an_issuer_there_is_no_document_and_no_url_of_one() -> None:
    server = gate(issuer=None)
    assert await document(server, WELL_KNOWN) is None
    assert await metadata_url(server) == ""


async def test_the_url_of_a_server_at_the_root_of_its_host_is_the_standard_one() -> None:
    assert await metadata_url(gate()) == f"https://api.example.com{WELL_KNOWN}/mcp"


@pytest.mark.parametrize(
    "mount",
    [
        {"root_path": "/base", "path": "/base/mcp"},
        # A proxy has taken the prefix away and says nothing of it.
        {"root_path": "", "path": "/mcp"},
    ],
)
async def test_the_url_under_a_mount_leads_to_the_app_that_serves_the_document(
    mount: dict[str, Any],
) -> None:
    server = gate(audience="https://api.example.com/base/mcp")
    url = await metadata_url(server, **mount)
    assert url == f"https://api.example.com/base{WELL_KNOWN}/mcp"
    found = await document(server, WELL_KNOWN + "/mcp")
    assert found["resource"] == "https://api.example.com/base/mcp"


async def test_the_url_is_that_of_the_endpoint_that_was_asked_whatever_its_path_is() -> None:
    server = gate(audience="https://api.example.com/base/rpc")
    url = await metadata_url(server, path="/rpc")
    assert url == f"https://api.example.com/base{WELL_KNOWN}/rpc"
    assert await document(server, WELL_KNOWN + "/rpc") is not None


async def test_the_whole_public_path_is_served_too_for_hosts_that_forward_it() -> None:
    server = gate(audience="https://api.example.com/base/mcp")
    found = await document(server, WELL_KNOWN + "/base/mcp")
    assert found["resource"] == "https://api.example.com/base/mcp"


async def test_a_path_that_a_proxy_rewrites_has_the_standard_url() -> None:
    server = gate(audience="https://api.example.com/tools")
    url = await metadata_url(server, path="/mcp")
    assert url == f"https://api.example.com{WELL_KNOWN}/tools"
    assert await document(server, WELL_KNOWN + "/tools") is not None


async def test_the_url_of_a_resource_without_path_has_none() -> None:
    server = gate(audience="https://api.example.com")
    assert await metadata_url(server, path="/") == f"https://api.example.com{WELL_KNOWN}"


async def test_the_url_of_the_metadata_can_be_given() -> None:
    server = gate(metadata_url="https://meta.example.com/x")
    assert await metadata_url(server) == "https://meta.example.com/x"


async def test_the_first_audience_that_is_a_url_is_the_resource() -> None:
    server = gate(audience=["api://files", RESOURCE])
    assert (await document(server, WELL_KNOWN))["resource"] == RESOURCE


async def test_a_given_resource_is_told_in_place_of_the_audience() -> None:
    server = gate(audience="https://audience.example.com", resource=RESOURCE)
    assert (await document(server, WELL_KNOWN))["resource"] == RESOURCE


# --- no URL is configured ---


@pytest.mark.parametrize(
    ("host", "more", "resource"),
    [
        ("evil.example", {}, "http://10.0.0.5:8000/mcp"),
        ("listed.example", {}, "http://listed.example/mcp"),
        ("listed.example:8443", {"scheme": "https"}, "https://listed.example:8443/mcp"),
        ("localhost:8000", {}, "http://10.0.0.5:8000/mcp"),
        ("localhost:8000", {"server": ("127.0.0.1", 8000)}, "http://localhost:8000/mcp"),
        ("[::1]:8000", {"server": ("::1", 8000)}, "http://[::1]:8000/mcp"),
        ("evil.example", {"server": ("::1", 8000)}, "http://[::1]:8000/mcp"),
        ("evil.example", {"server": ("10.0.0.5", 80)}, "http://10.0.0.5/mcp"),
        ("evil.example", {"server": None}, "http://localhost/mcp"),
        ("evil.example", {"root_path": "/base"}, "http://10.0.0.5:8000/base/mcp"),
        ("evil.example", {"root_path": '/ä"'}, "http://10.0.0.5:8000/%C3%A4%22/mcp"),
        ('localhost:8000"', {"server": ("127.0.0.1", 8000)}, "http://127.0.0.1:8000/mcp"),
    ],
)
async def test_without_a_url_it_comes_from_the_socket_or_a_host_that_is_believed(
    host: str, more: dict[str, Any], resource: str
) -> None:
    server = gate(audience="api://files", allowed_hosts=["listed.example"])
    found = await document(server, WELL_KNOWN, lines=[("host", host)], **more)
    assert found["resource"] == resource


async def test_two_host_headers_are_not_believed() -> None:
    server = gate(audience="api://files", allowed_hosts=["listed.example"])
    lines = [("host", "listed.example"), ("host", "listed.example")]
    found = await document(server, WELL_KNOWN, lines=lines)
    assert found["resource"] == "http://10.0.0.5:8000/mcp"


async def test_without_a_url_the_metadata_under_a_mount_leads_to_the_app() -> None:
    server = gate(audience="api://files", path="/rpc")
    url = await metadata_url(server, root_path="/base", path="/base/rpc")
    assert url == f"http://10.0.0.5:8000/base{WELL_KNOWN}/rpc"
    assert await document(server, WELL_KNOWN + "/rpc") is not None
    assert await document(server, WELL_KNOWN + "/mcp") is None
