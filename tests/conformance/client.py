"""Client under test of the official conformance suite: `python -m tests.conformance.client URL`.

The suite starts it once per scenario, which an environment variable names. The client does what a
program would do, and the suite checks its messages. `--revision` pins a revision.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import sys
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from mcp_gen import Client, ClientSession, TransportError
from mcp_gen.auth import AuthError
from mcp_wire import latest
from tests.conformance.authorization import REFUSES, authorizer

__all__ = ["main"]

Play: TypeAlias = Callable[[ClientSession, dict[str, Any]], Awaitable[None]]
"""Function that plays a scenario, given the session and the scenario's context from the suite."""

TIMEOUT_S = 20.0
ANSWERS: dict[str, Any] = {"string": "Ann", "integer": 3, "number": 1.5, "boolean": True}


def fill_in(session: ClientSession, form: latest.ElicitRequestFormParams) -> dict[str, Any]:
    """Return answers for the required fields; the client itself adds defaults."""
    asked: dict[str, Any] = form.requested_schema.properties
    required = form.requested_schema.required or []
    return {
        name: ANSWERS.get(getattr(asked[name], "type", "string"))
        for name in required
        if getattr(asked[name], "default", None) is None
    }


def continues(
    session: ClientSession, params: latest.CreateMessageRequestParams
) -> latest.CreateMessageResult:
    text = latest.TextContent(text="Paris")
    return latest.CreateMessageResult(role="assistant", content=text, model="model")


async def only_list(session: ClientSession, told: dict[str, Any]) -> None:
    async for _ in session.tools():
        pass


async def add_numbers(session: ClientSession, told: dict[str, Any]) -> None:
    await only_list(session, told)
    await session.call_tool("add_numbers", {"a": 5, "b": 3})


async def call_every_tool(session: ClientSession, told: dict[str, Any]) -> None:
    for tool in [tool async for tool in session.tools()]:
        await session.call_tool(tool.name, arguments_for(tool.input_schema))


async def use_everything(session: ClientSession, told: dict[str, Any]) -> None:
    """Call each method that a header may repeat."""
    await call_every_tool(session, told)
    if session.server_capabilities.resources is not None:
        for resource in [resource async for resource in session.resources()]:
            await session.read_resource(resource.uri)
    if session.server_capabilities.prompts is not None:
        for prompt in [prompt async for prompt in session.prompts()]:
            given = {argument.name: "x" for argument in prompt.arguments or []}
            await session.get_prompt(prompt.name, given)


async def replay_calls(session: ClientSession, told: dict[str, Any]) -> None:
    await only_list(session, told)
    for call in told["toolCalls"]:
        await session.call_tool(call["name"], call["arguments"])


async def echo_schema(session: ClientSession, told: dict[str, Any]) -> None:
    tools = {tool.name: tool async for tool in session.tools()}
    schema = tools["json_schema_2020_12_tool"].input_schema
    await session.call_tool("json_schema_echo", {"schema": schema})


def calls(*names: str) -> Play:
    async def play(session: ClientSession, told: dict[str, Any]) -> None:
        for name in names:
            await session.call_tool(name, {})

    return play


PLAYS: dict[str, Play] = {
    "initialize": only_list,
    "tools_call": add_numbers,
    "elicitation-sep1034-client-defaults": calls("test_client_elicitation_defaults"),
    "sse-retry": calls("test_reconnection"),
    "request-metadata": call_every_tool,
    "http-standard-headers": use_everything,
    "http-custom-headers": replay_calls,
    "http-invalid-tool-headers": call_every_tool,
    "sep-2322-client-request-state": calls(
        "test_mrtr_echo_state",
        "test_mrtr_unrelated",
        "test_mrtr_no_state",
        "test_mrtr_no_result_type",
    ),
    "json-schema-ref-no-deref": only_list,
    "json-schema-2020-12-preservation": echo_schema,
}
"""Plays by scenario."""
AUTHORIZATION = "auth/"
"""Prefix of scenarios of authorization, in which every tool is called."""


def arguments_for(schema: dict[str, Any]) -> dict[str, Any]:
    """Return arguments that a tool accepts."""
    properties: dict[str, Any] = schema.get("properties", {})
    return {
        name: ANSWERS.get(properties.get(name, {}).get("type"), "x")
        for name in schema.get("required", [])
    }


async def run(scenario: str, url: str, told: dict[str, Any], revision: str | None) -> None:
    authorized = scenario.startswith(AUTHORIZATION)
    play = call_every_tool if authorized else PLAYS[scenario] if scenario else use_everything
    auth = authorizer(scenario, told) if authorized else None
    async with Client(
        "mcp_gen-conformance",
        "1.0.0",
        elicitation=fill_in,
        sampling=continues,
        roots=["file:///work"],
        timeout_s=TIMEOUT_S,
    ) as client:
        session = await client.connect(url, revision=revision, timeout_s=TIMEOUT_S, auth=auth)
        await play(session, told)


async def be_refused(scenario: str, url: str, told: dict[str, Any], revision: str | None) -> None:
    """Run a scenario in which nothing may be authorized."""
    try:
        await run(scenario, url, told, revision)
    except AuthError as error:
        print(f"refused: {error}")
        return
    sys.exit(f"{scenario}: expected the client to refuse, and it did not")


class WarningsElsewhere(logging.Handler):
    """Handler that writes records above WARNING to stderr, and all others to stdout."""

    def emit(self, record: logging.LogRecord) -> None:
        severe = record.levelno > logging.WARNING
        print(self.format(record), file=sys.stderr if severe else sys.stdout)


def main() -> int:
    """Play the scenario in the environment variable; without one, use every feature."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--revision")
    parser.add_argument("url")
    given = parser.parse_args()
    scenario = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
    told = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
    if scenario and scenario not in PLAYS and not scenario.startswith(AUTHORIZATION):
        sys.exit(f"no such scenario: {scenario}")
    play = be_refused if scenario in REFUSES else run
    # Warnings are about deliberate faults of the suite; any other text on stderr is a fault.
    logging.getLogger("mcp_gen").addHandler(WarningsElsewhere())
    try:
        asyncio.run(play(scenario, given.url, told, given.revision))
    except (AuthError, TransportError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
