"""Our own server keeps every rule about tasks, of the protocol and of the extension."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import pytest

import mcp_wire
from mcp_gen import Context, Server, Tasks, ToolError
from mcp_gen.compat.checks.trial import ToolCall
from mcp_gen.compat.doctor.server_examination import examine_server
from mcp_gen.compat.report.model import Report
from mcp_gen.compat.wire.openers import HttpOpener, MemoryOpener
from tests.compat.examining import HTTP_TIMEOUT_S
from tests.support.http.loopback import serving

CALLS = (
    ToolCall("plain", {}),
    ToolCall("slow", {"steps": 2}),
    ToolCall("failing", {}),
    ToolCall("asking", {}),
    ToolCall("choosing", {}),
)


@dataclass
class Name:
    """The answer to a question."""

    name: str


WITH_TASKS = [one for one in mcp_wire.REVISIONS if mcp_wire.profile(one).tasks != "none"]


def server() -> Server:
    made = Server("tasks", "1.0.0", tasks=Tasks(poll_interval_s=0.01, grace_s=0))

    @made.tool
    async def plain() -> str:
        """Return at once."""
        return "done"

    @made.tool(task="optional")
    async def slow(ctx: Context, steps: int) -> str:
        """Report steps."""
        for step in range(steps):
            await asyncio.sleep(0.02)
            await ctx.report_progress(step + 1, steps, f"step {step}")
        return "done"

    @made.tool(task="optional")
    async def failing() -> str:
        """Fail."""
        await asyncio.sleep(0.02)
        raise ToolError("it failed")

    @made.tool(task="required")
    async def asking(ctx: Context) -> str:
        """Ask for a name, twice."""
        names = [str(await ctx.elicit("Your name?", Name)) for _ in range(2)]
        return " ".join(names)

    @made.tool
    async def choosing(ctx: Context) -> str:
        """Ask for a name, and let the client make a task of that."""
        return str(await ctx.elicit("Your name?", Name, task=True))

    return made


@pytest.mark.parametrize("revision", WITH_TASKS)
async def test_our_server_keeps_all_rules_about_tasks(revision: str) -> None:
    ours = server()
    opens = MemoryOpener(lambda spoken: ours)
    report = await examine_server(
        opens, target="ours", transport="memory", revisions=(revision,), calls=CALLS, timeout_s=1.0
    )
    await opens.aclose()
    verdicts = verdicts_on_tasks(report)
    assert verdicts.get("tasks:asking:result", "passed") == "passed"


@pytest.mark.parametrize("revision", WITH_TASKS)
async def test_our_server_keeps_all_rules_about_tasks_over_http(revision: str) -> None:
    async with serving(server().asgi("/mcp")) as web:
        report = await examine_server(
            HttpOpener(web.url),
            target="ours",
            transport="http",
            revisions=(revision,),
            calls=CALLS,
            timeout_s=HTTP_TIMEOUT_S,
            areas={"tasks", "tasks-extension"},
        )
    verdicts = verdicts_on_tasks(report)
    for id in ("tasks:http", "tasks:http:polling"):
        assert verdicts.get(id, "passed") == "passed"


def verdicts_on_tasks(report: Report) -> dict[str, str]:
    """Return the verdicts on the rules about tasks: most have passed, and none has failed."""
    tried = [one for one in report.outcomes if one.requirement.startswith("tasks")]
    assert {one.requirement: one.findings for one in tried if one.findings} == {}
    assert len([one for one in tried if one.verdict == "passed"]) > len(tried) // 2
    return {one.requirement: one.verdict for one in tried}
