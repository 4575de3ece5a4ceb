"""Every kind of schema change: when it is listed, in either direction, and which side it breaks."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any, get_args

import pytest

from codegen.__main__ import generate
from tests.codegen.tiny import CAPABILITY, STRING, checkout, const, ref, struct, union

BEFORE, AFTER = "2030-01-01", "2031-01-01"
INTEGER = {"type": "integer"}
ANY_OBJECT = {"type": "object"}

Definitions = dict[str, Any]


@pytest.fixture(autouse=True)
def _no_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the pydantic models empty: they take most of a run, and no test here reads them."""
    monkeypatch.setattr("codegen.emit.package.models", lambda *_: "")


def optional(**properties: Any) -> dict[str, Any]:
    """Return an object with these properties, none of them required."""
    return {**struct(**properties), "required": []}


def enum(*values: str) -> dict[str, Any]:
    return {"enum": [*values], "type": "string"}


def module(
    folder: Path, before: Definitions, after: Definitions, overlay: str = CAPABILITY
) -> ModuleType:
    """Return the generated change table of two revisions, without the rest of the package."""
    checkout(folder, before, overlay=overlay, revision=BEFORE)
    files = generate(checkout(folder, after, overlay=overlay, revision=AFTER)).package
    made = ModuleType("changes")
    exec(files[Path("changes.py")], made.__dict__)
    return made


def notice(params: str = "EchoRequestParams") -> Definitions:
    """Return a client notification in place of the request of the same method."""
    return {
        "ClientRequest": None,
        "EchoRequest": None,
        "EchoResult": None,
        "ClientNotification": union("EchoNotification"),
        "EchoNotification": struct(method=const("echo"), params=ref(params)),
    }


BY_SERVER = {"ServerRequest": union("EchoRequest")}
WITH_BYE = {
    "ClientRequest": union("EchoRequest", "ByeRequest"),
    "ByeRequest": struct(method=const("bye"), params=ref("EchoRequestParams")),
    "ByeResult": struct(text=STRING),
}
TWO_RESULTS = {
    "EchoResult": struct(kind=const("a")),
    "OtherResult": struct(kind=const("b")),
    "Results": union("EchoResult", "OtherResult"),
    "EchoResultResponse": struct(result=ref("Results")),
}
ONE_RESULT = {**TWO_RESULTS, "EchoResultResponse": struct(result=ref("EchoResult"))}
TEXT, SIZE = struct(text=STRING), struct(size=INTEGER)
SAME: Definitions = {}
BOTH_DECLARE = {"ClientCapabilities": struct(echo=ANY_OBJECT)}

BYE = f'{CAPABILITY}\n[[capability]]\nmethod = "bye"\npath = ""\nreason = "a test"\n'
OTHER_CAPABILITY = (
    CAPABILITY.replace("reason", f'revisions = ["{BEFORE}"]\nreason')
    + f'[[capability]]\nmethod = "echo"\npath = ""\nrevisions = ["{AFTER}"]\nreason = "a test"\n'
)
RENAMED = f'{CAPABILITY}\n[[renamed]]\nold = "Box"\nnew = "Chest"\nreason = "a test"\n'

# Kind, and definitions between which there is one such change: its path, before and after.
CASES: list[tuple[str, Definitions, Definitions, tuple[str, str, str], str]] = [
    ("method added", SAME, WITH_BYE, ("bye", "", "client_to_server"), BYE),
    ("method changed", SAME, notice(), ("echo", "request", "notification"), CAPABILITY),
    ("sender added", SAME, BY_SERVER, ("echo", "client_to_server", "both"), CAPABILITY),
    (
        "sender changed",
        BOTH_DECLARE,
        {**BOTH_DECLARE, **BY_SERVER, "ClientRequest": None},
        ("echo", "client_to_server", "server_to_client"),
        CAPABILITY,
    ),
    ("result added", ONE_RESULT, TWO_RESULTS, ("echo", "", "OtherResult"), CAPABILITY),
    ("capability changed", SAME, SAME, ("echo", "echo", ""), OTHER_CAPABILITY),
    ("type added", SAME, {"Box": TEXT}, ("Box", "", "object"), CAPABILITY),
    ("type renamed", {"Box": TEXT}, {"Chest": TEXT}, ("Chest", "Box", "Chest"), RENAMED),
    (
        "optional field added",
        {"Box": TEXT},
        {"Box": {**struct(text=STRING, size=INTEGER), "required": ["text"]}},
        ("Box.size", "", "int?"),
        CAPABILITY,
    ),
    (
        "required field added",
        {"Box": TEXT},
        {"Box": struct(text=STRING, size=INTEGER)},
        ("Box.size", "", "int"),
        CAPABILITY,
    ),
    (
        "constant added",
        {"Box": TEXT},
        {"Box": struct(text=STRING, kind=const("box"))},
        ("Box.kind", "", 'Literal["box"]'),
        CAPABILITY,
    ),
    (
        "made required",
        {"Box": optional(text=STRING)},
        {"Box": TEXT},
        ("Box.text", "str?", "str"),
        CAPABILITY,
    ),
    (
        "value added",
        {"Size": enum("small")},
        {"Size": enum("small", "large")},
        ("Size", "", "large"),
        CAPABILITY,
    ),
    (
        "widened",
        {"Box": struct(size=INTEGER)},
        {"Box": struct(size={"type": "number"})},
        ("Box.size", "int", "int | float"),
        CAPABILITY,
    ),
    (
        "changed",
        {"Box": TEXT},
        {"Box": struct(text=INTEGER)},
        ("Box.text", "str", "int"),
        CAPABILITY,
    ),
]

