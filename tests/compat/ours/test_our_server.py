"""Our own servers break no rule at any revision."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mcp_wire
from mcp_gen import FileResources, Server
from mcp_gen.client.connecting.python_code import load
from mcp_gen.compat.checks.trial import ToolCall
from mcp_gen.compat.doctor.server_examination import examine_server
from mcp_gen.compat.report.model import Report
from mcp_gen.compat.wire.openers import MemoryOpener
from tests.support.frames import every_revision

EVERYTHING = Path(__file__).parents[3] / "examples/everything_server.py"
CALLS = (
    ToolCall("echo", {"text": "hello"}),
    ToolCall("add", {"a": 1, "b": 2}),
    ToolCall("weather", {"city": "Oslo", "days": 2}),
    ToolCall("mixture", {}),
    ToolCall("link", {}),
    ToolCall("dice", {"count": 2}),
    ToolCall("fail", {"reason": "no"}),
    ToolCall("refuse", {"reason": "no"}),
    ToolCall("count", {"to": 3, "pause_s": 0.0}),
    ToolCall("chatter", {}),
    ToolCall("book", {}),
    ToolCall("order", {}),
    ToolCall("sign", {}),
    ToolCall("summarize", {"text": "a text"}),
    ToolCall("folders", {}),
    ToolCall("survey", {}),
    ToolCall("ask_from_a_thread", {}),
    ToolCall("show_more", {}),
    ToolCall("write", {"text": "a line"}),
)
"""Calls of the everything server's tools: all that end by themselves."""


def everything() -> Server[Any]:
    """Return the everything server, loaded anew: a tool of it changes what it lists."""
    server = load(str(EVERYTHING))
    assert isinstance(server, Server)
    return server


async def examined(server: Server[Any], revision: str, *calls: ToolCall) -> Report:
    """Return the report on a server of ours."""
    opens = MemoryOpener(lambda spoken: server)
    try:
        return await examine_server(
            opens, target=server.name, transport="memory", revisions=(revision,), calls=calls
        )
    finally:
        await opens.aclose()


def findings(report: Report) -> dict[str, list[str]]:
    return {
        one.requirement: [f"{f.expected}: {f.came} - at {f.where}" for f in one.findings]
        for one in report.failed()
    }


def verdict(report: Report, requirement: str) -> str:
    return next(one.verdict for one in report.outcomes if one.requirement == requirement)


@every_revision
async def test_the_everything_server_breaks_no_rule_and_most_rules_are_tested(
    revision: str,
) -> None:
    report = await examined(everything(), revision, *CALLS)
    assert findings(report) == {}
    assert report.openings[0].agreed == revision
    counts = report.counts()
    assert counts["passed"] > counts["not tested"]


async def test_the_report_names_all_that_the_everything_server_offers() -> None:
    server = everything()
    (offer,) = (await examined(server, mcp_wire.LATEST)).listings
    assert offer.items["tools"] == tuple(tool.name for tool in server.tools)
    assert "notes://welcome" in offer.items["resources"]
    assert offer.items["resource templates"] == ("users://{id}/profile",)
    assert "greet" in offer.items["prompts"]


@every_revision
async def test_a_server_of_files_on_many_pages_breaks_no_rule(
    revision: str, tmp_path: Path
) -> None:
    for name in ("one.txt", "two.txt", "three.bin"):
        (tmp_path / name).write_bytes(b"\xff" if name.endswith("bin") else b"text")
    server = Server("files", page_size=2)
    server.add_resources(FileResources(tmp_path))
    report = await examined(server, revision)
    assert findings(report) == {}
    assert verdict(report, "pagination:cursors:stable") == "passed"
    assert verdict(report, "resources:binary") == "passed"


async def test_our_files_are_tried_with_paths_that_lead_out_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("text")
    server = Server("files")
    server.add_resources(FileResources(tmp_path))
    report = await examined(server, mcp_wire.LATEST)
    assert verdict(report, "resources:traversal") == "passed"
