"""The MCP Inspector's command line in each of its modes, with servers in each of their modes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.peers.command import Command
from tests.peers.inspecting.inspector import inspect
from tests.peers.ways import (
    INSPECTED,
    REVISIONS,
    TOOLS,
    WAYS,
    Ask,
    Way,
    arguments,
    each_era,
    each_way,
    each_web,
)
from tests.peers.web import PATHS

ROOT = "file:///home/ada"

Commands = Callable[..., Command]

pytestmark = pytest.mark.timeout(120)
# Each case starts the Inspector: Node with its packages.
few = pytest.mark.few_cases(2)


# --- modes of the server ---


@each_era
def test_a_server_without_streams_or_without_sessions_is_called(
    bare_web: str, era: str, tmp_path: Path
) -> None:
    # It lists the tools first, to find the one that it calls.
    words = ("--protocol-era", era, "--method", "tools/call", "--tool-name", "add")
    assert inspect(tmp_path, f"{bare_web}/mcp", *words, "--tool-arg", "a=1", "b=2").text == "3"


# --- modes of the Inspector ---


@pytest.mark.parametrize("path", PATHS.values())
def test_it_tells_the_transport_from_the_url(web: str, path: str, tmp_path: Path) -> None:
    assert inspect(tmp_path, web + path, "--method", "initialize").shown["serverInfo"]


@few
@each_web
def test_its_headers_reach_the_server(ask: Ask, way: Way) -> None:
    call = ("--tool-name", "header", *arguments(name="x-colour"))
    assert ask("tools/call", "--header", "X-Colour: blue", *call).text == "blue"


def test_its_environment_reaches_the_server(tmp_path: Path) -> None:
    server = (sys.executable, str(INSPECTED), "-e", "COLOUR=blue")
    call = ("--tool-name", "variable", *arguments(name="COLOUR"))
    assert inspect(tmp_path, *server, "--method", "tools/call", *call).text == "blue"


def test_it_says_where_the_server_runs(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    server = (sys.executable, str(INSPECTED), "--cwd", str(tmp_path / "there"))
    found = inspect(tmp_path, *server, "--method", "tools/call", "--tool-name", "folder").text
    assert Path(found).samefile(tmp_path / "there")


@few
@each_web
def test_its_metadata_reaches_the_server(ask: Ask, way: Way) -> None:
    given = ("--metadata", "first=1", "--tool-metadata", "second=two")
    meta = ask("tools/call", "--tool-name", "meta", *given).shown["structuredContent"]
    assert (meta["first"], meta["second"]) == (1, "two")


def test_arguments_as_one_object_arrive_as_they_are(web: str, tmp_path: Path) -> None:
    call = ("--tool-name", "echo", "--tool-args-json", '{"text": "012"}')
    assert inspect(tmp_path, f"{web}/mcp", "--method", "tools/call", *call).text == "012"


def test_its_other_format_has_the_same_result(web: str, tmp_path: Path) -> None:
    call = ("--tool-name", "add", "--tool-arg", "a=1", "b=2", "--format", "json", "--quiet")
    assert inspect(tmp_path, f"{web}/mcp", "--method", "tools/call", *call).shown == {
        "result": {
            "content": [{"type": "text", "text": "3"}],
            "structuredContent": {"result": 3},
        }
    }


def test_it_writes_what_it_reads_to_a_file(web: str, tmp_path: Path) -> None:
    written = tmp_path / "logo.png"
    words = ("--uri", "notes://logo", "--output", str(written), "--output-format", "raw")
    assert inspect(tmp_path, f"{web}/mcp", "--method", "resources/read", *words).status == 0
    assert written.read_bytes().startswith(b"\x89PNG")


def test_it_finds_nothing_unportable_in_the_schemas_of_our_tools(web: str, tmp_path: Path) -> None:
    ran = inspect(tmp_path, f"{web}/mcp", "--method", "tools/list", "--strict")
    assert len(ran.shown["tools"]) == len(TOOLS)
    assert ran.stderr == ""


def test_it_finds_out_which_tools_are_apps(web: str, tmp_path: Path) -> None:
    ran = inspect(tmp_path, f"{web}/mcp", "--method", "tools/list", "--app-info")
    found = [json.loads(line) for line in ran.stdout.splitlines()]
    assert {one["toolName"]: one["hasApp"] for one in found} == dict.fromkeys(TOOLS, False)


@each_era
def test_it_loads_a_tool_and_no_call_fails(web: str, era: str, tmp_path: Path) -> None:
    words = ("--protocol-era", era, "--method", "tools/call", "--tool-name", "echo")
    load = (*arguments(text="hello"), "--load", "--load-requests", "200")
    shown = inspect(tmp_path, f"{web}/mcp", *words, *load).shown
    assert (shown["requests"], shown["ok"], shown["errors"]) == (200, 200, 0)


# --- servers of a file ---


@pytest.fixture
def file(web: str, command: Commands, tmp_path: Path) -> Path:
    """Return a file of servers in the clients' format; each entry has roots."""
    program, *words = command(INSPECTED).words
    pipes = {
        "command": program,
        "args": words,
        "env": {"COLOUR": "blue"},
        "cwd": str(tmp_path),
    }
    headers = {"X-Colour": "blue"}
    servers: dict[str, dict[str, Any]] = {
        "stdio-legacy": pipes,
        "stdio-modern": {**pipes, "protocolEra": "modern"},
        "http-legacy": {"type": "http", "url": f"{web}/mcp", "headers": headers},
        "http-modern": {"type": "http", "url": f"{web}/mcp", "protocolEra": "modern"},
        "sse-legacy": {"type": "sse", "url": f"{web}/sse", "headers": headers},
    }
    for one in servers.values():
        one["roots"] = [{"uri": ROOT}]
    written = tmp_path / "mcp.json"
    written.write_text(json.dumps({"mcpServers": servers}))
    return written


