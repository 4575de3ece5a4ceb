"""`Server(hide_unauthorized=True)`: lists have what the token of the request has the scopes for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from mcp_gen import CacheHints, Client, Context, Server
from mcp_gen.server.resources.resource import ListedResource
from mcp_gen.types import Resource
from tests.auth.serving.servers import guarded
from tests.client.using import using
from tests.support.frames import PER_REQUEST, each_lifecycle, every_revision
from tests.support.http.gated import GatedClient, access_token, gated_client

READER = access_token("alice", "read")
ADMIN = access_token("alice", "read", "admin")
PUBLIC = CacheHints(ttl_ms=1000, cache_scope="public")

LISTS = {
    "tools/list": ("tools", "name"),
    "prompts/list": ("prompts", "name"),
    "resources/list": ("resources", "uri"),
    "resources/templates/list": ("resourceTemplates", "uriTemplate"),
}


class Drawer:
    """Source of resources."""

    uri_template = "drawer://{path}"
    described: Any = {"scopes": ["admin"]}  # noqa: RUF012

    async def page(self, ctx: Any, after: str, limit: int | None) -> Sequence[Any]:
        every = [ListedResource("a", Resource(name="a", uri="drawer://a"))]
        return [one for one in every if one.key > after][:limit]

    async def find(self, ctx: Any, path: str) -> Resource | None:
        return Resource(name=path, uri=f"drawer://{path}")

    async def read(self, path: str, ctx: Context) -> Any:
        return path


def text_of(id: str) -> str:
    return id


def items(**options: Any) -> Server[Any]:
    server = Server("items", **options)
    for name, scopes in (("free", []), ("kept", ["admin"])):
        server.add_tool(lambda: "ok", name=name, scopes=scopes)
        server.add_prompt(lambda: "ok", name=name, scopes=scopes)
        server.add_resource(f"{name}://it", "text", scopes=scopes)
        server.add_resource_template(f"{name}://t/{{id}}", text_of, scopes=scopes)
    return server


def hiding(**options: Any) -> Server[Any]:
    return items(hide_unauthorized=True, **options)


def mounted(**options: Any) -> Server[Any]:
    server = Server("outer", hide_unauthorized=True, **options)
    server.mount(None, items(**options))
    return server


def hiding_inside(**options: Any) -> Server[Any]:
    server = Server("outer", **options)
    server.mount(None, hiding(**options))
    return server


each_hiding = pytest.mark.parametrize("make", [hiding, mounted, hiding_inside])


async def listed(client: GatedClient, method: str, **params: Any) -> list[str]:
    field, key = LISTS[method]
    found = (await client.ask(method, **params)).frame["result"][field]
    return [one[key].partition(":")[0] for one in found]


@each_hiding
@each_lifecycle
@pytest.mark.parametrize("method", LISTS)
async def test_what_a_token_lacks_scopes_for_is_left_out_of_its_lists(
    method: str, revision: str, make: Any
) -> None:
    async with gated_client(guarded(make(), READER, ADMIN), revision, READER) as client:
        for _ in range(2):  # a list that was made for one token is not that of another
            client.token = READER
            assert await listed(client, method) == ["free"]
            client.token = ADMIN
            assert await listed(client, method) == ["free", "kept"]


@every_revision
async def test_without_the_option_everything_is_listed(revision: str) -> None:
    async with gated_client(guarded(items(), READER), revision, READER) as client:
        assert await listed(client, "tools/list") == ["free", "kept"]


@each_hiding
async def test_such_a_list_is_private(make: Any) -> None:
    app = guarded(make(cache_hints=PUBLIC), READER)
    async with gated_client(app, PER_REQUEST, READER) as client:
        for method in LISTS:
            result = (await client.ask(method)).frame["result"]
            assert (result["cacheScope"], result["ttlMs"]) == ("private", 1000)


@pytest.mark.parametrize(
    "server", [items(cache_hints=PUBLIC), Server("x", cache_hints=PUBLIC, hide_unauthorized=True)]
)
async def test_a_list_that_is_the_same_for_every_token_may_be_public(server: Server[Any]) -> None:
    if not len(server.tools):
        server.add_tool(lambda: "ok", name="free")
    async with gated_client(guarded(server, READER), PER_REQUEST, READER) as client:
        result = (await client.ask("tools/list")).frame["result"]
    assert result["cacheScope"] == "public"


@each_hiding
@each_lifecycle
async def test_a_hidden_tool_that_is_called_is_refused_with_its_scopes(
    revision: str, make: Any
) -> None:
    async with gated_client(guarded(make(), READER), revision, READER) as client:
        answered = await client.call("kept")
        assert (answered.status, answered.challenge) == (
            403,
            'Bearer error="insufficient_scope", scope="admin"',
        )
        assert (await client.ask("resources/read", uri="kept://t/1")).status == 403
        assert (await client.ask("resources/read", uri="free://t/1")).status == 200


@each_hiding
async def test_a_cursor_goes_on_where_it_was_with_another_token_of_the_same_user(
    make: Any,
) -> None:
    server = make(page_size=2)
    owner = server if not server.mounts else server.mounts[0].server
    server.tools.listing.page_size = owner.tools.listing.page_size = 2
    for number in range(4):
        owner.add_tool(lambda: "ok", name=f"kept{number}", scopes=["admin"])
        owner.add_tool(lambda: "ok", name=f"free{number}")
    async with gated_client(guarded(server, READER, ADMIN), PER_REQUEST, READER) as client:
        first = (await client.ask("tools/list")).frame["result"]
        assert [one["name"] for one in first["tools"]] == ["free", "free0"]
        client.token = ADMIN
        second = await listed(client, "tools/list", cursor=first["nextCursor"])
        assert second == ["kept1", "free1"]
        client.token = READER
        second = await listed(client, "tools/list", cursor=first["nextCursor"])
        assert second == ["free1", "free2"]


async def test_resources_of_a_source_are_hidden_with_their_template() -> None:
    server = Server("source", hide_unauthorized=True)
    server.add_resources(Drawer())
    async with gated_client(guarded(server, READER, ADMIN), PER_REQUEST, READER) as client:
        assert await listed(client, "resources/list") == []
        assert (await client.ask("resources/read", uri="drawer://a")).status == 403
        client.token = ADMIN
        assert await listed(client, "resources/list") == ["drawer"]
        assert (await client.ask("resources/read", uri="drawer://a")).status == 200


@each_hiding
async def test_nothing_is_hidden_where_there_are_no_tokens(make: Any) -> None:
    async with using(Client("app"), make(), None) as session:
        assert [one.name async for one in session.tools()] == ["free", "kept"]


async def test_what_a_session_has_of_its_own_is_hidden_too() -> None:
    server = Server("own", hide_unauthorized=True)

    @server.tool
    def add(ctx: Context) -> str:
        assert ctx.session is not None
        own: Any = ctx.server.for_session(ctx.session)
        own.add_tool(lambda: "ok", name="kept", scopes=["admin"])
        return "added"

    async with gated_client(guarded(server, READER, ADMIN), "2025-11-25", READER) as client:
        await client.call("add")
        assert await listed(client, "tools/list") == ["add"]
        client.token = ADMIN
        assert await listed(client, "tools/list") == ["add", "kept"]
