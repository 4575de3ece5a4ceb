"""The MCP Inspector's command line with our servers: every method, every transport."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.peers.inspecting.inspector import inspect
from tests.peers.ways import TOOLS, Ask, Way, arguments, each_handshake, each_way, each_web

pytestmark = pytest.mark.timeout(120)
# Each case starts the Inspector: Node with its packages.
few = pytest.mark.few_cases(2)


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


@few
@each_way
def test_it_lists_tools_with_their_schemas(ask: Ask, way: Way) -> None:
    found = {tool["name"]: tool for tool in ask("tools/list").shown["tools"]}
    assert sorted(found) == TOOLS
    assert found["add"]["inputSchema"] == {
        "type": "object",
        "properties": {
            "a": {"type": "integer", "description": "The first number"},
            "b": {"type": "integer", "description": "The second number"},
        },
        "required": ["a", "b"],
        "additionalProperties": False,
    }


@few
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


@few
@each_way
def test_it_lists_resources(ask: Ask, way: Way) -> None:
    found = [resource["uri"] for resource in ask("resources/list").shown["resources"]]
    assert sorted(found) == [
        "notes://board",
        "notes://logo",
        "notes://settings",
        "notes://welcome",
    ]


@few
@each_way
def test_it_lists_templates(ask: Ask, way: Way) -> None:
    (found,) = ask("resources/templates/list").shown["resourceTemplates"]
    assert (found["uriTemplate"], found["title"]) == ("users://{id}/profile", "Users")


@few
@each_way
def test_it_reads_a_resource(ask: Ask, way: Way) -> None:
    (part,) = ask("resources/read", "--uri", "users://2/profile").shown["contents"]
    assert part["uri"] == "users://2/profile"
    assert json.loads(part["text"]) == {"id": 2, "name": "Grace"}


@few
@each_way
def test_it_lists_prompts_with_their_arguments(ask: Ask, way: Way) -> None:
    found = {prompt["name"]: prompt for prompt in ask("prompts/list").shown["prompts"]}
    assert sorted(found) == ["greet", "introduce", "review", "trip"]
    assert [(one["name"], one.get("required")) for one in found["greet"]["arguments"]] == [
        ("name", True),
        ("style", None),
    ]


@few
@each_way
def test_it_gets_a_prompt_filled_in(ask: Ask, way: Way) -> None:
    words = ("--prompt-name", "greet", "--prompt-args", "name=Ada", "style=short")
    (message,) = ask("prompts/get", *words).shown["messages"]
    text = "Write a short greeting for Ada."
    assert message == {"role": "user", "content": {"type": "text", "text": text}}


@few
@each_handshake
def test_it_sets_the_log_level(ask: Ask, way: Way) -> None:
    assert ask("logging/setLevel", "--log-level", "warning").shown == {}


# --- failures ---


@few
@each_web
def test_a_tool_that_fails_is_a_result_that_says_so(ask: Ask, way: Way) -> None:
    ran = ask("tools/call", "--tool-name", "fail", *arguments(reason="out of paper"))
    assert (ran.status, ran.error["code"]) == (5, "tool_is_error")
    assert json.loads(ran.stdout)["content"][0]["text"] == "out of paper"


@few
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
