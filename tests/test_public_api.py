"""Public API: exported names, import cost, and types."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import mcp_gen
import mcp_wire
from tests.wire.test_imports import imported_by

HEAVY = {
    "httpx",
    "httpx2",
    "jsonschema_rs",
    "pydantic",
    "rich",
    "starlette",
    "typer",
    "uvicorn",
    "uvloop",
}


def roots(modules: set[str]) -> set[str]:
    return {name.partition(".")[0] for name in modules}


def test_the_public_names_are_sorted() -> None:
    assert mcp_gen.__all__ == sorted(mcp_gen.__all__)


@pytest.mark.parametrize("name", mcp_gen.__all__)
def test_a_public_name_can_be_imported(name: str) -> None:
    namespace: dict[str, object] = {}
    exec(f"from mcp_gen import {name}", namespace)
    assert getattr(namespace[name], "__name__", None) == name


@pytest.mark.parametrize("name", mcp_gen.__all__)
def test_a_public_name_is_documented(name: str) -> None:
    assert getattr(mcp_gen, name).__doc__


def test_a_star_import_brings_the_public_names_and_no_others() -> None:
    namespace: dict[str, object] = {}
    exec("from mcp_gen import *", namespace)
    assert namespace.keys() - {"__builtins__"} == set(mcp_gen.__all__)


def test_nothing_else_is_listed() -> None:
    assert dir(mcp_gen) == mcp_gen.__all__


def test_a_name_that_is_not_public_is_an_attribute_error_that_says_so() -> None:
    with pytest.raises(AttributeError, match="'mcp_gen' has no attribute 'Kernel'"):
        _ = mcp_gen.Kernel


def test_the_types_are_those_of_the_newest_revision() -> None:
    from mcp_gen import types

    newest = mcp_wire.types(mcp_wire.LATEST)
    assert all(getattr(types, name) is getattr(newest, name, None) for name in types.__all__)
    assert "Tool" in types.__all__


def test_every_error_has_one_root() -> None:
    errors = [
        value
        for value in (getattr(mcp_gen, name) for name in mcp_gen.__all__)
        if isinstance(value, type) and issubclass(value, BaseException)
    ]
    assert len(errors) > 10
    assert all(issubclass(error, mcp_gen.McpGenError) for error in errors)


@pytest.mark.parametrize(
    "statement",
    [
        "import mcp_gen",
        "from mcp_gen import Server",
        "from mcp_gen import Client",
        "import mcp_wire",
    ],
)
def test_an_import_loads_nothing_heavy(statement: str) -> None:
    assert roots(imported_by(statement)) & HEAVY == set()


def test_importing_the_package_loads_no_revision() -> None:
    assert [name for name in imported_by("import mcp_gen") if name.startswith("mcp_wire.v")] == []


def test_a_server_loads_no_client() -> None:
    modules = imported_by("from mcp_gen import Server")
    assert [name for name in modules if name.startswith("mcp_gen.client")] == []


def test_a_server_loads_no_transport_before_it_serves() -> None:
    modules = imported_by("from mcp_gen import Server; Server('s')")
    assert [name for name in modules if name.startswith("mcp_gen.transports.")] == []


def test_a_client_loads_no_server() -> None:
    modules = imported_by("from mcp_gen import Client")
    assert [name for name in modules if name.startswith("mcp_gen.server")] == []


def test_a_client_loads_no_http_before_it_needs_it() -> None:
    modules = imported_by(
        "from mcp_gen.client.connecting import targets; from mcp_gen import Client; Client('c')"
    )
    assert {"httpx2", "httpcore2", "h11"} & roots(modules) == set()
    assert [name for name in modules if name.startswith("mcp_gen.transports.http_")] == []


PROGRAM = """
from typing import assert_type

from mcp_gen import CacheHints, Client, ClientManager, ClientSession, Context, ManagerEvent
from mcp_gen import Server, assistant, user
from mcp_wire import latest
from mcp_wire.hooks import CallToolParams, CallToolResults

server = Server("typed")


