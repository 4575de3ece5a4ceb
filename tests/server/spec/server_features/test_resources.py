"""Spec tests of resources and templates."""

from __future__ import annotations

import base64
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

from mcp_gen import Context, FileResources, Server, UsageError
from mcp_wire import latest
from tests.server.spec.clients import is_admin, opened_as
from tests.support.peers.asked import Refused
from tests.support.peers.connect import Connect
from tests.support.peers.conversation import Conversation
from tests.support.requirement import requirement

BYTES = bytes(range(256))


def library() -> Server:
    """Return a server with resources of many kinds."""
    server = Server("library")

    @server.resource("test://text")
    async def text() -> str:
        return "Grüße"

    @server.resource("test://empty")
    async def empty() -> str:
        return ""

    @server.resource("test://binary", mime_type="image/png")
    async def binary() -> bytes:
        return BYTES

    @server.resource("test://broken")
    async def broken() -> str:
        raise RuntimeError("a secret of the inside")

    @server.resource("test://users/{id}")
    async def user(id: int) -> dict[str, int] | None:
        return {"id": id} if id < 4 else None

    return server


async def read(client: Conversation, uri: str) -> list[dict[str, Any]]:
    """Return the contents of a resource."""
    contents: list[dict[str, Any]] = (await client.request("resources/read", {"uri": uri}))[
        "contents"
    ]
    return contents


async def refusal(client: Conversation, uri: str) -> Refused:
    return await client.refusal("resources/read", {"uri": uri})


@requirement("resources:declared")
async def test_a_server_with_resources_declares_them(connect: Connect) -> None:
    async with connect(library) as client:
        told = await client.server()
    assert "resources" in told["capabilities"]


# --- the list ---


def guarded() -> Server:
    """Return a server whose `test://secret` is for the client `admin` alone; it counts reads."""
    server = Server("guarded", page_size=2)
    reads: list[str] = []

    for name in ("pear", "secret", "apple", "fig"):
        uri = f"test://{name}"

        async def tell(uri: str) -> str:
            reads.append(uri)
            return uri

        server.add_resource(uri, partial(tell, uri), name=name)

    @server.resource("test://secret/{of}")
    async def secret(of: str) -> str:
        reads.append(of)
        return of

    @server.filter_resources
    def may(ctx: Context, item: latest.Resource | latest.ResourceTemplate) -> bool:
        return "secret" not in item.name or is_admin(ctx)

    @server.tool
    async def count() -> int:
        return len(reads)

    return server


@requirement("resources:list")
async def test_each_client_is_listed_every_resource_that_it_may_read(connect: Connect) -> None:
    seen = {}
    for name in ("admin", "guest"):
        async with connect(guarded, opened=False) as client:
            await opened_as(client, name)
            seen[name] = [
                await client.names("resources/list", "resources"),
                await client.names("resources/templates/list", "resourceTemplates"),
            ]
    assert seen == {
        "admin": [["pear", "secret", "apple", "fig"], ["secret"]],
        "guest": [["pear", "apple", "fig"], []],
    }


@cache
def shared() -> Server:
    """Return the same server for every connection of this process."""
    return library()


@requirement("resources:list:same-for-all")
async def test_resources_are_the_same_on_each_connection_whatever_was_asked_before(
    connect: Connect,
) -> None:
    async with connect(shared) as one, connect(shared) as other:
        first = await lists(one)
        await read(other, "test://users/1")
        await refusal(other, "test://nowhere")
        assert await lists(other) == first
        assert await lists(one) == first


async def lists(client: Conversation) -> Any:
    return [
        await client.pages("resources/list", "resources"),
        await client.pages("resources/templates/list", "resourceTemplates"),
    ]


def growing() -> Server:
    """Return a server whose tools add and remove a resource."""
    server = Server("growing", declare=["resources"])

    @server.tool
    async def grow() -> str:
        server.add_resource("test://extra", "text", name="extra")
        return "grown"

    @server.tool
    async def shrink() -> str:
        server.remove_resource("test://extra")
        return "shrunk"

    return server


@requirement("resources:list:changed")
async def test_clients_that_want_to_hear_of_it_are_told_that_resources_came_and_went(
    connect: Connect,
) -> None:
    changed = "notifications/resources/list_changed"
    async with connect(growing) as client:
        await client.listen(resourcesListChanged=True)
        await client.text("grow")
        await client.hears(changed, 1)
        assert await client.names("resources/list", "resources") == ["extra"]
        await client.text("shrink")
        await client.hears(changed, 2)
        assert await client.names("resources/list", "resources") == []


# --- URIs ---


@requirement("resources:uris:valid")
async def test_a_uri_that_is_none_is_invalid_params(connect: Connect) -> None:
    async with connect(library) as client:
        for uri in ("", "text", "/etc/passwd", "://text", "1test://text", "test://a b", "a\nb:c"):
            assert (await refusal(client, uri)).code == -32602, uri
        assert (await client.refusal("resources/read", {})).code == -32602


