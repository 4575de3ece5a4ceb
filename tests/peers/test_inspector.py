"""The MCP Inspector's command line asks our servers, in every way that it knows to reach one."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.peers.command import Command
from tests.peers.inspector import Ran, inspect
from tests.peers.observations import TOOLS
from tests.peers.web import PATHS, Served, serving

INSPECTED = Path(__file__).with_name("inspected_server.py")
OWN = ["folder", "header", "meta", "take", "variable"]
"""The tools that the inspected server has beside those of the everything-server."""
REVISIONS = {"legacy": "2025-11-25", "modern": "2026-07-28"}
ROOT = "file:///home/ada"

pytestmark = pytest.mark.timeout(120)

Commands = Callable[..., Command]
Ask = Callable[..., Ran]


# --- servers ---


@contextmanager
def served(**options: Any) -> Iterator[Served]:
    with serving(INSPECTED, **options) as web:
        yield web
        assert web.end() == 0
        assert "Traceback" not in web.stderr


@pytest.fixture(scope="session")
def web() -> Iterator[str]:
    """Where a server listens: `/mcp`, and `/sse` for clients of 2024-11-05."""
    with served(transport="sse") as found:
        yield found.url


@pytest.fixture(scope="session", params=["stateless", "json_only"])
def bare_web(request: pytest.FixtureRequest) -> Iterator[str]:
    """Where a server listens that leaves out a part of HTTP."""
    with served(**{request.param: True}) as found:
        yield found.url


# --- ways to reach them ---


class Way(NamedTuple):
    """How the Inspector is told to reach a server."""

    transport: str
    era: str

    @property
    def revision(self) -> str:
        return REVISIONS[self.era]


WAYS = [
    Way("stdio", "legacy"),
    Way("stdio", "modern"),
    Way("http", "legacy"),
    Way("http", "modern"),
    Way("sse", "legacy"),
]
each_way = pytest.mark.parametrize("way", WAYS, ids="-".join)
each_web = pytest.mark.parametrize("way", [w for w in WAYS if w.transport in PATHS], ids="-".join)
each_handshake = pytest.mark.parametrize(
    "way", [w for w in WAYS if w.era == "legacy"], ids="-".join
)
each_era = pytest.mark.parametrize("era", REVISIONS)


@pytest.fixture
def server(way: Way, request: pytest.FixtureRequest) -> Iterator[list[str]]:
    """What the Inspector's command line begins with to reach a server that way."""
    if way.transport in PATHS:
        url = request.getfixturevalue("web") + PATHS[way.transport]
        yield ["--server-url", url, "--transport", way.transport]
        return
    command = request.getfixturevalue("command")(INSPECTED)
    # What comes before the dashes is the server's, dashes and all.
    yield [*command.words, "--"]
    assert "Traceback" not in command.stderr
    assert command.exit_status == 0


@pytest.fixture
def ask(way: Way, server: list[str], tmp_path: Path) -> Ask:
    """Run one method against a server that is reached this way."""

    def ask(method: str, *words: str) -> Ran:
        return inspect(tmp_path, *server, "--protocol-era", way.era, "--method", method, *words)

    return ask


def arguments(**values: str) -> list[str]:
    return [word for name, value in values.items() for word in ("--tool-arg", f"{name}={value}")]


# --- every method, every way ---


@each_way
def test_it_learns_who_the_server_is(ask: Ask, way: Way) -> None:
    shown = ask("initialize").shown
    assert (shown["serverInfo"]["name"], shown["protocolVersion"]) == ("everything", way.revision)
    assert sorted(shown["capabilities"]) == [
        "completions",
        "logging",
        "prompts",
        "resources",
        "tools",
    ]
    assert shown["instructions"].startswith("Tools, resources and prompts")


@each_way
def test_it_lists_tools_with_their_schemas(ask: Ask, way: Way) -> None:
    found = {tool["name"]: tool for tool in ask("tools/list").shown["tools"]}
    assert sorted(found) == sorted([*TOOLS, *OWN])
    assert found["add"]["inputSchema"] == {
        "type": "object",
        "properties": {
            "a": {"type": "integer", "description": "The first number"},
            "b": {"type": "integer", "description": "The second number"},
        },
        "required": ["a", "b"],
    }