@server.tool
def plain(a: int) -> str:
    return str(a)


@server.tool(name="other", description="Described.")
async def described(a: int) -> str:
    return str(a)


@server.hooks.before_call_tool
async def before(ctx: Context, params: CallToolParams) -> None:
    assert_type(params.name, str)
    assert_type(ctx.revision, str)


@server.hooks.after_call_tool
def after(ctx: Context, params: CallToolParams, result: CallToolResults) -> CallToolResults:
    return result


@server.resource("users://{id}/profile", title="Profile", ttl_ms=1000)
async def profile(id: int) -> dict[str, int]:
    return {"id": id}


@server.completion("users://{id}/profile", "id")
def ids(value: str) -> list[str]:
    return []


@server.resource("config://app", nme="other")  # wrong
def config() -> str:
    return ""


@server.resource  # wrong
def nowhere() -> str:
    return ""


async def use() -> None:
    assert_type(await profile(1), dict[str, int])
    assert_type(ids(""), list[str])
    assert_type(plain(1), str)
    assert_type(await described(1), str)
    plain("one")  # wrong
    async with Client("typed") as client:
        session = await client.connect(server)
        assert_type(session, ClientSession)
        assert_type(await session.call_tool("plain", {"a": 1}), latest.CallToolResult)
        await session.call_tool(5)  # wrong
        async for tool in session.tools():
            assert_type(tool, latest.Tool)


async def manage() -> None:
    manager = ClientManager({"typed": server, "web": "https://example.org/mcp"})

    @manager.on_event
    def told(event: ManagerEvent) -> None: ...

    @manager.on_event("connected", "reconnected")
    async def later(event: ManagerEvent) -> None: ...

    manager.on_event("conected")  # wrong
    assert_type(await manager.call_tool("mcp__typed__plain"), latest.CallToolResult)
    assert_type(await manager.call_tool("mcp__typed__plain", returns=int), int)
    assert_type((await manager.tools())[0].tool, latest.Tool)
    await manager.tools_for("opneai")  # wrong


@server.hooks.before_call_tool  # wrong
def of_no_params(ctx: Context, params: int) -> None: ...


@server.tool(nme="other")  # wrong
def misnamed(a: int) -> None: ...


@server.prompt(title="Ask")
def ask(topic: str, times: int = 1) -> list[latest.PromptMessage]:
    return [user(topic), assistant("Yes?")]


@server.filter_tools
def visible(ctx: Context, tool: latest.Tool) -> bool:
    return server.for_session(ctx.session).tools is not server.tools


@server.filter_tools  # wrong
def of_prompts(ctx: Context, prompt: latest.Prompt) -> bool:
    return True


async def fill_in(ctx: Context, arguments: dict[str, str]) -> str:
    return assert_type(ask(arguments["topic"], times=2), list[latest.PromptMessage])[0].role


server.add_prompt(latest.Prompt(name="p"), fill_in)
server.add_prompt(fill_in, title="P")
server.add_prompt(latest.Prompt(name="p"), title="P")  # wrong
server.cache_hints(list_tools=CacheHints(ttl_ms=1000))
server.cache_hints(call_tool=CacheHints())  # wrong
"""

HOMES = [Path(mcp_gen.__file__).parents[1], Path(mcp_wire.__file__).parents[1]]


@pytest.mark.skipif(find_spec("mypy") is None, reason="mypy is in the types session")
def test_a_type_checker_finds_what_is_wrong_in_a_users_program_and_nothing_else(
    tmp_path: Path,
) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    ran = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "program.py", "--config-file="],
        cwd=tmp_path,
        env={"MYPYPATH": ":".join(map(str, HOMES)), "PATH": ""},
        capture_output=True,
        text=True,
        timeout=55,
        check=False,
    )
    found = {int(line.split(":")[1]) for line in ran.stdout.splitlines() if ": error:" in line}
    wrong = {i for i, line in enumerate(PROGRAM.splitlines(), 1) if line.endswith("# wrong")}
    assert found == wrong, ran.stdout + ran.stderr
