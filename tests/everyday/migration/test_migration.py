"""Programs of other SDKs and the same with this one: equal answers, and how many lines change."""

from __future__ import annotations

import ast
import difflib
import json
import re
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

import mcp_wire
from mcp_gen import Client, McpError
from tests.docs.pages import DOCS, ROOT, blocks

HERE = Path(__file__).parent
PAGES = {
    "fastmcp": DOCS / "migrating-from-fastmcp.md",
    "official": DOCS / "migrating-from-official-sdk.md",
}
"""Guide for each SDK, which shows its programs and their part of the table."""
REVISION = "2025-11-25"
"""Newest revision at which all of the SDKs wrap structured content that is no object."""

OFFICIAL_PREFIX = "Error executing tool "
"""Begin of the text of a failed tool in the official SDK, before the tool's name."""

Ask = tuple[str, dict[str, Any]]

PROGRAMS: dict[str, list[Ask]] = {
    "fastmcp/tools": [
        ("call_tool", {"name": "multiply", "arguments": {"a": 2.5, "b": 4}}),
        ("call_tool", {"name": "repeat", "arguments": {"text": "a"}}),
        ("call_tool", {"name": "repeat", "arguments": {"text": "a", "times": 3}}),
        ("fails", {"name": "repeat", "arguments": {"text": "a", "times": 0}}),
    ],
    "fastmcp/resources": [
        ("read_resource", {"uri": "shelf://settings"}),
        ("read_resource", {"uri": "shelf://2/items"}),
        ("read_resource", {"uri": "shelf://logo"}),
    ],
    "fastmcp/prompts": [
        ("get_prompt", {"name": "summarise", "arguments": {"text": "All of it."}}),
        ("get_prompt", {"name": "summarise", "arguments": {"text": "It.", "words": "5"}}),
        ("get_prompt", {"name": "interview", "arguments": {"topic": "bolts"}}),
    ],
    "fastmcp/context": [
        ("call_tool", {"name": "process", "arguments": {"files": ["a", "b"]}}),
        ("call_tool", {"name": "divide", "arguments": {"a": 3, "b": 2}}),
        ("call_tool", {"name": "divide", "arguments": {"a": 3, "b": 0}}),
    ],
    "fastmcp/mounted": [
        ("call_tool", {"name": "weather_forecast", "arguments": {"city": "Oslo"}}),
        ("call_tool", {"name": "doors", "arguments": {}}),
    ],
    "official/quickstart": [
        ("call_tool", {"name": "add", "arguments": {"a": 1, "b": 2}}),
        ("read_resource", {"uri": "greeting://Ada"}),
        ("get_prompt", {"name": "greet", "arguments": {"name": "Ada"}}),
        ("get_prompt", {"name": "greet", "arguments": {"name": "Ada", "style": "formal"}}),
    ],
    "official/structured": [
        ("call_tool", {"name": "weather", "arguments": {"city": "Oslo"}}),
        ("call_tool", {"name": "cities", "arguments": {}}),
        ("call_tool", {"name": "heights", "arguments": {"cities": ["Oslo", "Rom"]}}),
    ],
    "official/lifespan": [
        ("call_tool", {"name": "stock", "arguments": {"item": "bolt"}}),
        ("call_tool", {"name": "stock", "arguments": {"item": "nut"}}),
    ],
    "official/elicitation": [("call_tool", {"name": "book", "arguments": {"people": 4}})],
    "official/images": [
        ("call_tool", {"name": "thumbnail", "arguments": {"name": "logo"}}),
        ("call_tool", {"name": "thumbnail", "arguments": {"name": "other"}}),
    ],
}
"""Requests to each program; `fails` is a call whose text each SDK words in its own way."""


def path_of(program: str, side: str) -> Path:
    """Return the file of a program; the side is `old` or `new`."""
    sdk, name = program.split("/")
    return HERE / f"{sdk}_programs" / f"{name}_{side}.py"


def plain(value: Any, tool: str) -> Any:
    """Return an answer as JSON, without what SDKs add to it; README.md tells what that is."""
    found = _without(msgspec.to_builtins(value))
    texts = [block.get("text") for block in found.get("content", ())]
    data = found.get("structuredContent")
    repeated = data.get("result") if isinstance(data, dict) else None
    if repeated is not None and repeated in (texts, *texts):
        # Other SDKs have an output schema for texts, and give each text twice.
        del found["structuredContent"]
    for block in found.get("content", ()):
        if isinstance(text := block.get("text"), str):
            block["text"] = text.removeprefix(f"{OFFICIAL_PREFIX}{tool}: ")
    return found


