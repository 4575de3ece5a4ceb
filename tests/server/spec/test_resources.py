"""Resources: declared, listed and read."""

from __future__ import annotations

from base64 import b64decode
from functools import partial
from pathlib import Path

import pytest

from mcp_gen import FileResources, Server, UsageError
from tests.server.spec.servers import bare, rich
from tests.server.spec.test_tools import guarded
from tests.support.connect import Connect
from tests.support.requirement import requirement


@requirement("resources:declared")
async def test_a_server_with_resources_declares_them(connect: Connect) -> None:
    async with connect(rich) as client:
        assert "resources" in (await client.server())["capabilities"]


# --- the list ---


@requirement("resources:list")
async def test_every_resource_is_listed(connect: Connect) -> None:
    async with connect(rich) as client:
        uris = await client.names("resources/list", "resources", "uri")
    assert uris == ["test://text", "test://binary", "test://broken"]


@requirement("resources:list:same-for-all")
async def test_the_list_is_the_same_on_every_connection_and_after_every_read(
    connect: Connect,
) -> None:
    async with connect(rich) as client:
        first = await client.pages("resources/list", "resources")
        await client.request("resources/read", {"uri": "test://text"})
        await client.refusal("resources/read", {"uri": "test://nowhere"})
        assert await client.pages("resources/list", "resources") == first
    async with connect(rich) as other:
        assert await other.pages("resources/list", "resources") == first


def growing() -> Server:
    """One that gets a resource when it is asked to."""
    server = rich()

    @server.tool
    async def grow() -> str:
        server.add_resource("test://more", "more")
        return "grown"

    return server


@requirement("resources:list:changed")
async def test_clients_are_told_when_the_list_changes(connect: Connect) -> None:
    async with connect(growing) as client:
        declared = (await client.server())["capabilities"]["resources"]
        await client.listen(**{} if client.profile.handshake else {"resourcesListChanged": True})
        await client.text("grow")
        await client.hears("notifications/resources/list_changed")
        assert "test://more" in await client.names("resources/list", "resources", "uri")
    assert declared["listChanged"] is True


# --- URIs ---


@requirement("resources:uris:valid")
async def test_what_is_no_uri_is_refused(connect: Connect) -> None:
    wrong = ["", "nowhere", "/etc/passwd", "test://te xt", "test://text\n", "://text", "te st://a"]
    async with connect(rich) as client:
        for uri in wrong:
            refused = await client.refusal("resources/read", {"uri": uri})
            assert refused.code in (-32602, -32002)


@requirement("resources:uris:schemes")
@pytest.mark.parametrize(
    "uri", ["text", "/text", "1a://text", "a_b://text", "://text", "", "a b:c"]
)
def test_a_resource_without_a_proper_scheme_is_refused(uri: str) -> None:
    with pytest.raises(UsageError, match=r"scheme|URI"):
        bare().add_resource(uri, "text")


@requirement("resources:uris:schemes")
@pytest.mark.parametrize("uri", ["a:b", "config://app", "x-1.2+3:anything", "urn:isbn:123"])
def test_a_resource_may_have_any_proper_scheme(uri: str) -> None:
    bare().add_resource(uri, "text")


# --- what is not there ---

MISSING = ["test://nowhere", "test://users/4", "test://users/no-number", "other://text"]


@requirement("resources:not-found-early")
async def test_what_is_not_there_has_a_code_of_its_own(connect: Connect) -> None:
    async with connect(rich) as client:
        for uri in MISSING:
            refused = await client.refusal("resources/read", {"uri": uri})
            assert (refused.code, refused.data) == (-32002, {"uri": uri})


@requirement("resources:not-found", "resources:not-found:not-empty")
async def test_what_is_not_there_is_an_invalid_parameter_and_never_empty(connect: Connect) -> None:
    async with connect(rich) as client:
        for uri in MISSING:
            refused = await client.refusal("resources/read", {"uri": uri})
            assert (refused.code, refused.data) == (-32602, {"uri": uri})


@requirement("resources:internal-error")
async def test_a_resource_that_fails_is_an_internal_error_that_leaks_nothing(
    connect: Connect,
) -> None:
    async with connect(rich) as client:
        refused = await client.refusal("resources/read", {"uri": "test://broken"})
    assert refused.code == -32603
    assert "secret" not in str(refused.error)


# --- who may read what ---


@requirement("resources:access")
async def test_a_resource_that_is_kept_from_a_client_cannot_be_read(connect: Connect) -> None:
    async with connect(guarded, capabilities={}) as client:
        assert await client.names("resources/list", "resources", "uri") == []
        hidden = await client.refusal("resources/read", {"uri": "test://text"})
        unknown = await client.refusal("resources/read", {"uri": "test://nowhere"})
    assert hidden.code == unknown.code
    async with connect(guarded, capabilities={"sampling": {}}) as client:
        await client.request("resources/read", {"uri": "test://text"})


def counting() -> Server:
    """One that tells how often its hidden resources were read."""
    server = Server("counting")
    reads: list[str] = []

    @server.resource("hidden://text")
    async def text() -> str:
        reads.append("text")
        return "text"

    @server.resource("hidden://users/{id}")
    async def user(id: str) -> str:
        reads.append(id)
        return id

    @server.tool
    async def how_often() -> int:
        return len(reads)

    server.filter_resources(lambda ctx, described: False)
    return server


@requirement("resources:permissions")
async def test_nothing_is_read_for_a_client_that_may_not(connect: Connect) -> None:
    async with connect(counting) as client:
        for uri in ("hidden://text", "hidden://users/1"):
            await client.refusal("resources/read", {"uri": uri})
        assert await client.text("how_often") == "0"


@requirement("resources:binary")
async def test_bytes_come_as_base64(connect: Connect) -> None:
    async with connect(rich) as client:
        (part,) = (await client.request("resources/read", {"uri": "test://binary"}))["contents"]
    assert b64decode(part["blob"], validate=True) == b"\x89PNG\x00\xff"
    assert part["mimeType"] == "image/png"


def filing(folder: Path) -> Server:
    """One that serves the files below a folder."""
    server = Server("filing")
    server.add_resources(FileResources(folder, prefix="files://"))
    server.add_resources(FileResources(folder))
    return server


@requirement("resources:traversal")
async def test_files_outside_of_their_folder_are_not_served(
    connect: Connect, tmp_path: Path
) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "a.txt").write_text("inside")
    (tmp_path / "secret.txt").write_text("not for you")
    (inside / "link.txt").symlink_to(tmp_path / "secret.txt")
    (inside / "up").symlink_to(tmp_path)
    ways = [
        "../secret.txt",
        "%2e%2e/secret.txt",
        "..%2fsecret.txt",
        "%2e%2e%2fsecret.txt",
        "a.txt/../../secret.txt",
        "./../secret.txt",
        "..\\secret.txt",
        "%5c..%5csecret.txt",
        "link.txt",
        "up/secret.txt",
        "/secret.txt",
        f"/{tmp_path}/secret.txt",
        "a.txt%00",
        "..;/secret.txt",
        "%c0%ae%c0%ae/secret.txt",
    ]
    async with connect(partial(filing, inside)) as client:
        for prefix in ("files://", inside.as_uri() + "/"):
            (part,) = (await client.request("resources/read", {"uri": prefix + "a.txt"}))[
                "contents"
            ]
            assert part["text"] == "inside"
            for way in ways:
                refused = await client.refusal("resources/read", {"uri": prefix + way})
                assert "not for you" not in str(refused.error)