EFFECTS = {
    "method added": "additive",
    "method removed": "breaks both",
    "method changed": "breaks both",
    "sender added": "additive",
    "sender removed": "breaks both",
    "sender changed": "breaks both",
    "result added": "breaks receivers",
    "result removed": "breaks senders",
    "capability changed": "breaks both",
    "type added": "none",
    "type removed": "none",
    "type renamed": "none",
    "optional field added": "additive",
    "optional field removed": "breaks senders",
    "required field added": "breaks senders",
    "required field removed": "breaks both",
    "constant added": "breaks senders",
    "constant removed": "breaks both",
    "made required": "breaks senders",
    "made optional": "breaks receivers",
    "value added": "breaks receivers",
    "value removed": "breaks senders",
    "widened": "breaks receivers",
    "narrowed": "breaks senders",
    "changed": "breaks both",
}

every_case = pytest.mark.parametrize(
    ("kind", "before", "after", "change", "overlay"), CASES, ids=[case[0] for case in CASES]
)


def told(found: Any, path: str, kind: str) -> list[tuple[str, str, str]]:
    return [(c.path, c.before, c.after) for c in found if c.path == path and c.kind == kind]


@every_case
def test_a_change_is_told(
    tmp_path: Path,
    kind: str,
    before: Definitions,
    after: Definitions,
    change: tuple[str, str, str],
    overlay: str,
) -> None:
    found = module(tmp_path, before, after, overlay).changes(BEFORE, AFTER)
    assert told(found, change[0], kind) == [change]


@every_case
def test_a_change_is_told_as_its_mirror_when_the_revisions_are_the_other_way_round(
    tmp_path: Path,
    kind: str,
    before: Definitions,
    after: Definitions,
    change: tuple[str, str, str],
    overlay: str,
) -> None:
    # The generated tables are swapped, not the arguments of the query.
    made = module(tmp_path, after, before, swapped(overlay))
    mirror = made.RULES[kind].mirror
    path = "Box" if kind == "type renamed" else change[0]
    found = told(made.changes(BEFORE, AFTER), path, mirror)
    assert found == [(path, change[2], change[1])]


def swapped(overlay: str) -> str:
    """Return an overlay whose rows for the two revisions are swapped."""
    dates = overlay.replace(BEFORE, "then").replace(AFTER, BEFORE).replace("then", AFTER)
    return dates.replace('old = "Box"\nnew = "Chest"', 'old = "Chest"\nnew = "Box"')


@pytest.mark.parametrize(("kind", "effect"), EFFECTS.items(), ids=EFFECTS)
def test_a_kind_of_change_has_its_effect(kind: Any, effect: str) -> None:
    from mcp_wire.changes import RULES

    assert RULES[kind].effect == effect


def test_every_kind_has_a_rule_and_a_case_from_one_side_or_the_other() -> None:
    from mcp_wire.changes import RULES, Kind

    cases = {kind for kind, *_ in CASES}
    mirrors = {str(RULES[kind].mirror) for kind in RULES if kind in cases}
    assert cases | mirrors == set(get_args(Kind)) == set(EFFECTS) == set(RULES)


def test_the_mirror_of_a_mirror_is_the_kind_itself() -> None:
    from mcp_wire.changes import RULES

    assert {kind: RULES[rule.mirror].mirror for kind, rule in RULES.items()} == {
        kind: kind for kind in RULES
    }


# --- relations of types ---

OLD_BOX = {"Box": TEXT}
MAP_OF_INTEGERS = {**ANY_OBJECT, "additionalProperties": INTEGER}


def list_of(items: Any) -> Any:
    return {"type": "array", "items": items}


