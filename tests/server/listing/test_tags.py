"""Tags: enabling and disabling by name and by tag, options of the server, mounts, `_meta`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import mcp_wire
from mcp_gen import Client, Context, FileResources, Server, UsageError
from mcp_gen.types import Tool
from tests.support.frames import HANDSHAKE, PER_REQUEST, every_revision
from tests.support.peers.asked import Refused
from tests.support.peers.connect import talk
from tests.support.peers.conversation import Conversation

LISTS = {
    "tools/list": ("tools", "name"),
    "prompts/list": ("prompts", "name"),
    "resources/list": ("resources", "uri"),
    "resources/templates/list": ("resourceTemplates", "uriTemplate"),
}
ADMIN = {
    "tools": ["drop"],
    "prompts": ["scold"],
    "resources": ["secret://key"],
    "resourceTemplates": ["secret://{name}"],
}
PLAIN = {
    "tools": ["add"],
    "prompts": ["greet"],
    "resources": ["open://key"],
    "resourceTemplates": ["open://{name}"],
}
BOTH = {key: sorted([*ADMIN[key], *PLAIN[key]]) for key in PLAIN}
NONE: dict[str, list[str]] = {key: [] for key in PLAIN}


def tagged(**options: Any) -> Server:
    """Return a server with an item of each kind for everybody, and one for admins."""
    server = Server("tagged", **options)

    @server.tool(tags=["math", "basic"])
    async def add(a: int, b: int) -> int:
        return a + b

    @server.tool(tags={"admin"})
    async def drop() -> str:
        return "dropped"

    @server.prompt(tags=["basic"])
    async def greet() -> str:
        return "Hello"

    @server.prompt(tags=["admin"])
    async def scold() -> str:
        return "No"

    server.add_resource("open://key", "1", tags=["basic"])
    server.add_resource("secret://key", "2", tags=["admin"])

    @server.resource("open://{name}", tags=["basic"])
    async def read_open(name: str) -> str:
        return name

    @server.resource("secret://{name}", tags=["admin"])
    async def read_secret(name: str) -> str:
        return name

    return server


async def listed(client: Conversation) -> dict[str, list[str]]:
    """Return the sorted names or URIs of each list."""
    found: dict[str, list[str]] = {}
    for method, (key, by) in LISTS.items():
        try:
            found[key] = sorted(await client.names(method, key, by))
        except Refused:
            found[key] = []
    return found


@every_revision
@pytest.mark.parametrize(
    ("options", "seen"),
    [
        ({}, BOTH),
        ({"exclude_tags": ["admin"]}, PLAIN),
        ({"include_tags": ["admin"]}, ADMIN),
        ({"include_tags": ["admin", "basic"]}, BOTH),
        ({"include_tags": ["admin", "basic"], "exclude_tags": ["admin"]}, PLAIN),
        ({"include_tags": []}, NONE),
    ],
)
async def test_clients_see_items_by_the_tags_that_the_server_includes_and_excludes(
    revision: str, options: dict[str, Any], seen: dict[str, list[str]]
) -> None:
    async with talk(lambda: tagged(**options), revision) as client:
        assert await listed(client) == seen


@every_revision
async def test_what_is_hidden_cannot_be_used(revision: str) -> None:
    server = tagged(exclude_tags=["admin"])
    async with talk(lambda: server, revision) as client:
        for method, params, message in (
            ("tools/call", {"name": "drop", "arguments": {}}, "unknown tool: drop"),
            ("prompts/get", {"name": "scold"}, "unknown prompt: scold"),
            ("resources/read", {"uri": "secret://key"}, "resource not found: secret://key"),
            ("resources/read", {"uri": "secret://other"}, "resource not found: secret://other"),
        ):
            assert (await client.refusal(method, params)).error["message"] == message


@every_revision
async def test_tags_are_enabled_and_disabled_while_clients_are_connected(revision: str) -> None:
    server = tagged()
    async with talk(lambda: server, revision) as client:
        server.disable_tags("admin")
        assert await listed(client) == PLAIN
        server.disable_tags("basic")
        assert await listed(client) == NONE
        server.enable_tags("admin")
        assert await listed(client) == ADMIN
        server.enable_tags("basic")
        assert await listed(client) == BOTH
        assert await client.text("add", a=1, b=2) == "3"


async def test_an_item_that_is_added_later_has_the_same_fate() -> None:
    server = tagged()
    server.disable_tags("admin")
    async with talk(lambda: server, PER_REQUEST) as client:
        server.add_tool(lambda: "x", name="late", tags=["admin"])
        assert await client.names("tools/list", "tools") == ["add"]
        server.enable_tags("admin")
        assert await client.names("tools/list", "tools") == ["add", "drop", "late"]


@pytest.mark.parametrize(
    ("kind", "name", "key"),
    [
        ("tool", "add", "tools"),
        ("prompt", "greet", "prompts"),
        ("resource", "open://key", "resources"),
        ("resource_template", "open://{name}", "resourceTemplates"),
    ],
)
async def test_an_item_is_disabled_and_enabled_by_name_and_keeps_its_place(
    kind: str, name: str, key: str
) -> None:
    server = tagged()
    disable: Callable[[str], None] = getattr(server, f"disable_{kind}")
    enable: Callable[[str], None] = getattr(server, f"enable_{kind}")
    method, by = next((method, by) for method, (one, by) in LISTS.items() if one == key)
    async with talk(lambda: server, PER_REQUEST) as client:
        before = await client.names(method, key, by)
        disable(name)
        disable(name)
        assert await client.names(method, key, by) == ADMIN[key]
        enable(name)
        assert await client.names(method, key, by) == before


@pytest.mark.parametrize(
    ("act", "topic"),
    [
        (lambda server: server.disable_tool("add"), "tools"),
        (lambda server: server.disable_prompt("greet"), "prompts"),
        (lambda server: server.disable_resource("open://key"), "resources"),
        (lambda server: server.disable_tags("math"), "tools"),
    ],
)
async def test_clients_are_told_that_the_list_has_changed(
    act: Callable[[Server], None], topic: str
) -> None:
    server = tagged()
    async with talk(lambda: server, HANDSHAKE) as client:
        act(server)
        await client.hears(f"notifications/{topic}/list_changed")


async def test_nothing_is_told_where_nothing_changes() -> None:
    server, changes = tagged(), list[str]()
    server.tools.listing._changed = lambda: changes.append("tools")
    server.disable_tags("nobody")
    server.enable_tool("add")
    assert changes == []


async def test_a_disabled_item_keeps_its_name() -> None:
    server = tagged()
    server.disable_tool("add")
    with pytest.raises(UsageError) as caught:
        server.add_tool(lambda: 1, name="add")
    assert str(caught.value) == (
        "tool 'add' is there already; give one of them another name, or remove the first"
    )
    server.remove_tool("add")
    server.add_tool(lambda: 1, name="add")
    assert server.tools.names == ["drop", "add"]


async def test_a_tag_hides_what_is_enabled_by_name() -> None:
    server = tagged(exclude_tags=["admin"])
    server.disable_tool("drop")
    server.enable_tool("drop")
    assert server.tools.names == ["add"]
    server.disable_tool("drop")
    server.enable_tags("admin")
    assert server.tools.names == ["add"]


async def test_a_tool_of_a_session_has_tags_too() -> None:
    server = tagged(exclude_tags=["beta"])

    @server.tool
    async def begin(ctx: Context) -> None:
        ctx.server.for_session(ctx.session).add_tool(drop, name="own", tags=["beta"])

    async with talk(lambda: server, HANDSHAKE) as client:
        await client.call("begin")
        assert "own" not in await client.names("tools/list", "tools")
        server.enable_tags("beta")
        assert "own" in await client.names("tools/list", "tools")


async def drop() -> str:
    """Return a word."""
    return "dropped"


async def test_files_of_a_source_are_hidden_with_its_tags(tmp_path: Any) -> None:
    (tmp_path / "a.txt").write_text("a")
    server = Server("files")
    files = FileResources(tmp_path, prefix="docs://")
    server.add_resources(files)
    server.disable_resource_template(files.uri_template)
    async with talk(lambda: server, PER_REQUEST) as client:
        assert await client.names("resources/list", "resources", "uri") == []
        refused = await client.refusal("resources/read", {"uri": "docs://a.txt"})
    assert refused.error["message"] == "resource not found: docs://a.txt"


async def test_a_described_tool_and_a_transformed_one_have_tags() -> None:
    server = Server("described")
    server.add_tool(
        Tool(name="raw", input_schema={"type": "object"}),
        lambda ctx, arguments: "raw",
        tags=["admin"],
    )
    server.transform_tool("raw", keep=True, name="other")
    server.disable_tags("admin")
    assert server.tools.names == []


# --- mounts ---


@every_revision
@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize(
    ("options", "seen"),
    [
        ({}, BOTH),
        ({"exclude_tags": ["admin"]}, PLAIN),
        ({"include_tags": ["admin"]}, ADMIN),
    ],
)
async def test_a_mount_takes_items_by_their_tags(
    revision: str, depth: int, options: dict[str, Any], seen: dict[str, list[str]]
) -> None:
    inner = tagged()
    for _ in range(depth - 1):
        middle = Server("middle")
        middle.mount(None, inner)
        inner = middle
    outer = Server("outer")
    outer.mount(None, inner, **options)
    async with talk(lambda: outer, revision) as client:
        assert await listed(client) == seen
        for name in BOTH["tools"]:
            call = {"name": name, "arguments": {"a": 1, "b": 2} if name == "add" else {}}
            if name in seen["tools"]:
                assert await client.request("tools/call", call)
            else:
                await client.refusal("tools/call", call)
        for uri in ("open://key", "secret://key", "open://x", "secret://x"):
            if uri.partition(":")[0] in str(seen["resources"]):
                assert await client.request("resources/read", {"uri": uri})
            else:
                await client.refusal("resources/read", {"uri": uri})


async def test_what_is_left_out_is_not_read_where_a_session_is_mounted_too() -> None:
    far, inner, outer = Server("far"), tagged(), Server("outer")
    far.add_resource("far://one", "1")
    async with Client("test") as client:
        inner.mount("far", await client.connect(far))
        outer.mount("in", inner, exclude_tags=["admin"])
        async with talk(lambda: outer, PER_REQUEST) as reader:
            refused = await reader.refusal("resources/read", {"uri": "secret://key"})
    assert refused.error["message"] == "resource not found: secret://key"


async def test_what_a_mount_leaves_out_is_not_found_for_a_transform() -> None:
    outer = Server("outer")
    outer.mount("in", tagged(), exclude_tags=["admin"])
    with pytest.raises(UsageError):
        outer.transform_tool("in_drop", description="now seen")


async def test_the_tags_of_a_server_far_away_are_not_known() -> None:
    async with Client("test") as client:
        session = await client.connect(tagged())
        with pytest.raises(UsageError) as caught:
            Server("outer").mount("far", session, exclude_tags=["admin"])
    assert str(caught.value) == (
        "mount 'far': the tags of a server far away are not known here; choose what clients see "
        "with filter_tools, filter_resources and filter_prompts"
    )


# --- _meta ---


@every_revision
async def test_tags_are_in_meta_when_asked_where_the_revision_has_it(revision: str) -> None:
    has_meta = mcp_wire.availability("Tool._meta")
    server = tagged(tags_in_meta=True)
    async with talk(lambda: server, revision) as client:
        tools = (await client.request("tools/list"))["tools"]
        resources = (await client.request("resources/list"))["resources"]
    metas = [one.get("_meta") for one in (*tools, *resources)]
    expected = [["basic", "math"], ["admin"], ["basic"], ["admin"]]
    if revision in str(has_meta):
        assert metas == [{"mcp-gen/tags": tags} for tags in expected]
    else:
        assert metas == [None] * 4


@every_revision
async def test_tags_are_not_sent_unless_asked(revision: str) -> None:
    async with talk(tagged, revision) as client:
        tools = (await client.request("tools/list"))["tools"]
    assert [one.get("_meta") for one in tools] == [None, None]


@pytest.mark.parametrize(
    ("tags", "message"),
    [
        ("admin", "tool drop: tags='admin': expected several texts: write ['admin']"),
        (3, 'tool drop: tags=3: expected texts, such as ["admin"]'),
        (["a", 3], "tool drop: tags: 3 is no tag: expected a text that is not empty"),
        ([""], "tool drop: tags: '' is no tag: expected a text that is not empty"),
    ],
)
def test_wrong_tags_are_named(tags: Any, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        Server("wrong").add_tool(drop, tags=tags)
    assert str(caught.value) == message
