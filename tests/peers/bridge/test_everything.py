"""A strict client of the newest revision uses the everything-server by a bridge."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from mcp_gen.compat.bridge.bridge import Bridge
from tests.support.frames import PER_REQUEST
from tests.support.peers.connect import talk
from tests.support.peers.questions import ANSWERS as ANY_ANSWERS

SERVER = Path("node_modules/@modelcontextprotocol/server-everything/dist/index.js")
ARGUMENTS: dict[str, dict[str, Any]] = {
    "echo": {"message": "hello"},
    "get-annotated-message": {"messageType": "success"},
    "get-resource-links": {"count": 1},
    "get-resource-reference": {"resourceType": "Text", "resourceId": 1},
    "get-structured-content": {"location": "New York"},
    "get-sum": {"a": 17, "b": 25},
    "gzip-file-as-resource": {"name": "a.gz", "data": "data:text/plain,hello"},
    "simulate-research-query": {"topic": "bridges", "ambiguous": True},
    "trigger-long-running-operation": {"duration": 0.1, "steps": 1},
    "trigger-sampling-request": {"prompt": "hi"},
    "trigger-url-elicitation": {"url": "https://example.org/sign", "message": "Sign"},
}
"""Arguments of the tools that need some."""
SLOW_S = 60.0
UPDATED = "notifications/resources/updated"

pytestmark = pytest.mark.timeout(180)


def fill_in(asked: dict[str, Any]) -> dict[str, Any]:
    """Answer a form with a value of each required field; visit a page."""
    if "url" in asked:
        return {"action": "accept"}
    fields = asked["requestedSchema"]["properties"]
    required = asked["requestedSchema"].get("required", fields)
    return {"action": "accept", "content": {name: value_of(fields[name]) for name in required}}


def value_of(field: dict[str, Any]) -> Any:
    choices = field.get("enum") or [one["const"] for one in field.get("oneOf", ())]
    if choices:
        return choices[0]
    kinds = {"string": "Ada", "integer": 42, "number": 42, "boolean": True, "array": []}
    return kinds[field["type"]]


ANSWERS = {**ANY_ANSWERS, "elicitation/create": fill_in}


def bridge() -> Any:
    return Bridge(["node", str(Path(os.environ["PEERS_SERVERS"], SERVER)), "stdio"])


async def test_each_tool_answers_a_client_of_a_revision_that_its_server_does_not_speak() -> None:
    async with talk(bridge, PER_REQUEST, answers=ANSWERS) as client:
        listed = await client.request("tools/list")
        names = [tool["name"] for tool in listed["tools"]]
        assert {*ARGUMENTS, "trigger-elicitation-request", "get-roots-list"} <= set(names)
        for name in names:
            given = {"name": name, "arguments": ARGUMENTS.get(name, {})}
            result = await client.request("tools/call", given)
            assert result["content"], name
            assert not result.get("isError"), (name, result)
        asked = {method for method, _ in client.questions}
    assert asked >= {"elicitation/create", "sampling/createMessage"}


async def test_a_subscription_hears_of_a_change() -> None:
    async with talk(bridge, PER_REQUEST, answers=ANSWERS) as client:
        await client.request("tools/list")
        listed = await client.request("resources/list")
        uri = listed["resources"][0]["uri"]
        wanted = {"notifications": {"resourceSubscriptions": [uri]}}
        client.begin("subscriptions/listen", wanted)
        await client.request("tools/call", {"name": "toggle-subscriber-updates"})
        # The server makes a change each few seconds.
        (first, *_) = await client.hears(UPDATED, wait_s=SLOW_S)
        assert first["uri"] == uri
