"""A value of a URI template names nothing outside of where it stands, unless the template asks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mcp_gen import Client, FileResources, McpError, Server
from mcp_gen.server.resources.uri_templates import UriTemplate
from mcp_gen.types import (
    CompletionArgument,
    CompletionContext,
    PromptReference,
    ResourceTemplateReference,
)

ESCAPES = {
    "a dot": ".",
    "two dots": "..",
    "encoded dots": "%2e%2e",
    "dots encoded in part": ".%2E",
    "an encoded slash after dots": "..%2fsecret",
    "an encoded slash before dots": "a%2f..",
    "dots between encoded slashes": "a%2F..%2fb",
    "all encoded": "%2e%2e%2f%2e%2e%2fetc%2fpasswd",
    "a dot as a segment": "a%2f.%2fb",
    "an encoded slash first": "%2f..",
    "a backslash": "a%5cb",
    "dots and a backslash": "..%5C..%5Csecret",
    "a drive": "C%3A%5Csecret",
    "NUL": "a%00",
    "NUL behind a suffix": "secret%00.txt",
}
PLAIN = {
    "a word": "a",
    "an encoded slash": "a%2Fb",
    "an encoded slash first": "%2Fa",
    "three dots": "...",
    "a name that begins with dots": "..a",
    "a name that ends in dots": "a..",
    "a hidden file": ".a",
    "a suffix": "a.b",
    "two dots in a name": "a..b%2Fc",
    "dots that are encoded twice": "%252e%252e",
}
TEMPLATES = {
    "{x}": ("s://{x}", "s://"),
    "{x} in the middle": ("s://a/{x}/b", "s://a/"),
    "{.x}": ("s://a{.x}", "s://a."),
    "{/x}": ("s://a{/x}", "s://a/"),
    "{x*}": ("s://{x*}", "s://"),
    "{/x*}": ("s://a{/x*}", "s://a/"),
    "{?x}": ("s://a{?x}", "s://a?x="),
    "{&x}": ("s://a?b=1{&x}", "s://a?b=1&x="),
    "?x={x}": ("s://a?x={x}", "s://a?x="),
    "{#x}": ("s://a{#x}", "s://a#"),
}
ASKING = {
    "{+x}": ("s://{+x}", "s://"),
    "{+x} after a folder": ("s://a/{+x}", "s://a/"),
    "?x={+x}": ("s://a?x={+x}", "s://a?x="),
}


def uri_with(text: str, before: str, value: str) -> str:
    """Return a URI of a template with a value."""
    return before + value + ("/b" if text.endswith("/b") else "")


class TestTemplates:
    """Templates and the values that they take."""

    @pytest.mark.parametrize("value", ESCAPES.values(), ids=ESCAPES)
    @pytest.mark.parametrize(("text", "before"), TEMPLATES.values(), ids=TEMPLATES)
    @pytest.mark.parametrize("lists", [frozenset[str](), frozenset({"x"})])
    def test_take_no_value_that_leads_elsewhere(
        self, text: str, before: str, value: str, lists: frozenset[str]
    ) -> None:
        template = UriTemplate(text, lists if "*" in text else frozenset())
        assert template.match(uri_with(text, before, value)) is None

    @pytest.mark.parametrize("value", PLAIN.values(), ids=PLAIN)
    @pytest.mark.parametrize(("text", "before"), TEMPLATES.values(), ids=TEMPLATES)
    def test_take_all_other_values(self, text: str, before: str, value: str) -> None:
        assert UriTemplate(text).match(uri_with(text, before, value)) is not None

    @pytest.mark.parametrize("value", [*ESCAPES.values(), *PLAIN.values()])
    @pytest.mark.parametrize(("text", "before"), ASKING.values(), ids=ASKING)
    def test_take_every_value_if_they_ask(self, text: str, before: str, value: str) -> None:
        assert UriTemplate(text).match(before + value) is not None

    @pytest.mark.parametrize("uri", ["s://a/../b", "s://../a", "s://a/./b", "s://a/.."])
    def test_take_no_dots_between_slashes_that_are_not_encoded(self, uri: str) -> None:
        assert UriTemplate("s://{x*}").match(uri) is None


NOTES = ResourceTemplateReference(uri="note://{name}")


def a_server() -> tuple[Server, list[str]]:
    """Return a server with a template, and the values that its functions got."""
    server, got = Server("paths"), list[str]()

    @server.resource("note://{name}")
    def note(name: str) -> str:
        got.append(name)
        return name

    @server.completion("note://{name}", "name")
    def names(value: str, arguments: dict[str, str]) -> list[str]:
        got.extend([value, *arguments.values()])
        return ["any"]

    @server.prompt
    def ask(name: str) -> str:
        return name

    @server.completion("ask", "name")
    def texts(value: str) -> list[str]:
        got.append(value)
        return ["any"]

    return server, got


async def asked(server: Server, uri: str) -> int | None:
    """Read a resource; return the code of the error, None if there is none."""
    async with Client("test") as client:
        session = await client.connect(server)
        try:
            await session.read_resource(uri)
        except McpError as error:
            return error.code
    return None


def itself(server: Server) -> Server:
    """Return a server as it is."""
    return server


def mounted(server: Server) -> Server:
    """Return a server that mounts another with a prefix."""
    outer = Server("outer")
    outer.mount("inner", server)
    return outer


class TestServers:
    """Functions of servers get no value that leads elsewhere."""

    @pytest.mark.parametrize("value", ESCAPES.values(), ids=ESCAPES)
    @pytest.mark.parametrize("outer", [itself, mounted])
    async def test_reading_such_a_resource_finds_none(self, outer: Any, value: str) -> None:
        server, got = a_server()
        assert await asked(outer(server), f"note://{value}") == -32602
        assert got == []

    @pytest.mark.parametrize("value", ESCAPES.values(), ids=ESCAPES)
    async def test_nor_does_a_server_that_mounts_a_session(self, value: str) -> None:
        server, got = a_server()
        async with Client("gateway") as client:
            outer = Server("outer")
            outer.mount("inner", await client.connect(server))
            assert await asked(outer, f"note://{value}") == -32602
        assert got == []

    @pytest.mark.parametrize("value", PLAIN.values(), ids=PLAIN)
    @pytest.mark.parametrize("outer", [itself, mounted])
    async def test_reading_any_other_reads_it(self, outer: Any, value: str) -> None:
        server, got = a_server()
        assert await asked(outer(server), f"note://{value}") is None
        assert len(got) == 1

    @pytest.mark.parametrize("value", ESCAPES.values(), ids=ESCAPES)
    async def test_no_file_outside_of_its_folder_is_read(self, tmp_path: Path, value: str) -> None:
        (tmp_path / "inside").mkdir()
        (tmp_path / "secret").write_text("secret")
        server = Server("files")
        server.add_resources(FileResources(tmp_path / "inside", prefix="docs://"))
        assert await asked(server, f"docs://{value}") == -32602


async def completed(server: Server, ref: Any, value: str, folder: str | None = None) -> list[str]:
    """Complete the argument `name`; return the values."""
    argument = CompletionArgument(name="name", value=value)
    context = CompletionContext(arguments={"folder": folder}) if folder else None
    async with Client("test") as client:
        session = await client.connect(server)
        return (await session.complete(ref, argument, context)).completion.values


class TestCompletions:
    """Completion functions of templates get no value that leads elsewhere."""

    @pytest.mark.parametrize("value", ["../", "a/../", "../b", "./b", "a\\b", "..\\", "a\0"])
    @pytest.mark.parametrize("outer", [itself, mounted])
    async def test_a_value_that_no_uri_can_have_has_no_completions(
        self, outer: Any, value: str
    ) -> None:
        server, got = a_server()
        assert await completed(outer(server), NOTES, value) == []
        assert await completed(outer(server), NOTES, "a", folder=value) == []
        assert got == []

    @pytest.mark.parametrize("value", ["", ".", "..", "..a", "a/", "a/..", "a/.b"])
    async def test_the_beginning_of_another_value_is_completed(self, value: str) -> None:
        server, got = a_server()
        assert await completed(server, NOTES, value) == ["any"]
        assert got == [value]

    async def test_an_argument_of_a_prompt_is_any_text(self) -> None:
        server, got = a_server()
        assert await completed(server, PromptReference(name="ask"), "../") == ["any"]
        assert got == ["../"]
