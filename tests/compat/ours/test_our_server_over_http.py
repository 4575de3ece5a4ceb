"""Our own server over HTTP: the doctor finds no rule that it breaks."""

from __future__ import annotations

from typing import Any

import pytest

from examples.everything_server import server as everything
from mcp_gen.compat.checks.trial import ToolCall
from mcp_gen.compat.doctor.server_examination import examine_server
from mcp_gen.compat.wire.openers import HttpOpener
from tests.compat.examining import HTTP_TIMEOUT_S
from tests.support.frames import every_revision
from tests.support.http.loopback import Got, Line, scripted_web, serving

CALLS = (
    ToolCall("add", {"a": 1, "b": 2}),
    ToolCall("echo", {"text": "hello"}),
    ToolCall("mixture", {}),
    ToolCall("count", {"to": 3, "pause_s": 0.01}),
    ToolCall("chatter", {}),
    ToolCall("fail", {"reason": "no"}),
    ToolCall("folders", {}),
    ToolCall("survey", {}),
    ToolCall("summarize", {"text": "long"}),
)


OPTIONS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "stateless": {"stateless": True},
    "JSON alone": {"json_only": True},
}


@pytest.mark.parametrize("options", OPTIONS)
@every_revision
async def test_our_server_breaks_no_rule_over_http(revision: str, options: str) -> None:
    app = everything.asgi("/mcp", legacy_sse_path="/sse", **OPTIONS[options])
    async with serving(app) as web:
        report = await examine_server(
            HttpOpener(web.url, sse_url=f"{web.origin}/sse"),
            target=web.url,
            transport="http",
            revisions=(revision,),
            calls=CALLS,
            timeout_s=HTTP_TIMEOUT_S,
        )
    assert {one.requirement: one.findings for one in report.failed()} == {}
    assert report.openings[0].agreed == revision


@every_revision
async def test_what_is_no_server_of_the_protocol_is_not_examined(revision: str) -> None:
    async def script(got: Got, line: Line) -> None:
        await line.answer(404, b"<html>Not Found</html>", "text/html")

    async with scripted_web(script) as web:
        report = await examine_server(
            HttpOpener(web.url), target=web.url, transport="http", revisions=(revision,)
        )
    assert report.failed() == ()
    assert "status 404" in report.openings[0].answer