def _without(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            name: _without(one)
            for name, one in value.items()
            if name not in ("_meta", "description", "isError", "resultType") and one is not None
        }
    if isinstance(value, list):
        return [_without(one) for one in value]
    return _same_json(value) if isinstance(value, str) else value


def _same_json(text: str) -> Any:
    """Return the data of a JSON text, which SDKs indent in their own ways."""
    try:
        return {"JSON": json.loads(text)} if text[:1] in "[{" else text
    except ValueError:
        return text


async def answers(program: str, side: str, *, revision: str = REVISION) -> list[Any]:
    """Return the lists and the answers of a program to the requests."""
    found: list[Any] = []
    client = Client("migration", timeout_s=30)

    @client.elicitation
    async def accept(*_: Any) -> dict[str, Any]:
        return {"sure": True}

    async with client:
        command = [sys.executable, str(path_of(program, side))]
        session = await client.connect(command, revision=revision)
        if session.server_capabilities.tools is not None:
            found += sorted(shown(tool) for tool in (await session.list_tools()).tools)
        for kind, given in PROGRAMS[program]:
            if kind != "fails":
                result = await getattr(session, kind)(*given.values())
                found += [
                    plain(result, str(given.get("name"))),
                    bool(getattr(result, "is_error", False)),
                ]
                continue
            try:
                found.append(bool((await session.call_tool(*given.values())).is_error))
            except McpError:
                found.append(True)
    return found


def shown(tool: Any) -> Any:
    """Return of a tool what a model is to know: arguments with their types and needs."""
    schema = tool.input_schema
    described = {
        name: {key: one[key] for key in ("type", "default", "description", "minimum") if key in one}
        for name, one in schema.get("properties", {}).items()
    }
    return tool.name, tool.description, str(described), sorted(schema.get("required", []))


@pytest.mark.parametrize("program", PROGRAMS)
async def test_both_give_the_same_client_the_same_answers(program: str) -> None:
    assert await answers(program, "new") == await answers(program, "old")


@pytest.mark.parametrize("program", PROGRAMS)
async def test_the_new_program_answers_at_the_newest_revision(program: str) -> None:
    found = await answers(program, "new", revision=mcp_wire.LATEST)
    assert len(found) > 1


def code(path: Path) -> list[str]:
    """Return the lines of a program that are neither empty nor its docstring."""
    lines = path.read_text("utf-8").splitlines()[1:]
    return [line for line in lines if line.strip()]


def changed(program: str) -> tuple[int, int]:
    """Return the lines of the old program, and how many lines change."""
    old, new = code(path_of(program, "old")), code(path_of(program, "new"))
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    steps = (one for one in matcher.get_opcodes() if one[0] != "equal")
    return len(old), sum(max(b - a, d - c) for _, a, b, c, d in steps)


def table(sdk: str = "") -> str:
    """Return the table of the programs in Markdown: those of one SDK, or all."""
    rows = ["| program | lines | changed |", "|---|---:|---:|"]
    for program in (one for one in PROGRAMS if one.startswith(sdk)):
        lines, different = changed(program)
        about = ast.get_docstring(ast.parse(path_of(program, "old").read_text("utf-8"))) or ""
        rows.append(f"| {program}: {about.removesuffix('.')} | {lines} | {different} |")
    return "\n".join(rows)


@pytest.mark.parametrize(
    ("page", "sdk"), [(HERE / "README.md", ""), *((one, sdk) for sdk, one in PAGES.items())]
)
def test_the_table_of_changed_lines_is_that_of_the_programs(page: Path, sdk: str) -> None:
    text = page.read_text("utf-8")
    found = re.search(r"^\| program .*?(?=\n\n|\Z)", text, re.DOTALL | re.MULTILINE)
    assert (found[0].strip() if found else "") == table(sdk)


@pytest.mark.parametrize(("sdk", "page"), PAGES.items())
def test_the_page_of_an_sdk_shows_both_sides_of_every_program(sdk: str, page: Path) -> None:
    sides = {
        path_of(one, side).relative_to(ROOT).as_posix()
        for one in PROGRAMS
        if one.startswith(sdk)
        for side in ("old", "new")
    }
    assert sides <= {block.path for block in blocks(page)}


def test_every_program_is_in_the_table() -> None:
    files = set(HERE.glob("*_programs/*_old.py"))
    assert files == {path_of(program, "old") for program in PROGRAMS}
