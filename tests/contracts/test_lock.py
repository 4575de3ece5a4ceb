"""Locks: the file, and what has changed between two of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mcp_gen.contracts.annotations import annotation_changes
from mcp_gen.contracts.changes import ContractChange, compare_locks
from mcp_gen.contracts.lock import (
    LISTS,
    RevisionPromise,
    ServerLock,
    decode_lock,
    encode_lock,
    promised_items,
    read_lock,
)
from mcp_gen.core.errors import UsageError

NEWEST, OLDER, OLDEST = "2026-07-28", "2025-11-25", "2024-11-05"
TEXT = {"type": "string"}


def tool(**members: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"a": TEXT}, "required": ["a"]}
    return {"name": "t", "description": "A tool.", "inputSchema": schema, **members}


def promise(**members: Any) -> RevisionPromise:
    return RevisionPromise(capabilities={"tools": {"listChanged": True}}, **members)


def lock_of(**members: Any) -> ServerLock:
    return ServerLock({"name": "s"}, {NEWEST: promise(**members)})


def changes(old: ServerLock, new: ServerLock) -> list[tuple[str, str, str]]:
    return [(one.verdict, one.subject, one.says) for one in compare_locks(old, new)]


# --- the file ---


def whole_lock() -> ServerLock:
    newest = promise(
        instructions="Be kind.",
        tools={"t": tool(title="T", icons=[{"src": "a"}]), "u": {**tool(), "name": "u"}},
        prompts={"p": {"name": "p", "arguments": [{"name": "x", "required": True}]}},
        resources={"a://b": {"uri": "a://b", "name": "b"}},
        resource_templates={"a://{b}": {"uriTemplate": "a://{b}", "name": "c"}},
    )
    older = RevisionPromise(
        capabilities={"tools": {}, "logging": {}},
        tools={"t": tool(description="Another tool.", default=None), "v": {**tool(), "name": "v"}},
        prompts=newest.prompts,
        resources=newest.resources,
    )
    return ServerLock({"name": "s", "version": "1"}, {NEWEST: newest, OLDER: older, OLDEST: older})


def test_a_lock_is_read_as_it_was_written() -> None:
    assert decode_lock(encode_lock(whole_lock())) == whole_lock()


def test_an_older_revision_has_what_differs_alone() -> None:
    made = json.loads(encode_lock(whole_lock()))["revisions"]
    assert [*made] == [NEWEST, OLDER, OLDEST]
    assert made[OLDEST] == {}
    assert made[OLDER]["tools"] == {
        "t": {
            "with": {"default": None, "description": "Another tool."},
            "without": ["icons", "title"],
        },
        "u": None,
        "v": {"with": {**tool(), "name": "v"}},
    }
    assert made[OLDER]["instructions"] is None
    assert "prompts" not in made[OLDER]


def test_the_order_of_lists_and_members_does_not_matter() -> None:
    one = tool(title="T")
    lists = [one, {**tool(), "name": "u"}], [{**tool(), "name": "u"}, dict(reversed(one.items()))]
    texts = {encode_lock(lock_of(tools=promised_items(LISTS[0], listed))) for listed in lists}
    assert len(texts) == 1


def test_what_changes_from_day_to_day_is_left_out() -> None:
    hints = {"audience": ["user"], "lastModified": "2025-01-01T00:00:00Z"}
    listed = [{"uri": "a:b", "name": "b", "size": 3, "annotations": hints}]
    assert promised_items(LISTS[2], listed) == {
        "a:b": {"uri": "a:b", "name": "b", "annotations": {"audience": ["user"]}}
    }


def test_a_name_that_is_listed_twice_is_kept_twice() -> None:
    found = promised_items(LISTS[0], [tool(), tool(description="Poison.")])
    assert {name: one["description"] for name, one in found.items()} == {
        "t": "A tool.",
        "t (2)": "Poison.",
    }


def test_characters_that_cannot_be_seen_are_escaped_and_others_are_not() -> None:
    hidden = "é \u202e hidden \U000e0041 \ud800 \x1b"
    text = encode_lock(lock_of(instructions=hidden))
    assert r"é \u202e hidden \udb40\udc41 \ud800 \u001b" in text
    assert decode_lock(text).revisions[NEWEST].instructions == hidden


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "is no JSON"),
        ("[]", "is no lock"),
        ("{}", "is no lock"),
        ('{"mcpLock": 2}', "is a lock of format 2, not 1"),
        ('{"mcpLock": 1}', "damaged"),
        ('{"mcpLock": 1, "server": {}, "revisions": {"2026-07-28": 5}}', "damaged"),
    ],
)
def test_what_is_no_lock_is_an_error_with_the_next_step(
    tmp_path: Path, text: str, why: str
) -> None:
    path = tmp_path / "mcp.lock.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=why) as caught:
        read_lock(path)
    assert "`mcp-gen lock TARGET -o FILE` makes it again" in str(caught.value)


# --- changes ---


def test_a_server_that_has_not_changed_has_no_changes() -> None:
    assert compare_locks(whole_lock(), whole_lock()) == ()


def test_what_vanishes_breaks_and_what_is_new_does_not() -> None:
    held: dict[str, Any] = {
        "tools": {"t": tool()},
        "prompts": {"p": {"name": "p"}},
        "resources": {"a:b": {"uri": "a:b", "name": "b"}},
        "resource_templates": {"a:{b}": {"uriTemplate": "a:{b}", "name": "c"}},
    }
    gone = [("breaks", name, "is gone") for name in ("tool t", "prompt p")]
    gone += [
        ("breaks", "resource a:b", "is gone"),
        ("breaks", "resource template a:{b}", "is gone"),
    ]
    assert changes(lock_of(**held), lock_of()) == gone
    new = [("compatible", subject, "is new") for _, subject, _ in gone]
    assert changes(lock_of(), lock_of(**held)) == new


def test_a_revision_that_is_not_spoken_any_more_breaks() -> None:
    only = ServerLock({"name": "s"}, {NEWEST: whole_lock().revisions[NEWEST]})
    found = compare_locks(whole_lock(), only)
    says = "is not spoken at this revision any more"
    assert found == (ContractChange("breaks", "protocol", says, (OLDER, OLDEST)),)
    assert [one.verdict for one in compare_locks(only, whole_lock())] == ["compatible"]


def test_a_change_at_several_revisions_is_one() -> None:
    old = ServerLock(
        {}, {NEWEST: promise(tools={"t": tool()}), OLDER: promise(tools={"t": tool()})}
    )
    new = ServerLock({}, {NEWEST: promise(), OLDER: promise()})
    assert compare_locks(old, new) == (
        ContractChange("breaks", "tool t", "is gone", (NEWEST, OLDER)),
    )


@pytest.mark.parametrize(
    ("old", "new", "verdict"),
    [
        ({"tools": {"listChanged": True}}, {"tools": {}}, "breaks"),
        ({"tools": {"listChanged": True}}, {"tools": {"listChanged": False}}, "breaks"),
        ({"tools": {}}, {"tools": {"listChanged": True}}, "compatible"),
        ({"logging": {}}, {}, "breaks"),
        ({}, {"logging": {}}, "compatible"),
        ({"experimental": {"x": 1}}, {"experimental": {"x": 2}}, "cannot tell"),
    ],
)
def test_a_capability_that_is_not_declared_any_more_breaks(
    old: Any, new: Any, verdict: str
) -> None:
    one, other = (
        ServerLock({}, {NEWEST: RevisionPromise(capabilities=held)}) for held in (old, new)
    )
    assert [change.verdict for change in compare_locks(one, other)] == [verdict]


@pytest.mark.parametrize(
    ("old", "new", "verdicts"),
    [
        ({"title": "A"}, {"title": "B"}, ["changed"]),
        ({}, {"annotations": {"readOnlyHint": True}}, ["changed"]),
        ({"icons": [{"src": "a"}]}, {}, ["changed"]),
        ({"_meta": {"a": 1}}, {"_meta": {"a": True}}, ["changed"]),
        ({"outputSchema": {"type": "object"}}, {}, ["breaks"]),
        ({}, {"outputSchema": {"type": "object"}}, ["compatible"]),
        ({"execution": {"taskSupport": "optional"}}, {}, ["breaks"]),
        ({}, {"execution": {"taskSupport": "required"}}, ["breaks"]),
        ({}, {"execution": {"taskSupport": "optional"}}, ["compatible"]),
    ],
)
def test_members_of_a_tool_have_their_verdicts(old: Any, new: Any, verdicts: list[str]) -> None:
    one, other = lock_of(tools={"t": tool(**old)}), lock_of(tools={"t": tool(**new)})
    assert [change.verdict for change in compare_locks(one, other)] == verdicts


def argument(**schema: Any) -> ServerLock:
    held = {"type": "object", "properties": {"a": {"type": "string", **schema}}, "required": ["a"]}
    return lock_of(tools={"t": tool(inputSchema=held)})


def test_texts_in_schemas_that_models_read_are_changes() -> None:
    long = "word " * 100
    old, new = argument(description=f"{long}.", default="x"), argument(description=f"{long}!")
    assert changes(old, new) == [
        ("changed", "tool t", 'arguments.a: default is gone: it was "x"'),
        (
            "changed",
            "tool t",
            'arguments.a: description was ...word word word word word word word word ."'
            ', and is ...word word word word word word word word !"',
        ),
    ]


def test_texts_that_stay_as_they_are_are_no_changes() -> None:
    old = argument(description="The same.", title="A", default="x")
    assert changes(old, argument(description="The same.", title="B", default="x")) == [
        ("changed", "tool t", 'arguments.a: title was "A", and is "B"')
    ]


@pytest.mark.parametrize(
    "held",
    [
        lambda schema: {"items": schema},
        lambda schema: {"anyOf": [schema]},
        lambda schema: {"properties": {"a": schema}},
    ],
    ids=["items", "anyOf", "properties"],
)
def test_texts_are_compared_as_deep_as_allowed_and_no_deeper(held: Any) -> None:
    def nested(text: str, deep: int) -> Any:
        return held(nested(text, deep - 1)) if deep else {"description": text}

    told = [annotation_changes(nested("a", deep), nested("b", deep)) for deep in (64, 65)]
    assert [len(one) for one in told] == [1, 0]


def test_a_tool_whose_input_schema_is_missing_takes_any_object() -> None:
    bare = {"name": "t", "description": "A tool."}
    one, other = lock_of(tools={"t": bare}), lock_of(tools={"t": tool()})
    assert [verdict for verdict, _, _ in changes(one, other)] == ["breaks"]
    assert [verdict for verdict, _, _ in changes(other, one)] == ["changed"]


def test_a_finding_names_its_place_with_an_example() -> None:
    (found,) = compare_locks(argument(), argument(maxLength=3))
    says = "arguments.a takes at most 3 characters only"
    assert (found.verdict, found.says) == ("breaks", says)
    assert len(json.loads(found.example)["a"]) > 3
    (found,) = compare_locks(argument(), argument(format="uri"))
    assert (found.verdict, found.says) == (
        "cannot tell",
        "arguments.a perhaps has another `format`",
    )


@pytest.mark.parametrize(
    ("taken", "says"),
    [
        ({"type": "integer"}, "integers"),
        ({"type": "number", "multipleOf": 3}, "multiples of 3"),
        ({"type": "number", "multipleOf": 0.5}, "multiples of 0.5"),
    ],
)
def test_what_numbers_are_taken_is_told(taken: Any, says: str) -> None:
    (found,) = compare_locks(argument(type="number"), argument(**taken))
    assert found.says == f"arguments.a takes {says} only"


@pytest.mark.parametrize(
    ("values", "says"), [("ab", '"a", "b"'), ("abcdefg", '"a", "b", "c", "d", "e" and 2 more')]
)
def test_of_the_only_values_that_are_taken_some_are_told(values: str, says: str) -> None:
    (found,) = compare_locks(argument(), argument(enum=[*values]))
    assert found.says == f"arguments.a takes only {says}"


def test_an_example_has_the_simplest_values() -> None:
    old = {"type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"]}
    new = {**old, "required": ["n", "z"]}
    one, other = (lock_of(tools={"t": tool(inputSchema=held)}) for held in (old, new))
    (found,) = compare_locks(one, other)
    assert found.example == '{"n":0}'


def test_results_are_told_as_results() -> None:
    def giving(**schema: Any) -> ServerLock:
        held = {"type": "object", "properties": {"n": schema}, "required": ["n"]}
        return lock_of(tools={"t": tool(outputSchema=held)})

    (found,) = compare_locks(giving(type="number"), giving(type=["number", "null"]))
    says = "results.n can be null"
    assert (found.verdict, found.says, found.example) == ("breaks", says, '{"n":null}')
    (found,) = compare_locks(giving(type="number"), giving(type="integer"))
    assert found.verdict == "compatible"


def test_an_argument_that_is_dropped_is_told() -> None:
    old = {"type": "object", "properties": {"a": TEXT, "b": TEXT}}
    new = {"type": "object", "properties": {"a": TEXT}}
    one, other = (lock_of(tools={"t": tool(inputSchema=held)}) for held in (old, new))
    says = "arguments.b is not declared any more, and may be ignored"
    assert changes(one, other) == [("changed", "tool t", says)]


def test_a_result_that_is_not_declared_any_more_is_told_though_it_was_optional() -> None:
    old = {"type": "object", "properties": {"a": TEXT, "b": TEXT}, "required": ["a"]}
    new = {"type": "object", "properties": {"a": TEXT}, "required": ["a"]}
    one, other = (lock_of(tools={"t": tool(outputSchema=held)}) for held in (old, new))
    says = "results.b is not declared any more, and may be missing"
    assert changes(one, other) == [("changed", "tool t", says)]
    assert changes(other, one) == [("compatible", "tool t", "results.b is new")]


def test_a_lock_without_revisions_is_damaged() -> None:
    with pytest.raises(UsageError, match="has been damaged"):
        decode_lock('{"mcpLock": 1, "server": {}, "revisions": {}}')


def asking(*arguments: dict[str, Any]) -> ServerLock:
    return lock_of(prompts={"p": {"name": "p", "arguments": [*arguments]}})


def test_an_argument_of_a_prompt_that_becomes_required_breaks() -> None:
    optional, required = {"name": "x"}, {"name": "x", "required": True}
    needed = [("breaks", "prompt p", "argument x is required now")]
    assert changes(asking(optional), asking(required)) == needed
    assert changes(asking(), asking(required)) == needed
    for old, new in ((asking(required), asking(optional)), (asking(), asking(optional))):
        assert [one.verdict for one in compare_locks(old, new)] == ["compatible"]
    assert [one.verdict for one in compare_locks(asking(optional), asking())] == ["changed"]


def test_another_text_of_a_prompts_argument_is_told() -> None:
    old, new = {"name": "x", "description": "a"}, {"name": "x", "description": "b"}
    says = 'argument x: description was "a", and is "b"'
    assert changes(asking(old), asking(new)) == [("changed", "prompt p", says)]
    assert changes(asking(old), asking(old)) == []
    # What is new has no text before.
    assert changes(asking(), asking(new)) == [
        ("compatible", "prompt p", "argument x is new, and optional")
    ]


def test_another_media_type_of_a_resource_breaks_and_a_first_one_does_not() -> None:
    def lock(**members: str) -> ServerLock:
        return lock_of(resources={"a://b": {"uri": "a://b", "name": "b", **members}})

    plain, html = lock(mimeType="text/plain"), lock(mimeType="text/html")
    says = 'mimeType was "text/plain", and is "text/html"'
    assert changes(plain, html) == [("breaks", "resource a://b", says)]
    assert changes(lock(), html) == [
        ("compatible", "resource a://b", 'mimeType is new: "text/html"')
    ]
