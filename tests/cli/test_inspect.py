"""`mcp-gen inspect`: everything that a server has, at each revision, in three formats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

import mcp_wire
from mcp_gen import Server, ServerConfig
from mcp_gen.cli.console import server_options
from tests.cli.running import complaint, lines, printed_json, run
from tests.support.frames import every_revision


@dataclass
class Stock:
    items: int


def shelf() -> Server:
    server = Server("shelf", "2.1.0", title="The shelf", instructions="Take\nand give back.")

    @server.tool
    async def count(item: str, shelf: int = 1) -> Stock:
        """Count | the items."""
        return Stock(1)

    @server.resource("shelf://all", mime_type="text/plain")
    async def everything() -> str:
        return ""

    @server.resource("shelf://{name}", mime_type="text/plain")
    async def one(name: str) -> str:
        """Read one."""
        return name

    @server.prompt
    def review(item: str, style: str = "kind") -> str:
        return item

    return server


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Name the servers of these tests on the command line."""
    servers: dict[str, Server] = {"shelf": shelf(), "empty": Server("\x1b[2Jempty")}
    monkeypatch.setattr(server_options, "_named", lambda name: ServerConfig(target=servers[name]))


@every_revision
def test_everything_is_printed_as_json_at_a_revision(revision: str) -> None:
    found = printed_json("inspect", "shelf", "--revision", revision)
    names: dict[str, Any] = {
        kind: [one["name"] for one in found[kind]]
        for kind in ("tools", "resources", "resourceTemplates", "prompts")
    }
    assert names == {
        "tools": ["count"],
        "resources": ["everything"],
        "resourceTemplates": ["one"],
        "prompts": ["review"],
    }
    assert (found["protocolVersion"], found["serverInfo"]["version"]) == (revision, "2.1.0")
    assert found["instructions"] == "Take\nand give back."
    assert {"tools", "resources", "prompts"} <= found["capabilities"].keys()


@pytest.mark.parametrize("revision", mcp_wire.REVISIONS)
def test_items_have_what_their_revision_has(revision: str) -> None:
    (tool,) = printed_json("inspect", "shelf", "--revision", revision)["tools"]
    assert ("outputSchema" in tool) == ("Tool.output_schema" in _fields(revision))


def _fields(revision: str) -> list[str]:
    tool: Any = mcp_wire.types(revision).Tool
    return [f"Tool.{name}" for name in tool.__struct_fields__]


def test_everything_is_printed_as_tables() -> None:
    shown = lines("inspect", "shelf")
    assert ["server", "The", "shelf", "2.1.0"] in shown
    assert ["instructions", "Take"] in shown
    assert ["count", "item:", "string,", "shelf?:", "integer", "items:", "integer"] in [
        line[:7] for line in shown
    ]
    assert ["shelf://{name}", "one", "text/plain", "Read", "one."] in shown
    assert ["review", "item,", "style?"] in shown


def test_everything_is_printed_as_markdown() -> None:
    shown = run("inspect", "shelf", "--markdown", "--revision", mcp_wire.REVISIONS[0]).stdout
    assert shown.startswith(
        f"# shelf 2.1.0\n\nProtocol version {mcp_wire.REVISIONS[0]}. Capabilities: "
    )
    assert "\n| `count` | item: string, shelf?: integer |  | Count \\| the items. |\n" in shown
    assert "\n## Resource templates\n\n| template | name |" in shown
    assert "\n| `review` | item, style? |  |\n" in shown


@pytest.mark.parametrize("option", [[], ["--markdown"]])
def test_a_server_that_has_nothing_has_no_sections(option: list[str]) -> None:
    shown = run("inspect", "empty", *option)
    assert shown.exit_code == 0
    assert "Tools" not in shown.stdout
    assert "\x1b" not in shown.stdout


def test_two_formats_are_refused() -> None:
    said = complaint("inspect", "shelf", "--json", "--markdown")
    assert said == (
        "mcp-gen inspect: --json and --markdown are two ways to print; give one of them"
    )
