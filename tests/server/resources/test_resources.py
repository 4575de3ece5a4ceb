"""Resources and templates: definition, lists, matching and reading, at every revision."""

from __future__ import annotations

import enum
import uuid
from collections.abc import Callable
from typing import Any, Literal

import msgspec
import pytest

import mcp_wire
from mcp_gen import Context, McpError, ResourceNotFound, Server, UsageError
from mcp_wire import latest
from tests.support.frames import every_revision
from tests.support.peers.raw import talking

URI = "users://{id}/profile"


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


async def asked(server: Server, revision: str, method: str, **params: Any) -> Any:
    """Return the response to one request: a whole frame."""
    async with talking(server, revision) as client:
        return await client.ask(client.speaker.request(1, method, params))


async def read(server: Server, revision: str, uri: str) -> Any:
    return await asked(server, revision, "resources/read", uri=uri)


async def contents(server: Server, revision: str, uri: str) -> Any:
    """Return the only content part of a resource."""
    (part,) = (await read(server, revision, uri))["result"]["contents"]
    return part


def with_template(template: str, function: Callable[..., Any], **described: Any) -> Server:
    server = Server("resources")
    server.add_resource_template(template, function, **described)
    return server


# --- lists ---


@every_revision
async def test_a_resource_is_listed_with_all_that_the_revision_can_say(revision: str) -> None:
    server = Server("resources")
    icon = latest.Icon(src="https://example.org/a.png")
    server.add_resource(
        "config://app",
        "text",
        name="config",
        title="Configuration",
        description="All settings.",
        mime_type="text/markdown",
        annotations=latest.Annotations(priority=1),
        icons=[icon],
        meta={"com.example/a": 1},
    )
    (listed,) = (await asked(server, revision, "resources/list"))["result"]["resources"]
    whole = {
        "uri": "config://app",
        "name": "config",
        "title": "Configuration",
        "description": "All settings.",
        "mimeType": "text/markdown",
        "annotations": {"priority": 1},
        "icons": [{"src": "https://example.org/a.png"}],
        "size": 4,
        "_meta": {"com.example/a": 1},
    }
    fields = msgspec.structs.fields(mcp_wire.types(revision).Resource)
    known = {field.encode_name for field in fields}
    assert listed == {key: value for key, value in whole.items() if key in known}


@every_revision
async def test_a_template_is_listed_among_the_templates_alone(revision: str) -> None:
    async def profile(id: int) -> dict[str, int]:
        """Return a user's profile.

        And more.
        """
        return {"id": id}

    server = with_template(URI, profile)
    assert (await asked(server, revision, "resources/list"))["result"]["resources"] == []
    (listed,) = (await asked(server, revision, "resources/templates/list"))["result"][
        "resourceTemplates"
    ]
    assert listed == {
        "uriTemplate": URI,
        "name": "profile",
        "description": "Return a user's profile.",
        "mimeType": "application/json",
    }


@every_revision
async def test_lists_come_in_pages(revision: str) -> None:
    server = Server("resources")
    for number in range(3):
        server.add_resource(f"n://{number}", "text")
    server.resources.listing.page_size = 2
    async with talking(server, revision) as client:
        first = await client.ask(client.speaker.request(1, "resources/list"))
        cursor = first["result"]["nextCursor"]
        second = await client.ask(client.speaker.request(2, "resources/list", {"cursor": cursor}))
    pages = [[one["uri"] for one in page["result"]["resources"]] for page in (first, second)]
    assert pages == [["n://0", "n://1"], ["n://2"]]


@every_revision
async def test_a_server_without_resources_has_no_such_methods(revision: str) -> None:
    for method in ("resources/list", "resources/templates/list", "resources/read"):
        answer = await asked(Server("none"), revision, method, uri="a://b")
        assert answer["error"]["code"] == -32601


@every_revision
async def test_what_is_removed_is_gone(revision: str) -> None:
    server = with_template("users://{id}", lambda_of(str))
    server.add_resource("config://app", "text")
    server.remove_resource("config://app")
    server.remove_resource_template("users://{id}")
    assert (await asked(server, revision, "resources/list"))["result"]["resources"] == []
    for uri in ("config://app", "users://7"):
        assert "error" in await read(server, revision, uri)


def lambda_of(kind: Any) -> Callable[..., Any]:
    """Return a function of `id` that returns its argument."""

    def f(id: Any) -> str:
        return repr(id)

    f.__annotations__["id"] = kind
    return f


# --- reading: matched function and arguments ---


