"""A user's program outside of this repository is checked by what the packages themselves say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import mcp_gen
import mcp_wire

LIMIT_S = 110

PROGRAM = """
from typing import assert_type

from mcp_gen import CacheHints, Client, ClientManager, ClientSession, Context, ManagerEvent
from mcp_gen import Server, assistant, user
from mcp_wire import latest
from mcp_wire.hook_types import CallToolParams, CallToolResults

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
        timeout=LIMIT_S,
        check=False,
    )
    found = {int(line.split(":")[1]) for line in ran.stdout.splitlines() if ": error:" in line}
    wrong = {i for i, line in enumerate(PROGRAM.splitlines(), 1) if line.endswith("# wrong")}
    assert found == wrong, ran.stdout + ran.stderr
