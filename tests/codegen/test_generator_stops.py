"""Errors of the generator: it stops, names the place, and says what to add."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from codegen.__main__ import generate, main
from codegen.errors import Stops, printable
from tests.codegen.tiny import (
    CAPABILITY,
    FACTS,
    STRING,
    checkout,
    const,
    ref,
    stopped,
    struct,
    union,
)


def test_the_schema_that_these_tests_change_is_accepted(tmp_path: Path) -> None:
    assert Path("v2030_01_01/types.py") in generate(checkout(tmp_path)).package


@pytest.mark.parametrize("wire", ["1echo", "", 'echo"""', "echo\n", "{{ echo }}", "größe"])
def test_a_method_that_cannot_name_a_constant_stops(tmp_path: Path, wire: str) -> None:
    echo = struct(method=const(wire), params=ref("EchoRequestParams"))
    overlay = CAPABILITY.replace('"echo"', json.dumps(wire), 1)
    message = stopped(checkout(tmp_path, {"EchoRequest": echo}, overlay=overlay))
    assert message == (
        f"2030-01-01: #/$defs/EchoRequest: the method `{printable(wire)}`, which cannot name a "
        "constant; give it a name of letters, digits and slashes"
    )


def test_a_message_that_cannot_name_a_call_stops(tmp_path: Path) -> None:
    definitions = {
        "EchoRequest": None,
        "Request": struct(method=const("echo"), params=ref("EchoRequestParams")),
        "Result": struct(text=STRING),
        "ClientRequest": union("Request"),
    }
    assert stopped(checkout(tmp_path, definitions)) == (
        "2030-01-01: #/$defs/Request: `Request`, which cannot name a call; "
        "add a [[name]] row that renames the definition"
    )


def test_two_messages_that_want_one_name_stop(tmp_path: Path) -> None:
    definitions = {
        "ECHORequest": struct(method=const("e/cho"), params=ref("EchoRequestParams")),
        "ECHOResult": struct(text=STRING),
        "ServerRequest": union("ECHORequest"),
        "ClientCapabilities": struct(echo={"type": "object"}),
    }
    overlay = CAPABILITY + CAPABILITY.replace('method = "echo"', 'method = "e/cho"')
    assert stopped(checkout(tmp_path, definitions, overlay=overlay)) == (
        "2030-01-01: #/$defs/ECHORequest: ECHORequest and EchoRequest want the same name in "
        "Python; rename one of them"
    )


@pytest.mark.parametrize("wire", ["self", "timeoutS", "progress", "types", "methods"])
def test_an_argument_that_a_call_has_already_stops(tmp_path: Path, wire: str) -> None:
    message = stopped(checkout(tmp_path, {"EchoRequestParams": struct(**{wire: STRING})}))
    assert message.startswith(
        f"2030-01-01: #/$defs/EchoRequestParams: `{wire}` among the arguments of `echo`, "
    )


def test_a_text_of_the_facts_that_is_more_than_a_line_stops(tmp_path: Path) -> None:
    facts = FACTS + SECTION.format("EchoResult").replace("One", "One\\nimport os")
    assert stopped(checkout(tmp_path, facts=facts)) == (
        "2030-01-01: facts.toml [section] 1: a text that is not one line of plain words; "
        "correct the row"
    )


def test_a_row_for_extra_keys_of_an_object_that_allows_none_stops(tmp_path: Path) -> None:
    box = {**struct(a=STRING), "additionalProperties": False}
    overlay = CAPABILITY + '[[extra]]\nnames = ["Box"]\nreason = "a test"\n'
    assert stopped(checkout(tmp_path, {"Box": box}, overlay=overlay)) == (
        "2030-01-01: #/$defs/Box: an [[extra]] row for an object that allows no other keys; "
        "take it out of the row"
    )