@every_revision
@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (str, "7", "7"),
        (str, "a%20b", "a b"),
        (int, "7", 7),
        (int, "-7", -7),
        (float, "1.5", 1.5),
        (bool, "true", True),
        (bool, "0", False),
        (Color, "red", Color.RED),
        (Literal["a", "b"], "b", "b"),
        (Literal[1, 2], "2", 2),
        (
            uuid.UUID,
            "12345678123456781234567812345678",
            uuid.UUID(int=0x1234567812345678 * (2**64 + 1)),
        ),
        (int | None, "7", 7),
        (int | str, "x", "x"),
        (Any, "7", "7"),
    ],
)
async def test_a_variable_comes_as_the_type_of_its_parameter(
    revision: str, kind: Any, text: str, value: object
) -> None:
    server = with_template(URI, lambda_of(kind))
    part = await contents(server, revision, f"users://{text}/profile")
    assert part["text"] == repr(value)


@every_revision
@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (int, "x"),
        (int, "1.5"),
        (bool, "yes"),
        (Color, "green"),
        (Literal["a"], "b"),
        (uuid.UUID, "7"),
    ],
)
async def test_a_value_of_another_type_names_no_resource(
    revision: str, kind: Any, text: str
) -> None:
    answer = await read(with_template(URI, lambda_of(kind)), revision, f"users://{text}/profile")
    code = mcp_wire.profile(revision).resource_not_found_code
    assert answer["error"]["code"] == code


@every_revision
async def test_segments_come_as_a_list_where_one_is_asked_for(revision: str) -> None:
    def f(path: list[str]) -> list[str]:
        return path

    part = await contents(with_template("tree://{path*}", f), revision, "tree://a/b%2Fc")
    assert part["text"] == '["a","b/c"]'


@every_revision
async def test_what_may_be_missing_in_a_query_has_its_default(revision: str) -> None:
    def f(q: str, limit: int = 10) -> str:
        return f"{q} {limit}"

    server = with_template("search://notes?q={q}{&limit}", f)
    assert (await contents(server, revision, "search://notes?q=a"))["text"] == "a 10"
    assert (await contents(server, revision, "search://notes?limit=5&q=a"))["text"] == "a 5"


@every_revision
async def test_a_function_gets_the_context_beside_its_variables(revision: str) -> None:
    server = Server("resources")

    @server.resource(URI)
    async def profile(id: int, ctx: Context) -> str:
        return f"{id} at {ctx.revision}"

    part = await contents(server, revision, "users://7/profile")
    assert part["text"] == f"7 at {revision}"


@every_revision
async def test_a_resource_stands_before_templates_and_these_in_the_order_they_came(
    revision: str,
) -> None:
    server = Server("resources")
    server.add_resource_template("u://{id}", lambda_of(int), name="number")
    server.add_resource_template("u://{id*}", lambda_of(str), name="path")
    server.add_resource("u://7", "itself")
    texts = [(await contents(server, revision, f"u://{id}"))["text"] for id in ("7", "8", "a/b")]
    assert texts == ["itself", "8", "'a/b'"]


@every_revision
async def test_a_uri_is_taken_as_it_was_sent(revision: str) -> None:
    server = Server("resources")
    server.add_resource("https://Example.org/a%7Eb", "text")
    assert (await contents(server, revision, "https://Example.org/a%7Eb"))["text"] == "text"
    for other in ("https://example.org/a%7Eb", "https://Example.org/a~b"):
        assert "error" in await read(server, revision, other)


@every_revision
async def test_characters_beyond_ascii_of_a_uri_are_escaped_in_its_result(revision: str) -> None:
    def joined(a: str, b: str) -> str:
        return a + b

    server = with_template("u://{a}/{b}", joined)
    part = await contents(server, revision, "u://é%20/\u0598")
    assert (part["uri"], part["text"]) == ("u://%C3%A9%20/%D6%98", "é \u0598")


@every_revision
async def test_a_method_of_an_object_serves_too(revision: str) -> None:
    class Notes:
        async def one(self, id: int) -> str:
            return f"note {id}"

    part = await contents(with_template("notes://{id}", Notes().one), revision, "notes://1")
    assert part["text"] == "note 1"


# --- failures ---


@every_revision
@pytest.mark.parametrize("uri", ["gone://a", "users://7/other"])
async def test_an_unknown_resource_has_the_code_of_the_revision_and_its_uri(
    revision: str, uri: str
) -> None:
    answer = await read(with_template(URI, lambda_of(str)), revision, uri)
    assert answer["error"]["code"] == mcp_wire.profile(revision).resource_not_found_code
    assert answer["error"]["data"] == {"uri": uri}


@every_revision
@pytest.mark.parametrize(
    "raised", [ResourceNotFound(), ResourceNotFound("users://x/profile"), None]
)
async def test_a_function_can_say_that_there_is_none(
    revision: str, raised: ResourceNotFound | None
) -> None:
    server = Server("resources")

    @server.resource(URI)
    async def profile(id: str) -> str | None:
        if raised:
            raise raised
        return None

    answer = await read(server, revision, "users://x/profile")
    assert answer["error"]["code"] == mcp_wire.profile(revision).resource_not_found_code
    assert answer["error"]["data"] == {"uri": "users://x/profile"}