@each_way
def test_it_calls_a_tool_with_arguments_of_every_kind(ask: Ask, way: Way) -> None:
    given = arguments(
        text="hello",
        whole="3",
        share="0.5",
        sure="true",
        size="large",
        words='["a", "b"]',
        counts='{"x": 1}',
        place='{"city": "Oslo"}',
        day="2026-07-28",
        nothing="null",
    )
    assert ask("tools/call", "--tool-name", "take", *given).shown["structuredContent"] == {
        "text": "hello",
        "whole": 3,
        "share": 0.5,
        "sure": True,
        "size": "large",
        "words": ["a", "b"],
        "counts": {"x": 1},
        "place": ["Oslo", "Norway"],
        "day": "2026-07-28",
        "nothing": None,
        "left out": 7,
    }


@each_way
def test_it_lists_resources(ask: Ask, way: Way) -> None:
    found = [resource["uri"] for resource in ask("resources/list").shown["resources"]]
    assert sorted(found) == [
        "notes://board",
        "notes://logo",
        "notes://settings",
        "notes://welcome",
    ]


@each_way
def test_it_lists_templates(ask: Ask, way: Way) -> None:
    (found,) = ask("resources/templates/list").shown["resourceTemplates"]
    assert (found["uriTemplate"], found["title"]) == ("users://{id}/profile", "Users")


@each_way
def test_it_reads_a_resource(ask: Ask, way: Way) -> None:
    (part,) = ask("resources/read", "--uri", "users://2/profile").shown["contents"]
    assert part["uri"] == "users://2/profile"
    assert json.loads(part["text"]) == {"id": 2, "name": "Grace"}


@each_way
def test_it_lists_prompts_with_their_arguments(ask: Ask, way: Way) -> None:
    found = {prompt["name"]: prompt for prompt in ask("prompts/list").shown["prompts"]}
    assert sorted(found) == ["greet", "introduce", "review", "trip"]
    assert [(one["name"], one.get("required")) for one in found["greet"]["arguments"]] == [
        ("name", True),
        ("style", None),
    ]


@each_way
def test_it_gets_a_prompt_filled_in(ask: Ask, way: Way) -> None:
    words = ("--prompt-name", "greet", "--prompt-args", "name=Ada", "style=short")
    (message,) = ask("prompts/get", *words).shown["messages"]
    text = "Write a short greeting for Ada."
    assert message == {"role": "user", "content": {"type": "text", "text": text}}


@each_handshake
def test_it_sets_the_log_level(ask: Ask, way: Way) -> None:
    assert ask("logging/setLevel", "--log-level", "warning").shown == {}


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
    assert len(ran.shown["tools"]) == len([*TOOLS, *OWN])
    assert ran.stderr == ""


def test_it_finds_out_which_tools_are_apps(web: str, tmp_path: Path) -> None:
    ran = inspect(tmp_path, f"{web}/mcp", "--method", "tools/list", "--app-info")
    found = [json.loads(line) for line in ran.stdout.splitlines()]
    assert {one["toolName"]: one["hasApp"] for one in found} == dict.fromkeys([*TOOLS, *OWN], False)


@each_era
def test_it_loads_a_tool_and_no_call_fails(web: str, era: str, tmp_path: Path) -> None:
    words = ("--protocol-era", era, "--method", "tools/call", "--tool-name", "echo")
    load = (*arguments(text="hello"), "--load", "--load-requests", "200")
    shown = inspect(tmp_path, f"{web}/mcp", *words, *load).shown
    assert (shown["requests"], shown["ok"], shown["errors"]) == (200, 200, 0)


# --- what goes wrong ---


@each_web
def test_a_tool_that_fails_is_a_result_that_says_so(ask: Ask, way: Way) -> None:
    ran = ask("tools/call", "--tool-name", "fail", *arguments(reason="out of paper"))
    assert (ran.status, ran.error["code"]) == (5, "tool_is_error")
    assert json.loads(ran.stdout)["content"][0]["text"] == "out of paper"


@each_web
def test_an_error_of_the_protocol_is_told_in_its_words(ask: Ask, way: Way) -> None:
    ran = ask("tools/call", "--tool-name", "refuse", *arguments(reason="not today"))
    assert (ran.status, ran.stdout) == (1, "")
    assert "not today" in ran.error["message"]


@pytest.mark.parametrize("method", ["skills/list", "skills/get", "resources/directory/read"])
def test_it_sees_that_a_server_does_not_declare_an_extension(
    web: str, method: str, tmp_path: Path
) -> None:
    ran = inspect(tmp_path, f"{web}/mcp", "--method", method, "--uri", "skill://a")
    assert "not declare" in ran.error["message"]


# --- servers of a file ---


@pytest.fixture
def file(web: str, command: Commands, tmp_path: Path) -> Path:
    """A file of servers, as clients have it; each is told of a folder."""
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