@pytest.mark.parametrize(
    ("before", "after", "relation"),
    [
        (STRING, {}, "widened"),
        (STRING, {"type": ["string", "integer"]}, "widened"),
        ({"type": ["integer", "string"]}, {"type": ["string", "integer"]}, None),
        ({"type": ["integer", "string"]}, {"type": ["string", "boolean"]}, "changed"),
        (const("a"), STRING, "widened"),
        (const("a"), const("b"), "changed"),
        (STRING, enum("a", "b"), "narrowed"),
        ({"type": "array", "items": INTEGER}, {"type": "array", "items": {}}, "widened"),
        ({"type": "array", "items": INTEGER}, INTEGER, "changed"),
        (INTEGER, {"anyOf": [INTEGER, {"type": "array", "items": INTEGER}]}, "widened"),
        (INTEGER, {"type": "number"}, "widened"),
        (INTEGER, STRING, "changed"),
        (const("a"), INTEGER, "changed"),
        (enum("a", "b"), {"type": ["string", "integer"]}, "widened"),
        ({"type": ["string", "integer"]}, INTEGER, "narrowed"),
        ({"type": ["integer", "boolean"]}, {"type": ["number", "boolean"]}, "widened"),
        ({"anyOf": [INTEGER, {"type": "number"}]}, {"type": "number"}, None),
        (list_of(enum("a", "b")), list_of(enum("a", "b", "c")), "widened"),
        (list_of(enum("a", "b")), list_of(STRING), "widened"),
        (MAP_OF_INTEGERS, {**ANY_OBJECT, "additionalProperties": {"type": "number"}}, "widened"),
        (MAP_OF_INTEGERS, {**ANY_OBJECT, "additionalProperties": STRING}, "changed"),
        (ref("Box"), MAP_OF_INTEGERS, "changed"),
        (ref("Other"), MAP_OF_INTEGERS, "widened"),
        (ref("Box"), {"type": "array", "items": STRING}, "changed"),
        (ref("Box"), ANY_OBJECT, "widened"),
        (ANY_OBJECT, ref("Box"), "narrowed"),
        (ref("Box"), ref("Same"), None),
        (ref("Box"), ref("More"), "narrowed"),
        (ref("Box"), ref("Less"), "widened"),
        (ref("Box"), ref("Other"), "changed"),
        (ref("Box"), ref("Alias"), None),
    ],
)
def test_two_types_of_one_field_relate_by_what_they_allow(
    tmp_path: Path, before: Any, after: Any, relation: str | None
) -> None:
    boxes = {
        "Box": TEXT,
        "Same": TEXT,
        "More": struct(text=STRING, size=INTEGER),
        "Less": optional(text=STRING),
        "Other": struct(text=INTEGER),
        "Alias": ref("Box"),
    }
    one, other = {**boxes, "Shelf": struct(a=before)}, {**boxes, "Shelf": struct(a=after)}
    found = module(tmp_path, one, other).changes(BEFORE, AFTER)
    assert [c.kind for c in found if c.path == "Shelf.a"] == ([relation] if relation else [])


def kinds(*names: str) -> Definitions:
    """Return a union of these structs, which differ in a constant."""
    return {
        **{name: struct(kind=const(name), text=STRING) for name in names},
        "Either": union(*names),
    }


def test_a_union_that_gains_an_arm_and_loses_another_has_changed(tmp_path: Path) -> None:
    found = module(tmp_path, kinds("A", "B"), kinds("B", "C")).changes(BEFORE, AFTER)
    (change,) = [change for change in found if change.path == "Either"]
    assert (change.kind, change.detail) == ("changed", "+ C - A")


def test_an_arm_that_another_arm_allows_is_still_an_arm_of_its_own(tmp_path: Path) -> None:
    loose = {"Loose": optional(text=STRING), "Text": TEXT}
    typing = f'{CAPABILITY}\n[[typing]]\nnames = ["Either"]\nreason = "a test"\n'
    before = {**loose, "Either": union("Loose")}
    after = {**loose, "Either": union("Loose", "Text")}
    found = module(tmp_path, before, after, typing).changes(BEFORE, AFTER)
    assert [c.kind for c in found if c.path == "Either"] == ["widened"]


def test_a_union_that_is_joined_by_a_list_of_it_is_wider_whatever_its_own_arms_do(
    tmp_path: Path,
) -> None:
    either = ref("Either")
    before = {**kinds("A", "B"), "Shelf": struct(a=either)}
    more = {"anyOf": [either, {"type": "array", "items": either}]}
    after = {**kinds("B", "C"), "Shelf": struct(a=more)}
    found = module(tmp_path, before, after).changes(BEFORE, AFTER)
    assert [c.kind for c in found if c.path == "Shelf.a"] == ["widened"]


def test_a_field_of_a_renamed_type_relates_to_what_it_was_under_the_older_name(
    tmp_path: Path,
) -> None:
    before, after = {"Box": struct(a=INTEGER)}, {"Chest": struct(a={"type": "number"})}
    found = module(tmp_path, before, after, RENAMED).changes(BEFORE, AFTER)
    assert [c.kind for c in found if c.path == "Chest.a"] == ["widened"]


def test_a_struct_that_holds_itself_is_compared_with_one_that_does(tmp_path: Path) -> None:
    before = {"Tree": optional(branch=ref("Tree")), "Shelf": struct(a=ref("Tree"))}
    after = {"Bush": optional(branch=ref("Bush")), "Shelf": struct(a=ref("Bush"))}
    found = module(tmp_path, before, after).changes(BEFORE, AFTER)
    assert [c for c in found if c.path == "Shelf.a"] == []


def test_a_renamed_row_without_its_types_stops(tmp_path: Path) -> None:
    from tests.codegen.tiny import stopped

    message = stopped(checkout(tmp_path, overlay=RENAMED))
    assert message == (
        "overlay.toml: [[renamed]] row 1: the row matched nothing in any revision; remove it"
    )