@every_revision
@pytest.mark.parametrize("uri", ["", "no uri", "a b://c", "/etc/passwd", "a://b\nc"])
async def test_what_is_no_uri_is_a_bad_parameter(revision: str, uri: str) -> None:
    answer = await read(with_template(URI, lambda_of(str)), revision, uri)
    assert answer["error"]["code"] == -32602
    assert "expected a URI" in answer["error"]["message"]


@every_revision
async def test_params_of_another_shape_are_bad_parameters(revision: str) -> None:
    server = with_template(URI, lambda_of(str))
    for params in ({}, {"uri": 7}):
        answer = await asked(server, revision, "resources/read", **params)
        assert answer["error"]["code"] == -32602


@every_revision
async def test_an_error_of_the_protocol_goes_as_it_was_raised(revision: str) -> None:
    server = Server("resources")

    @server.resource("a://b")
    def f() -> str:
        raise McpError(-31000, "not today", {"a": 1})

    answer = await read(server, revision, "a://b")
    assert answer["error"] == {"code": -31000, "message": "not today", "data": {"a": 1}}


@every_revision
async def test_any_other_error_is_logged_and_tells_the_client_nothing(
    revision: str, caplog: pytest.LogCaptureFixture
) -> None:
    server = Server("resources")

    @server.resource("a://b")
    def f() -> str:
        raise RuntimeError("the secret")

    answer = await read(server, revision, "a://b")
    assert answer["error"] == {"code": -32603, "message": "internal error"}
    assert "the secret" in caplog.text
    assert len(caplog.records) == 1


# --- filters ---


@every_revision
async def test_what_a_filter_hides_is_neither_listed_nor_read(revision: str) -> None:
    server = with_template("u://{id}", lambda_of(str))
    server.add_resource("config://app", "text")
    server.add_resource("u://7", "text")
    for listing in (server.resources.listing, server.resources.templates):
        listing.filters.append(lambda ctx, one: isinstance(one, latest.ResourceTemplate))
    assert (await asked(server, revision, "resources/list"))["result"]["resources"] == []
    for uri in ("config://app", "u://7"):
        assert "error" in await read(server, revision, uri)
    assert (await contents(server, revision, "u://8"))["text"] == "'8'"


@every_revision
async def test_a_template_that_a_filter_hides_reads_nothing(revision: str) -> None:
    server = with_template("u://{id}", lambda_of(str))
    server.resources.templates.filters.append(lambda ctx, one: False)
    answer = await asked(server, revision, "resources/templates/list")
    assert answer["result"]["resourceTemplates"] == []
    assert "error" in await read(server, revision, "u://8")


# --- links ---


def test_a_link_says_what_the_list_says() -> None:
    server = Server("resources")
    server.add_resource("config://app", "text", title="Configuration", meta={"a": 1})
    assert server.resource_link("config://app") == latest.ResourceLink(
        name="config://app",
        uri="config://app",
        title="Configuration",
        mime_type="text/plain",
        size=4,
        meta={"a": 1},
    )


def test_a_link_to_a_resource_of_a_template_says_what_the_template_says() -> None:
    server = with_template("u://{id}", lambda_of(int), name="user", mime_type="text/plain")
    link = server.resource_link("u://7")
    assert link == latest.ResourceLink(name="user", uri="u://7", mime_type="text/plain")


def test_there_is_no_link_to_nothing() -> None:
    with pytest.raises(UsageError, match="no resource 'u://7' to link to"):
        Server("resources").resource_link("u://7")


# --- hooks ---


@every_revision
async def test_a_hook_of_the_list_sees_each_resource(revision: str) -> None:
    server, seen = Server("s"), list[str]()
    server.add_resource("a://b", "text", name="b")

    @server.hooks.after_list_resources
    def see(ctx: Context, params: Any, result: Any) -> None:
        seen.extend(resource.uri for resource in result.resources)

    listed = (await asked(server, revision, "resources/list"))["result"]["resources"]
    assert ([one["uri"] for one in listed], seen) == (["a://b"], ["a://b"])


@every_revision
async def test_a_hook_sees_results_of_the_newest_types(revision: str) -> None:
    server = with_template("u://{id}", lambda_of(str))
    seen: list[Any] = []

    @server.hooks.after_read_resource
    def see(ctx: Any, params: Any, result: Any) -> None:
        seen.append(result)

    await contents(server, revision, "u://7")
    assert type(seen[0]) is latest.ReadResourceResult
    assert type(seen[0].contents[0]) is latest.TextResourceContents