@few
@each_way
def test_a_server_of_a_file_asks_for_the_roots_that_the_file_has(
    file: Path, way: Way, tmp_path: Path
) -> None:
    words = ("--config", str(file), "--server", "-".join(way), "--method", "tools/call")
    assert inspect(tmp_path, *words, "--tool-name", "folders").text == ROOT


@pytest.mark.parametrize(
    ("server", "tool", "name"),
    [
        ("stdio-legacy", "variable", "COLOUR"),
        ("http-legacy", "header", "x-colour"),
        ("sse-legacy", "header", "x-colour"),
    ],
)
def test_a_server_of_a_file_gets_what_the_file_has_for_it(
    file: Path, server: str, tool: str, name: str, tmp_path: Path
) -> None:
    words = ("--config", str(file), "--server", server, "--method", "tools/call")
    assert inspect(tmp_path, *words, "--tool-name", tool, *arguments(name=name)).text == "blue"


def test_the_servers_of_a_file_are_listed(file: Path, tmp_path: Path) -> None:
    shown = inspect(tmp_path, "--config", str(file), "--method", "servers/list").shown
    assert [one["name"] for one in shown["servers"]] == sorted("-".join(way) for way in WAYS)


def test_a_server_of_a_file_is_shown(file: Path, web: str, tmp_path: Path) -> None:
    words = ("--config", str(file), "--server", "sse-legacy", "--method", "servers/show")
    shown = inspect(tmp_path, *words).shown
    assert (shown["type"], shown["detail"]) == ("sse", f"{web}/sse")


def test_a_server_that_was_put_into_a_catalog_is_called_by_its_name(
    web: str, tmp_path: Path
) -> None:
    catalog = ("--catalog", str(tmp_path / "catalog.json"))
    added = ("--server", "ours", "--server-url", f"{web}/mcp", "--transport", "http")
    assert inspect(tmp_path, *catalog, "--method", "servers/add", *added).status == 0
    renamed = ("--server", "ours", "--rename", "theirs", "--protocol-era", "modern")
    assert inspect(tmp_path, *catalog, "--method", "servers/edit", *renamed).status == 0
    words = (*catalog, "--server", "theirs", "--method", "initialize")
    assert inspect(tmp_path, *words).shown["protocolVersion"] == REVISIONS["modern"]
    removed = ("--server", "theirs", "--method", "servers/remove")
    assert inspect(tmp_path, *catalog, *removed).status == 0
