"""Documentation of each revision: of its package, and of every struct, field and union."""

from __future__ import annotations

import ast
import pydoc
import re
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest

import mcp_wire
from mcp_wire.extensions.tasks import types as tasks
from tests.wire.docstrings import attributes, documented, structs
from tests.wire.revisions import Kept, every_revision, kept

WHOLE = "# --- Whole messages ---"
"""Heading of the last section of structs."""


def source(there: Kept) -> str:
    return Path(there.types.__file__ or "").read_text("utf-8")


def names_in(part: str) -> set[str]:
    """Return the classes of a part of a module."""
    return {node.name for node in ast.parse(part).body if isinstance(node, ast.ClassDef)}


@every_revision
def test_every_struct_has_a_docstring(revision: str) -> None:
    there = structs(kept(revision).types)
    assert there
    assert [name for name, kind in there.items() if not kind.__doc__] == []


@every_revision
def test_every_field_has_a_line(revision: str) -> None:
    there = structs(kept(revision).types)
    fields = {f"{n}.{one}" for n, kind in there.items() for one in kind.__struct_fields__}
    lines = {f"{n}.{one}" for n, kind in there.items() for one in documented(kind)}
    assert fields - lines == set()


def test_every_tag_of_the_newest_revision_has_a_line() -> None:
    there = structs(kept(mcp_wire.LATEST).types)
    tags = {f"{n}.{one}" for n, kind in there.items() for one in tags_of(kind)}
    lines = {f"{n}.{one}" for n, kind in there.items() for one in documented(kind)}
    assert len(tags) > 40
    assert tags - lines == set()


def tags_of(kind: type[msgspec.Struct]) -> set[str]:
    """Return the attributes that a class annotates and that are no fields."""
    return attributes(kind) - {*kind.__struct_fields__}


def test_the_line_of_a_tag_says_its_value() -> None:
    kind: type[msgspec.Struct] = kept(mcp_wire.LATEST).named("TextContent")
    assert documented(kind)["type"] == "Always `text` on the wire; the class sets it."


def test_every_struct_and_field_of_an_extension_has_a_line() -> None:
    there = structs(tasks)
    fields = {f"{n}.{one}" for n, kind in there.items() for one in attributes(kind)}
    lines = {f"{n}.{one}" for n, kind in there.items() for one in documented(kind)}
    assert (fields - lines, [n for n, kind in there.items() if not kind.__doc__]) == (set(), [])


@every_revision
def test_every_alias_has_a_line(revision: str) -> None:
    there = kept(revision)
    tree = ast.parse(source(there))
    checking = next(one for one in tree.body if isinstance(one, ast.If))
    lines = {
        one.target.id
        for body in (tree.body, checking.body)
        for one, text in pairwise(body)
        if isinstance(one, ast.AnnAssign)
        and isinstance(one.target, ast.Name)
        and isinstance(text, ast.Expr)
    }
    assert there.model.aliases.keys() - lines == set()


@every_revision
def test_whole_messages_stand_in_the_last_section(revision: str) -> None:
    before, _, last = source(kept(revision)).partition(WHOLE)
    of_methods = {one.message for one in kept(revision).model.methods}
    assert last.count("\n# --- ") == 1  # the unions
    assert names_in(before) & of_methods == embedded(revision)
    assert of_methods - names_in(last) == embedded(revision)


def embedded(revision: str) -> set[str]:
    """Return the requests that are entries of a result, so that the runtime uses them."""
    return {one.message for one in kept(revision).model.methods if one.direction == "embedded"}


def test_a_request_inside_of_a_result_is_no_whole_message() -> None:
    assert embedded(mcp_wire.LATEST) == {
        "CreateMessageRequest",
        "ElicitRequest",
        "ListRootsRequest",
    }


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("CallToolRequest", "The request `tools/call`, from client to server."),
        ("CancelledNotification", "The notification `notifications/cancelled`, from either side."),
        ("ElicitRequest", "The request `elicitation/create`, as an entry of `inputRequests`."),
        ("CallToolResultResponse", "The response with CallToolResult."),
        ("Request", "The base of messages with a response."),
    ],
)
def test_a_message_is_described_by_its_method(name: str, line: str) -> None:
    kind: type[msgspec.Struct] = kept(mcp_wire.LATEST).named(name)
    assert (kind.__doc__ or "").splitlines()[0] == line


# --- the package of a revision ---

FIRST = [
    "PROFILE",
    "Tool",
    "CallToolRequestParams",
    "CallToolResult",
    "TextContent",
    "Resource",
    "ReadResourceResult",
    "Prompt",
    "GetPromptResult",
    "ServerCapabilities",
]


def paragraphs(revision: str) -> list[str]:
    """Return the docstring of a package: summary, heading and names twice, and the source."""
    text = pydoc.getdoc(mcp_wire.types(revision))
    return re.split(r"\n\n", text)


@every_revision
def test_help_begins_with_ten_names(revision: str) -> None:
    heading, names = paragraphs(revision)[1:3]
    entries = [line.split()[0] for line in names.splitlines() if re.match(r" {4}\w", line)]
    assert (heading, entries) == ("Names to begin with:", FIRST)


@every_revision
def test_help_has_a_meaning_for_each_of_them(revision: str) -> None:
    entries = re.findall(r"(?m)^ {4}(\w+) +(\w.*)$", paragraphs(revision)[2])
    assert [name for name, meaning in entries if meaning] == FIRST


@every_revision
def test_help_lists_every_name_once(revision: str) -> None:
    listed = re.sub(r"(?m)^ {4}\w[^:]*:", ",", paragraphs(revision)[4])
    names = re.findall(r"\w+", listed)
    assert sorted([*names, "PROFILE"]) == sorted(mcp_wire.types(revision).__all__)


@every_revision
def test_help_has_the_sections_of_the_types(revision: str) -> None:
    titles = re.findall(r"(?m)^ {4}(\w[^:]*):", paragraphs(revision)[4])
    headings = re.findall(r"(?m)^# --- (.*) ---$", source(kept(revision)))
    assert titles == [one for one in headings if one != "Untagged unions"]
