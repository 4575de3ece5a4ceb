"""Facts that no schema holds, as the specification states them: each with the date it is from."""

from __future__ import annotations

from typing import Any

import mcp_wire
from mcp_wire.profile import ErrorCodes
from tests.wire.revisions import every_revision, kept

FIRST, BATCHES, HEADERS, TASKS, STATELESS = (
    "2024-11-05",
    "2025-03-26",
    "2025-06-18",
    "2025-11-25",
    "2026-07-28",
)
"""Dates of the revisions, by the change that each is known for."""

STATEMENTS: dict[str, dict[str, Any]] = {
    # A session begins with `initialize`, until each request says of itself what it needs.
    "lifecycle": {FIRST: "initialize", STATELESS: "per_request"},
    "session_state": {FIRST: True, STATELESS: False},
    # Arrays of messages came with 2025-03-26, and went with the next revision.
    "allows_batches": {FIRST: False, BATCHES: True, HEADERS: False},
    # A server sends requests of its own, until it asks in its results.
    "asks_client": {FIRST: "server_request", STATELESS: "input_required"},
    # HTTP: a stream beside an endpoint to post to; then one endpoint for all.
    "http_transport": {FIRST: "sse_pair", BATCHES: "streamable"},
    # The name is spelled in capitals from 2025-11-25 on; without sessions there is no header.
    "session_header": {
        FIRST: None,
        BATCHES: "Mcp-Session-Id",
        TASKS: "MCP-Session-Id",
        STATELESS: None,
    },
    # A client names the version from 2025-06-18 on; what comes without it is taken for 2025-03-26.
    "version_header": {FIRST: None, HEADERS: "MCP-Protocol-Version"},
    "version_header_required": {FIRST: False, STATELESS: True},
    "assumed_without_version_header": {FIRST: False, BATCHES: True, HEADERS: False},
    # Headers that mirror the body.
    "method_header": {FIRST: None, STATELESS: "Mcp-Method"},
    "name_header": {FIRST: None, STATELESS: "Mcp-Name"},
    "name_params": {
        FIRST: {},
        STATELESS: {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"},
    },
    "param_header_prefix": {FIRST: None, STATELESS: "Mcp-Param-"},
    # The one endpoint answers GET with a stream, and resumes streams, as long as it has sessions.
    "get_stream": {FIRST: False, BATCHES: True, STATELESS: False},
    "resumes_streams": {FIRST: False, BATCHES: True, STATELESS: False},
    # A stream begins with an event that has an id alone: at 2025-11-25.
    "primes_streams": {FIRST: False, TASKS: True, STATELESS: False},
    # A client that hangs up has not cancelled, until streams cannot be resumed.
    "stream_drop_cancels": {FIRST: False, STATELESS: True},
    # The authorization server is at the origin of the server, until resources have metadata.
    "authorization_at_origin": {FIRST: False, BATCHES: True, HEADERS: False},
    # Arguments that do not fit are an error of the protocol, then one that the model sees.
    "bad_arguments": {FIRST: "protocol_error", TASKS: "tool_error"},
    # What was updated may be a part of what was subscribed to, until URIs are listed in a filter.
    "sub_resource_updates": {FIRST: True, STATELESS: False},
    "resource_not_found_code": {FIRST: -32002, STATELESS: -32602},
    "unknown_method_status": {FIRST: 200, STATELESS: 404},
    "cache_hints": {FIRST: False, STATELESS: True},
    # Structured content is an object, then any JSON.
    "structured_content": {FIRST: "none", HEADERS: "object", STATELESS: "any"},
    # `_meta` of a request says what the handshake said before.
    "protocol_version_key": {FIRST: None, STATELESS: "io.modelcontextprotocol/protocolVersion"},
    "client_capabilities_key": {
        FIRST: None,
        STATELESS: "io.modelcontextprotocol/clientCapabilities",
    },
    "client_info_key": {FIRST: None, STATELESS: "io.modelcontextprotocol/clientInfo"},
    "log_level_key": {FIRST: None, STATELESS: "io.modelcontextprotocol/logLevel"},
    "server_info_key": {FIRST: None, STATELESS: "io.modelcontextprotocol/serverInfo"},
    "subscription_id_key": {FIRST: None, STATELESS: "io.modelcontextprotocol/subscriptionId"},
    # Progress has a token in `_meta` at every date, and a message from 2025-03-26 on.
    "progress_token_key": {FIRST: "progressToken"},
    "progress_message": {FIRST: False, BATCHES: True},
    # Elicitation has modes, form and URL, and sampling has tools, from 2025-11-25 on.
    "url_elicitation": {FIRST: "none", TASKS: "mode"},
    "declares_sampling_parts": {FIRST: False, TASKS: True},
    # Tasks came with 2025-11-25, and became an extension with the next revision.
    "tasks": {FIRST: "none", TASKS: "core", STATELESS: "extension"},
    "related_task_key": {
        FIRST: None,
        TASKS: "io.modelcontextprotocol/related-task",
        STATELESS: None,
    },
    "model_immediate_response_key": {
        FIRST: None,
        TASKS: "io.modelcontextprotocol/model-immediate-response",
        STATELESS: None,
    },
}
"""Value of each fact, from each date at which the specification changes it."""

CODES: dict[str, dict[str, int | None]] = {
    "parse_error": {FIRST: -32700},
    "invalid_request": {FIRST: -32600},
    "method_not_found": {FIRST: -32601},
    "invalid_params": {FIRST: -32602},
    "internal_error": {FIRST: -32603},
    "resource_not_found": {FIRST: -32002, STATELESS: -32602},
    # The user said no to sampling or elicitation: no longer an error when a result asks for them.
    "user_rejected": {FIRST: -1, STATELESS: None},
    "url_elicitation_required": {FIRST: None, TASKS: -32042, STATELESS: None},
    "header_mismatch": {FIRST: None, STATELESS: -32020},
    "missing_required_client_capability": {FIRST: None, STATELESS: -32021},
    "unsupported_protocol_version": {FIRST: None, STATELESS: -32022},
}
"""Code of each error, from each date at which the specification changes it."""

STATUSES = {-32700: 400, -32600: 400, -32601: 404, -32020: 400, -32021: 400, -32022: 400}
"""HTTP statuses of errors: the revisions before 2026-07-28 state none."""


CAPABILITIES: dict[str, dict[str, str | None]] = {
    # A server declares what it answers.
    "tools/list": {FIRST: "tools"},
    "tools/call": {FIRST: "tools"},
    "prompts/list": {FIRST: "prompts"},
    "prompts/get": {FIRST: "prompts"},
    "resources/list": {FIRST: "resources"},
    "resources/templates/list": {FIRST: "resources"},
    "resources/read": {FIRST: "resources"},
    "resources/subscribe": {FIRST: "resources.subscribe", STATELESS: None},
    "resources/unsubscribe": {FIRST: "resources.subscribe", STATELESS: None},
    "logging/setLevel": {FIRST: "logging", STATELESS: None},
    # The first revision has completion, and no capability for it.
    "completion/complete": {FIRST: None, BATCHES: "completions"},
    # A client declares what it can be asked for.
    "sampling/createMessage": {FIRST: "sampling"},
    "roots/list": {FIRST: "roots"},
    "elicitation/create": {FIRST: None, HEADERS: "elicitation"},
    # Both peers may have tasks.
    "tasks/get": {FIRST: None, TASKS: "tasks", STATELESS: None},
    "tasks/result": {FIRST: None, TASKS: "tasks", STATELESS: None},
    "tasks/list": {FIRST: None, TASKS: "tasks.list", STATELESS: None},
    "tasks/cancel": {FIRST: None, TASKS: "tasks.cancel", STATELESS: None},
}
"""Capability that each request needs, from each date at which the specification changes it."""


def at(revision: str, history: dict[str, Any]) -> Any:
    """Return the value that holds at a revision: that of the last change until then."""
    return history[max(date for date in history if date <= revision)]


@every_revision
def test_each_fact_is_what_the_specification_of_its_date_says(revision: str) -> None:
    profile = mcp_wire.profile(revision)
    stated = {name: at(revision, history) for name, history in STATEMENTS.items()}
    assert {name: getattr(profile, name) for name in stated} == stated


@every_revision
def test_no_fact_is_without_a_statement_of_the_specification(revision: str) -> None:
    assert kept(revision).facts["facts"].keys() == STATEMENTS.keys()


@every_revision
def test_each_request_needs_the_capability_that_the_specification_of_its_date_says(
    revision: str,
) -> None:
    methods = mcp_wire.profile(revision).methods
    needed = {name: one.capability for name, one in methods.items() if one.capability}
    stated = {name: at(revision, history) for name, history in CAPABILITIES.items()}
    assert needed == {name: path for name, path in stated.items() if path}


@every_revision
def test_each_error_has_the_code_that_the_specification_of_its_date_gives_it(
    revision: str,
) -> None:
    errors = mcp_wire.profile(revision).errors
    stated = {name: at(revision, history) for name, history in CODES.items()}
    assert {name: getattr(errors, name) for name in ErrorCodes.__struct_fields__} == stated


@every_revision
def test_each_error_has_the_http_status_that_the_specification_of_its_date_gives_it(
    revision: str,
) -> None:
    stated = STATUSES if revision >= STATELESS else {}
    assert mcp_wire.profile(revision).http_status == stated