def test_all_that_stops_is_said_at_once(tmp_path: Path) -> None:
    definitions = {
        "Box": struct(lid=struct(color=STRING)),
        "Odd": {"enum": [1.5]},
        "ClientRequest": None,
    }
    lines = stopped(checkout(tmp_path, definitions, facts=FACTS + SECTION.format("Gone")))
    assert [line.split(": ")[1] for line in lines.split("\n")] == [
        "#/$defs/Box/properties/lid",
        "#/$defs/Odd",
        "#/$defs/Gone",
        "#/$defs/EchoRequest",
    ]


def test_all_revisions_are_read_before_the_run_stops(tmp_path: Path) -> None:
    checkout(tmp_path, {"Odd": {"enum": [1.5]}})
    lines = stopped(checkout(tmp_path, {"Odd": {"enum": [2.5]}}, revision="2031-01-01"))
    assert [line.partition(": ")[0] for line in lines.split("\n")] == ["2030-01-01", "2031-01-01"]


def test_the_rows_to_add_are_said_with_the_stops(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = checkout(tmp_path, {"Box": struct(lid=struct(color=STRING))})
    assert main(["--root", str(root), "--check"]) == 1
    assert capsys.readouterr().err == (
        "codegen: 2030-01-01: #/$defs/Box/properties/lid: an object without a name; "
        "add a [[name]] row\n"
        "\n"
        "rows to paste into schema/overlay.toml, each with its reason:\n"
        "\n"
        "[[name]]\n"
        'paths = ["Box/lid"]\n'
        'name = "BoxLid"\n'
        'revisions = ["2030-01-01"]\n'
        'reason = "say why"\n'
    )


def test_a_fact_that_no_revision_states_has_the_type_of_none(tmp_path: Path) -> None:
    fact = f'{FACTS}[facts.batches]\nsource = "https://example.com"\n'
    files = generate(checkout(tmp_path, facts=fact)).package
    assert "    batches: None\n" in files[Path("profile.py")]


def test_what_stopped_the_run_is_one_line_on_stderr(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["--root", str(checkout(tmp_path, {"Odd": {"not": {}}})), "--check"])
    shown = capsys.readouterr()
    assert (code, shown.out, shown.err.count("\n")) == (1, "", 1)


# --- the pydantic models ---


@pytest.mark.parametrize(
    ("wire", "name"),
    [("copy", "copy_"), ("json", "json_"), ("größe", "größe"), ("2fa", "field_2fa")],
)
def test_an_attribute_that_a_model_cannot_have_has_another_name(
    tmp_path: Path, wire: str, name: str
) -> None:
    files = generate(checkout(tmp_path, {"EchoResult": struct(**{wire: STRING})})).package
    models = files[Path("pydantic", "v2030_01_01.py")]
    assert f"class EchoResult(WireModel):\n    {name}: " in models


# --- the schema ---


def test_an_unknown_keyword_stops(tmp_path: Path) -> None:
    message = stopped(checkout(tmp_path, {"Odd": {"type": "string", "x-odd": 1}}))
    assert message == (
        "2030-01-01: #/$defs/Odd: unknown keyword `x-odd`; "
        "say with a row of codegen/schema/keywords.py what it does"
    )


def test_an_object_without_a_name_stops(tmp_path: Path) -> None:
    message = stopped(checkout(tmp_path, {"Box": struct(lid=struct(color=STRING))}))
    assert message == (
        "2030-01-01: #/$defs/Box/properties/lid: an object without a name; add a [[name]] row"
    )


def test_an_object_with_properties_and_others_stops(tmp_path: Path) -> None:
    message = stopped(checkout(tmp_path, {"Box": {**struct(a=STRING), "additionalProperties": {}}}))
    assert message == (
        "2030-01-01: #/$defs/Box: an object with properties and additionalProperties; say with an "
        "[[open]] row that it stays a map, or with a [[closed]] row that unknown keys may be "
        "dropped"
    )


def test_a_union_of_structs_without_a_name_stops(tmp_path: Path) -> None:
    definitions = {
        "Red": struct(kind=const("red")),
        "Blue": struct(kind=const("blue")),
        "Box": struct(lid=union("Red", "Blue")),
    }
    assert stopped(checkout(tmp_path, definitions)) == (
        "2030-01-01: #/$defs/Box/properties/lid: a union of Red, Blue without a name; "
        "add a [[name]] row"
    )


def test_a_union_nobody_can_tell_apart_stops(tmp_path: Path) -> None:
    either = union("EchoRequestParams", "EchoResult")
    message = stopped(checkout(tmp_path, {"Either": either}))
    assert message == (
        "2030-01-01: #/$defs/Either: nothing tells EchoRequestParams, EchoResult apart; "
        "add a [[pick]] row, a [[typing]] row if it is never decoded, or an [[open]] row if it may "
        "stay a map"
    )


def test_a_union_inside_a_union_that_nobody_can_tell_apart_stops(tmp_path: Path) -> None:
    definitions = {
        "Red": struct(kind=const("red")),
        "Blue": struct(kind=const("blue")),
        "Color": union("Red", "Blue"),
        "Either": union("Color", "EchoResult"),
    }
    message = stopped(checkout(tmp_path, definitions))
    assert message == (
        "2030-01-01: #/$defs/Either: nothing tells Red, Blue, EchoResult apart; add a [[pick]] "
        "row, a [[typing]] row if it is never decoded, or an [[open]] row if it may stay a map"
    )


def test_a_definition_that_refers_to_itself_stops(tmp_path: Path) -> None:
    tree = {"anyOf": [STRING, {"type": "array", "items": ref("Branch")}]}
    branch = {"type": "object", "additionalProperties": ref("Tree")}
    message = stopped(checkout(tmp_path, {"Tree": tree, "Branch": branch}))
    assert message == (
        "2030-01-01: #/$defs/Tree: it refers to itself, without a struct in between; "
        "add a [[patch]] row; `new = {}` allows anything"
    )


def test_a_struct_that_refers_to_itself_is_accepted(tmp_path: Path) -> None:
    assert generate(checkout(tmp_path, {"Tree": struct(branch=ref("Tree"))}))


def test_a_struct_that_would_need_two_tags_stops(tmp_path: Path) -> None:
    definitions = {
        "Both": struct(kind=const("both"), sort=const("both")),
        "Kind": struct(kind=const("kind")),
        "Sort": struct(sort=const("sort")),
        "ByKind": union("Both", "Kind"),
        "BySort": union("Both", "Sort"),
    }
    message = stopped(checkout(tmp_path, definitions))
    assert message == "2030-01-01: #/$defs/BySort: Both would need two tags; add a [[pick]] row"


# --- names ---


def named(path: str, name: str) -> str:
    return f'{CAPABILITY}\n[[name]]\npaths = ["{path}"]\nname = "{name}"\nreason = "a test"\n'


def test_a_name_that_is_already_a_definition_stops(tmp_path: Path) -> None:
    box = struct(lid=struct(color=STRING))
    message = stopped(checkout(tmp_path, {"Box": box}, overlay=named("Box/lid", "EchoResult")))
    assert message == (
        "2030-01-01: #/$defs/Box/properties/lid: the name EchoResult is already a definition; "
        "choose another"
    )


def test_two_shapes_that_want_one_name_stop(tmp_path: Path) -> None:
    boxes = {"Box": struct(lid=struct(a=STRING)), "Chest": struct(lid=struct(b=STRING))}
    message = stopped(checkout(tmp_path, boxes, overlay=named("*/lid", "Lid")))
    assert message == (
        "2030-01-01: #/$defs/Chest/properties/lid: another shape has the name Lid already, at "
        "Box/lid; give each a [[name]] row of its own"
    )


def test_of_two_properties_that_want_one_python_name_the_regular_one_keeps_it(
    tmp_path: Path,
) -> None:
    files = generate(checkout(tmp_path, {"Box": struct(meta=STRING, _meta=STRING)})).package
    types = files[Path("v2030_01_01", "types.py")]
    assert "    meta: str\n" in types
    assert '    meta_2: str = field(name="meta")\n' in types


def test_a_property_that_wants_the_python_name_of_the_tag_gets_another(tmp_path: Path) -> None:
    one, other = struct(kind=const("one"), Kind=STRING), struct(kind=const("other"))
    definitions = {"One": one, "Other": other, "Either": union("One", "Other")}
    types = generate(checkout(tmp_path, definitions)).package[Path("v2030_01_01", "types.py")]
    assert 'kind: ClassVar[Literal["one"]] = "one"\n    kind_2: str = field(name="Kind")' in types


def test_a_note_that_nobody_said_is_not_checked_stops(tmp_path: Path) -> None:
    bounded = {"type": "array", "items": {**STRING, "format": "uri"}}
    assert stopped(checkout(tmp_path, {"Box": struct(lids=bounded)})) == (
        "2030-01-01: #/$defs/Box/properties/lids/items: nothing checks `format`; "
        "say so with an [[unchecked]] row"
    )


def test_a_bound_may_be_left_unchecked_by_a_row(tmp_path: Path) -> None:
    row = '[[unchecked]]\nnames = ["minimum"]\nreason = "a test"\n'
    bounded = {"type": "integer", "minimum": 1}
    assert generate(checkout(tmp_path, {"Box": struct(n=bounded)}, overlay=CAPABILITY + row))


# --- the overlay's rows ---


def test_a_rule_of_reading_that_there_is_no_use_for_stops(tmp_path: Path) -> None:
    row = '[[reads]]\nrule = "integer"\nreason = "a test"\n'
    assert stopped(checkout(tmp_path, overlay=CAPABILITY + row)) == (
        "overlay.toml: [[reads]] row 1: the row matched nothing in any revision; remove it"
    )


@pytest.mark.parametrize("schema", [{"const": 5}, {"enum": ["a", 5]}, {"type": "integer"}])
def test_the_rule_about_integers_is_about_constants_too(tmp_path: Path, schema: Any) -> None:
    row = '[[reads]]\nrule = "integer"\nreason = "a test"\n'
    for box in (schema, struct(n=schema), struct(n={"type": "array", "items": schema})):
        assert generate(checkout(tmp_path, {"Box": box}, overlay=CAPABILITY + row)).package


def test_a_row_that_matches_nothing_stops(tmp_path: Path) -> None:
    message = stopped(checkout(tmp_path, overlay=named("Gone/lid", "Lid")))
    assert message == (
        "overlay.toml: [[name]] row 1: Gone/lid matched nothing in any revision; remove it"
    )


def test_a_path_that_matches_nothing_stops_in_a_row_where_others_match(tmp_path: Path) -> None:
    overlay = named("Box/lid", "Lid").replace('"Box/lid"', '"Box/lid", "Gone/lid"')
    message = stopped(checkout(tmp_path, {"Box": struct(lid=struct(a=STRING))}, overlay=overlay))
    assert message == (
        "overlay.toml: [[name]] row 1: Gone/lid matched nothing in any revision; remove it"
    )


def test_a_row_that_matches_in_one_of_two_revisions_is_used(tmp_path: Path) -> None:
    overlay = named("Box/lid", "Lid")
    checkout(tmp_path, {"Box": struct(lid=struct(a=STRING))}, overlay=overlay)
    checkout(tmp_path, overlay=overlay, revision="2031-01-01")
    assert generate(tmp_path)


def patch(pointer: str, old: str, new: str) -> str:
    row = f'pointer = "{pointer}"\nold = "{old}"\nnew = "{new}"\nreason = "a test"\n'
    return f"{CAPABILITY}\n[[patch]]\n{row}"


def test_a_patch_that_expects_another_value_stops(tmp_path: Path) -> None:
    pointer = "/EchoResult/properties/text/type"
    message = stopped(checkout(tmp_path, overlay=patch(pointer, "integer", "number")))
    assert message == (
        f"2030-01-01: #/$defs{pointer}: [[patch]] row 1 expects the old value "
        '"integer", found "string"; check whether the patch is still wanted'
    )


@pytest.mark.parametrize(
    "pointer",
    [
        "/Gone",
        "/EchoResult/properties/gone/type",
        "/EchoResult/required/7",
        "/EchoResult/required/text",
        "/EchoResult/type/deeper",
    ],
)
def test_a_patch_that_points_at_nothing_stops(tmp_path: Path, pointer: str) -> None:
    message = stopped(checkout(tmp_path, overlay=patch(pointer, "integer", "number")))
    assert message == (
        f"2030-01-01: #/$defs{pointer}: [[patch]] row 1 points at nothing here; "
        "correct or remove it"
    )


@pytest.mark.parametrize(("key", "step"), [("a/b", "a~1b"), ("a~b", "a~0b")])
def test_a_patch_may_point_at_a_key_with_a_slash_or_tilde(
    tmp_path: Path, key: str, step: str
) -> None:
    overlay = patch(f"/Box/properties/{step}/type", "string", "integer")
    assert generate(checkout(tmp_path, {"Box": struct(**{key: STRING})}, overlay=overlay))


def test_a_patch_may_point_into_an_array(tmp_path: Path) -> None:
    overlay = patch("/EchoResult/required/0", "text", "text")
    assert generate(checkout(tmp_path, overlay=overlay))


def pick(*arms: str) -> str:
    rows = ", ".join(f'{{ type = "{arm}", when = ["{arm}"] }}' for arm in arms)
    return f'{CAPABILITY}\n[[pick]]\nname = "Either"\narms = [{rows}]\nreason = "a test"\n'


@pytest.mark.parametrize(
    "arms",
    [["EchoResult"], ["EchoResult", "EchoRequestParams", "EchoRequest"]],
    ids=["few", "many"],
)
def test_a_pick_row_with_the_wrong_arms_stops(tmp_path: Path, arms: list[str]) -> None:
    definitions = {"Either": union("EchoRequestParams", "EchoResult")}
    message = stopped(checkout(tmp_path, definitions, overlay=pick(*arms)))
    assert message == (
        "2030-01-01: #/$defs/Either: the [[pick]] row must have the arms EchoRequestParams, "
        "EchoResult; correct it"
    )


def test_an_arm_of_two_picked_unions_stops(tmp_path: Path) -> None:
    definitions = {
        "Either": union("EchoRequestParams", "EchoResult"),
        "Or": union("EchoRequestParams", "EchoResult"),
    }
    both = pick("EchoRequestParams", "EchoResult")
    overlay = both + both.removeprefix(CAPABILITY).replace("Either", "Or")
    message = stopped(checkout(tmp_path, definitions, overlay=overlay))
    assert "is an arm of two picked unions" in message


def test_an_unknown_kind_of_row_stops(tmp_path: Path) -> None:
    message = stopped(checkout(tmp_path, overlay='[[rename]]\nreason = "a test"\n'))
    assert message.startswith("overlay.toml: unknown kind [[rename]]; known: patch, name, open, ")


def test_an_unknown_key_stops(tmp_path: Path) -> None:
    overlay = CAPABILITY.replace("reason", 'until = "today"\nreason')
    message = stopped(checkout(tmp_path, overlay=overlay))
    assert message == (
        "overlay.toml: [[capability]] row 1: unknown key until; "
        "known: method, path, reason, revisions, since, refused"
    )


def test_a_missing_key_stops(tmp_path: Path) -> None:
    message = stopped(checkout(tmp_path, overlay=CAPABILITY.replace('path = "echo"', "")))
    assert message == "overlay.toml: [[capability]] row 1: add path"


@pytest.mark.parametrize("reason", ["", 'reason = ""'], ids=["missing", "empty"])
def test_a_row_without_a_reason_stops(tmp_path: Path, reason: str) -> None:
    overlay = CAPABILITY.replace('reason = "a test"', reason)
    message = stopped(checkout(tmp_path, overlay=overlay))
    assert message == ("overlay.toml: [[capability]] row 1: add `reason`; every deviation says why")


def test_an_overlay_that_is_not_toml_stops(tmp_path: Path) -> None:
    assert "overlay.toml: Expected" in stopped(checkout(tmp_path, overlay="[[name]\n"))


# --- methods ---


def test_a_request_that_no_union_names_stops(tmp_path: Path) -> None:
    message = stopped(checkout(tmp_path, {"ClientRequest": None}))
    assert message == (
        "2030-01-01: #/$defs/EchoRequest: no union of the schema says who sends it (ClientRequest, "
        "ServerRequest, ClientNotification, ServerNotification, InputRequest); "
        "add it to one with a [[patch]] row"
    )


def test_a_request_without_a_result_stops(tmp_path: Path) -> None:
    message = stopped(checkout(tmp_path, {"EchoResult": None}))
    assert message == (
        "2030-01-01: #/$defs/EchoRequest: no result type; "
        "expected a definition EchoResultResponse, EchoResult or EmptyResult"
    )


def test_a_request_with_params_of_no_named_type_stops(tmp_path: Path) -> None:
    request = struct(method=const("echo"), params=STRING)
    message = stopped(checkout(tmp_path, {"EchoRequest": request}))
    assert message == (
        "2030-01-01: #/$defs/EchoRequest: a message without params of a named type; "
        "refer to a definition, with a [[patch]] row"
    )


def test_a_request_with_a_result_of_no_named_type_stops(tmp_path: Path) -> None:
    response = struct(result={"type": "array", "items": STRING})
    message = stopped(checkout(tmp_path, {"EchoResultResponse": response}))
    assert message == (
        "2030-01-01: #/$defs/EchoResultResponse: a result without a name; "
        "move it to a definition of its own"
    )


def test_two_requests_with_one_method_stop(tmp_path: Path) -> None:
    definitions = {
        "AgainRequest": struct(method=const("echo"), params=ref("EchoRequestParams")),
        "AgainResult": struct(text=STRING),
        "ServerRequest": union("AgainRequest"),
        "ClientCapabilities": struct(echo={"type": "object"}),
    }
    message = stopped(checkout(tmp_path, definitions))
    assert message == (
        "2030-01-01: #/$defs/AgainRequest: AgainRequest and EchoRequest are both `echo`; "
        "add an [[alias]] row for one of them"
    )


def test_a_request_without_a_capability_row_stops(tmp_path: Path) -> None:
    message = stopped(checkout(tmp_path, overlay=""))
    assert message == (
        "2030-01-01: #/$defs/EchoRequest: no row says which capability `echo` needs; "
        'add a [[capability]] row (path = "" for none)'
    )


@pytest.mark.parametrize("path", ["gone", "echo.gone"])
def test_a_capability_that_nobody_can_declare_stops(tmp_path: Path, path: str) -> None:
    overlay = CAPABILITY.replace('path = "echo"', f'path = "{path}"')
    message = stopped(checkout(tmp_path, overlay=overlay))
    assert message == (
        f"2030-01-01: #/$defs/EchoRequest: `echo`: no capability `{path}`; "
        "correct [[capability]] row 1"
    )


def test_a_capability_that_only_the_sender_can_declare_stops(tmp_path: Path) -> None:
    there = {"ClientCapabilities": struct(voice={"type": "object"})}
    overlay = CAPABILITY.replace('path = "echo"', 'path = "voice"')
    assert stopped(checkout(tmp_path, there, overlay=overlay)) == (
        "2030-01-01: #/$defs/EchoRequest: `echo`: no capability `voice`; "
        "correct [[capability]] row 1"
    )


# --- facts.toml ---

SECTION = '[[section]]\ntitle = "One"\ntypes = ["{}"]\n'


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("[fields]\nGone = []", "[fields] Gone: the schema has no such object"),
        ('[fields]\nEchoResult = ["gone"]', "[fields] EchoResult: the schema has no gone"),
        ('[enums]\nGone = ["one"]', "[enums] Gone: the schema has no such enum"),
        ('[enums]\nEchoResult = ["one"]', "[enums] EchoResult: the schema has no such enum"),
        (
            '[enums]\nSize = ["small", "huge"]',
            "[enums] Size: ['small', 'huge'] are listed, the schema has ['large', 'small']",
        ),
        (
            '[enums]\nSize = ["small"]',
            "[enums] Size: ['small'] are listed, the schema has ['large', 'small']",
        ),
        (
            "[deprecated]\nGone = { advice = 'Say it.' }",
            "[deprecated] Gone: the schema has no such type or field",
        ),
        (
            '[deprecated]\n"EchoResult.gone" = { advice = "Say it." }',
            "[deprecated] EchoResult.gone: the schema has no such type or field",
        ),
    ],
)
def test_facts_about_what_the_schema_lacks_stop(tmp_path: Path, row: str, problem: str) -> None:
    size = {"Size": {"enum": ["large", "small"], "type": "string"}}
    message = stopped(checkout(tmp_path, size, facts=FACTS + row))
    assert message == f"2030-01-01: facts.toml {problem}; correct the row"


