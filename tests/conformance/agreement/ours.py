"""The doctor's reports on the server and the client that the suite is run against."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from mcp_gen.compat.checks.trial import ToolCall
from mcp_gen.compat.doctor.client_examination import examine_client
from mcp_gen.compat.doctor.server_examination import examine_server
from mcp_gen.compat.wire.openers import HttpOpener
from tests.compat.local_http import LocalHttpStage
from tests.compat.own_client import use_everything
from tests.conformance import server_leg
from tests.conformance.agreement.comparison import Compared, compare
from tests.conformance.agreement.table import Table, table

if TYPE_CHECKING:
    from mcp_gen.compat.report.model import Report
    from tests.conformance.suite import Cell, LegName, Outcome

__all__ = ["OURS", "compared"]

OURS = "ours"
TIMEOUT_S = 5.0
CLIENT_TIMEOUT_S = 1.0
CLIENT_LIMIT_S = 20.0

WITH_ARGUMENTS = (
    ToolCall("test_x_mcp_header", {"region": "Hello"}),
    ToolCall("test_sampling", {"prompt": "a word"}),
    ToolCall("test_elicitation", {"message": "Your name?"}),
    ToolCall("greet", {"name": "Ann"}),
    ToolCall("slow_compute", {"seconds": 0.3}),
    ToolCall("confirm_delete", {"filename": "a.txt"}),
)
WITHOUT = (
    "test_simple_text",
    "test_image_content",
    "test_audio_content",
    "test_embedded_resource",
    "test_multiple_content_types",
    "test_error_handling",
    "test_tool_with_logging",
    "test_logging_tool",
    "test_tool_with_progress",
    "test_streaming_elicitation",
    "test_reconnection",
    "json_schema_2020_12_tool",
    "test_trigger_tool_change",
    "test_trigger_prompt_change",
    "test_missing_capability",
    "test_elicitation_sep1034_defaults",
    "test_input_required_result_elicitation",
    "test_input_required_result_sampling",
    "test_input_required_result_list_roots",
    "test_input_required_result_request_state",
    "test_input_required_result_multiple_inputs",
    "test_input_required_result_multi_round",
    "test_input_required_result_tampered_state",
    "test_input_required_result_capabilities",
    "failing_job",
    "multi_input",
    "test_tool_with_task",
)
CALLS = (*(ToolCall(name, {}) for name in WITHOUT), *WITH_ARGUMENTS)
"""Calls of the suite's tools.

Two are made to break a rule of tools, as the suite has them: `protocol_error_job` ends in an error
of the protocol, and the tool with every kind of choice takes any answer.
"""


def compared(leg: LegName, outcomes: Mapping[Cell, Outcome]) -> tuple[Compared, ...]:
    """Compare what the suite found about our server or client with what the doctor finds."""
    known = table(leg)
    revisions = sorted({cell.revision for cell in outcomes})
    made = _on_server(revisions) if leg == "server" else _on_client(revisions, known)
    return compare(known, outcomes, asyncio.run(made))


async def _on_server(revisions: Iterable[str]) -> Report:
    with server_leg.serving([]) as server:
        return await examine_server(
            HttpOpener(server.url),
            target=OURS,
            transport="http",
            revisions=tuple(revisions),
            calls=CALLS,
            timeout_s=TIMEOUT_S,
        )


async def _on_client(revisions: Iterable[str], known: Table) -> Report:
    async def use(said: Mapping[str, str]) -> None:
        await use_everything(said["url"], None, timeout_s=CLIENT_TIMEOUT_S)

    return await examine_client(
        LocalHttpStage(use),
        target=OURS,
        revisions=tuple(revisions),
        limit_s=CLIENT_LIMIT_S,
        only=known.named(),
    )