@requirement("resources:uris:schemes")
@pytest.mark.parametrize(
    "uri", ["", "text", "/text", "//host/text", "1a:text", "a_b:text", ":text"]
)
@pytest.mark.parametrize("more", ["", "/{id}"], ids=["resource", "template"])
def test_a_uri_without_a_proper_scheme_is_refused_when_it_is_defined(uri: str, more: str) -> None:
    async def tell(**_: str) -> str:
        return "text"

    async def tell_of(id: str) -> str:
        return id

    with pytest.raises(UsageError):
        Server("schemes").resource(uri + more)(tell_of if more else tell)


# --- unreadable values ---


NOWHERE = ["test://nowhere", "test://TEXT", "test://text/", "test://users/9", "test://users/one"]


@requirement("resources:not-found-early")
async def test_what_there_is_none_of_is_not_found(connect: Connect) -> None:
    async with connect(library) as client:
        for uri in NOWHERE:
            refused = await refusal(client, uri)
            assert (refused.code, refused.data) == (-32002, {"uri": uri})


@requirement("resources:not-found")
async def test_what_there_is_none_of_is_invalid_params(connect: Connect) -> None:
    async with connect(library) as client:
        for uri in NOWHERE:
            assert (await refusal(client, uri)).code == -32602, uri


@requirement("resources:not-found:not-empty")
async def test_only_what_is_there_can_be_empty(connect: Connect) -> None:
    async with connect(library) as client:
        (contents,) = await read(client, "test://empty")
        assert contents["text"] == ""
        for uri in NOWHERE:
            assert (await refusal(client, uri)).code < 0


@requirement("resources:internal-error")
async def test_a_resource_that_fails_is_an_internal_error_that_tells_no_secret(
    connect: Connect,
) -> None:
    async with connect(library) as client:
        refused = await refusal(client, "test://broken")
    assert refused.code == -32603
    assert "secret" not in str(refused.error)


# --- security ---


def files(root: Path) -> Server:
    """Return a server of the files in a folder."""
    server = Server("files")
    server.add_resources(FileResources(root, prefix="docs://"))
    return server


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a folder with files, and a link to a file outside of it."""
    folder = tmp_path / "docs"
    (folder / "guide").mkdir(parents=True)
    (folder / "guide" / "intro.txt").write_text("inside")
    (tmp_path / "outside.txt").write_text("outside")
    (tmp_path / "docs-too").mkdir()
    (tmp_path / "docs-too" / "outside.txt").write_text("outside")
    (folder / "link.txt").symlink_to(tmp_path / "outside.txt")
    (folder / "up").symlink_to(tmp_path)
    return folder


OUTSIDE = [
    "../outside.txt",
    "%2e%2e/outside.txt",
    "..%2foutside.txt",
    "%2e%2e%2foutside.txt",
    "%252e%252e/outside.txt",
    "..\\outside.txt",
    "guide/../../outside.txt",
    "guide/..%2f..%2foutside.txt",
    "../docs-too/outside.txt",
    "./../outside.txt",
    "link.txt",
    "up/outside.txt",
    "guide/intro.txt%00",
    "/etc/passwd",
    "%2fetc%2fpasswd",
    "",
    ".",
    "..",
]


@requirement("resources:traversal")
async def test_no_path_leads_out_of_the_folder(connect: Connect, root: Path) -> None:
    paths = [*OUTSIDE, str(root.parent / "outside.txt")]
    async with connect(partial(files, root)) as client:
        assert (await read(client, "docs://guide/intro.txt"))[0]["text"] == "inside"
        for path in paths:
            assert (await refusal(client, f"docs://{path}")).code == -32602, path
        assert await client.names("resources/list", "resources") == ["guide/intro.txt"]


HIDDEN = ["test://secret", "test://secret/1"]


@requirement("resources:access")
async def test_a_resource_that_a_client_may_not_see_is_not_there_for_it(connect: Connect) -> None:
    async with connect(guarded, opened=False) as client:
        await opened_as(client, "guest")
        for uri in HIDDEN:
            refused = await refusal(client, uri)
            unknown = await refusal(client, "test://nowhere")
            assert refused.code == unknown.code
            assert str(refused) == str(unknown).replace("test://nowhere", uri)
            if connect.profile.listen is None:
                params = {"uri": uri}
                assert (await client.refusal("resources/subscribe", params)).code == unknown.code
    async with connect(guarded, opened=False) as client:
        await opened_as(client, "admin")
        assert all([await read(client, uri) for uri in HIDDEN])


@requirement("resources:permissions")
async def test_nothing_is_read_for_a_client_that_may_not_read_it(connect: Connect) -> None:
    async with connect(guarded, opened=False) as client:
        await opened_as(client, "guest")
        for uri in HIDDEN:
            await refusal(client, uri)
        assert await client.text("count") == "0"
        await read(client, "test://pear")
        assert await client.text("count") == "1"


@requirement("resources:binary")
async def test_binary_contents_are_base64(connect: Connect) -> None:
    async with connect(library) as client:
        (contents,) = await read(client, "test://binary")
    assert "text" not in contents
    assert base64.b64decode(contents["blob"], validate=True) == BYTES