def test_facts_that_list_a_type_the_schema_lacks_stop(tmp_path: Path) -> None:
    message = stopped(checkout(tmp_path, facts=FACTS + SECTION.format("Gone")))
    assert message == (
        "2030-01-01: #/$defs/Gone: facts.toml lists a definition that the schema lacks; correct it"
    )


def test_facts_that_list_a_type_twice_stop(tmp_path: Path) -> None:
    message = stopped(checkout(tmp_path, facts=FACTS + SECTION.format("EchoResult") * 2))
    assert message == (
        "2030-01-01: #/$defs/EchoResult: facts.toml lists it in two sections; correct it"
    )


def test_a_fact_that_only_one_revision_states_stops(tmp_path: Path) -> None:
    fact = f'{FACTS}[facts.batches]\nvalue = true\nsource = "https://example.com"\n'
    checkout(tmp_path, facts=fact)
    message = stopped(checkout(tmp_path, revision="2031-01-01"))
    assert message == (
        "2031-01-01: facts.toml [facts] batches: other revisions state it; state it, without "
        "`value` if it is absent at this date"
    )


@pytest.mark.parametrize("row", ['echo = "size"', 'call = "text"'])
def test_a_mirrored_parameter_that_no_request_has_stops(tmp_path: Path, row: str) -> None:
    fact = f'{FACTS}[facts.name_params]\nvalue = {{ {row} }}\nsource = "https://example.com"\n'
    wire, _, param = row.replace('"', "").partition(" = ")
    assert stopped(checkout(tmp_path, facts=fact)) == (
        f"2030-01-01: facts.toml [facts.name_params] {wire}: no such request, or its params have "
        f"no `{param}`; correct the row"
    )


def test_a_revision_without_facts_stops(tmp_path: Path) -> None:
    checkout(tmp_path)
    facts = tmp_path / "schema" / "2030-01-01" / "facts.toml"
    facts.unlink()
    assert stopped(tmp_path) == f"{facts}: no such file; write it after another revision's"


def test_a_folder_without_schemas_stops(tmp_path: Path) -> None:
    checkout(tmp_path)
    (tmp_path / "schema" / "2030-01-01" / "schema.json").unlink()
    message = stopped(tmp_path)
    assert message == (
        f"no schema under {tmp_path / 'schema'}: run `nox -s schema -- REVISION` first"
    )


def test_an_error_that_is_no_stop_is_not_collected() -> None:
    stops = Stops()
    with pytest.raises(ZeroDivisionError), stops.collected():
        raise ZeroDivisionError
    assert list(stops) == []
