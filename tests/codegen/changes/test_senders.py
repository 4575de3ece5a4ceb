"""Senders of the values of a type: a change of one that nobody sends breaks nobody."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.codegen.changes.test_changes import AFTER, BEFORE, Definitions, module
from tests.codegen.tiny import CAPABILITY, STRING, const, ref, struct, union

SMALL = struct(text=STRING)
LARGE = {**struct(text=STRING, size={"type": "integer"}), "required": ["text"]}
ID = {"type": ["string", "integer"]}


@pytest.fixture(autouse=True)
def _no_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the pydantic models empty: they take most of a run, and no test here reads them."""
    monkeypatch.setattr("codegen.emit.package.models", lambda *_: "")


def change(
    folder: Path, before: Definitions, after: Definitions, path: str, overlay: str = CAPABILITY
) -> Any:
    """Return the one change of a path between two revisions with these definitions."""
    made = module(folder, before, after, overlay)
    (found,) = (one for one in made.changes(BEFORE, AFTER) if one.path == path)
    return found


def sent_by(folder: Path, holders: Definitions, overlay: str = CAPABILITY) -> Any:
    """Return who sends `Box`, if these definitions hold one."""
    before, after = {"Box": SMALL, **holders}, {"Box": LARGE, **holders}
    found = change(folder, before, after, "Box.size", overlay)
    assert found.kind == "optional field added"
    return found.sent_by


def test_what_params_hold_is_sent_by_who_asks(tmp_path: Path) -> None:
    assert sent_by(tmp_path, {"EchoRequestParams": struct(box=ref("Box"))}) == ("client",)


def test_what_a_result_holds_is_sent_by_who_answers(tmp_path: Path) -> None:
    assert sent_by(tmp_path, {"EchoResult": struct(box=ref("Box"))}) == ("server",)


def test_what_both_hold_is_sent_by_both(tmp_path: Path) -> None:
    holders = {"EchoRequestParams": struct(box=ref("Box")), "EchoResult": struct(box=ref("Box"))}
    assert sent_by(tmp_path, holders) == ("client", "server")


def test_what_lists_maps_and_unions_hold_is_sent_too(tmp_path: Path) -> None:
    deep = {"type": "object", "additionalProperties": {"type": "array", "items": ref("Either")}}
    holders = {
        "Other": struct(kind=const("other")),
        "Either": {"anyOf": [ref("Box"), STRING]},
        "EchoResult": struct(boxes=deep),
    }
    assert sent_by(tmp_path, holders) == ("server",)


def test_what_nothing_refers_to_is_not_sent(tmp_path: Path) -> None:
    assert sent_by(tmp_path, {}) == ()


def test_what_holds_itself_alone_is_not_sent(tmp_path: Path) -> None:
    before, after = ({**box, "required": ["text"]} for box in (SMALL, LARGE))
    for box in (before, after):
        box["properties"] = {**box["properties"], "inner": ref("Box")}
    found = change(tmp_path, {"Box": before}, {"Box": after}, "Box.size")
    assert found.sent_by == ()


def test_what_a_map_of_the_overlay_hides_is_sent_by_who_sends_the_map(tmp_path: Path) -> None:
    hidden = CAPABILITY + '[[open]]\npaths = ["EchoResult/meta"]\nreason = "a test"\n'
    holders = {"EchoResult": struct(meta=struct(box=ref("Box")))}
    assert sent_by(tmp_path, holders, hidden) == ("server",)


# --- the frames of JSON-RPC ---

FRAMED = CAPABILITY + '[[typing]]\nnames = ["JSONRPCMessage"]\nreason = "a test"\n'

FRAMES = {
    "JSONRPCRequest": struct(jsonrpc=const("2.0"), id=ID, method=STRING),
    "JSONRPCError": struct(jsonrpc=const("2.0"), id=ID, error=ref("Box")),
    "JSONRPCMessage": union("JSONRPCRequest", "JSONRPCError"),
}
WITH_ID = struct(method=const("echo"), params=ref("EchoRequestParams"), id=ID, jsonrpc=const("2.0"))


def test_what_a_frame_holds_is_sent_by_both(tmp_path: Path) -> None:
    assert sent_by(tmp_path, FRAMES, FRAMED) == ("client", "server")


@pytest.mark.parametrize("field", ["id", "jsonrpc"])
def test_a_field_that_every_frame_has_is_no_news_in_a_message(tmp_path: Path, field: str) -> None:
    holders = {"Box": SMALL, **FRAMES}
    after = {**holders, "EchoRequest": WITH_ID}
    found = change(tmp_path, holders, after, f"EchoRequest.{field}", FRAMED)
    assert (found.effect, found.breaks) == ("none", ())


def test_a_field_that_no_frame_demands_is_news_in_a_message(tmp_path: Path) -> None:
    found = change(tmp_path, {}, {"EchoRequest": WITH_ID}, "EchoRequest.id")
    assert (found.effect, found.breaks) == ("breaks senders", ("client",))


def test_a_union_that_the_union_of_all_frames_covers_is_not_sent(tmp_path: Path) -> None:
    holders = {"Box": SMALL, **FRAMES}
    before = {**holders, "Answer": {"anyOf": [ref("JSONRPCError")]}}
    after = {**holders, "Answer": {"anyOf": [ref("JSONRPCError"), STRING]}}
    assert change(tmp_path, before, after, "Answer", FRAMED).effect == "none"


def test_a_union_of_all_frames_that_loses_one_breaks_who_sends_it(tmp_path: Path) -> None:
    holders = {"Box": SMALL, **FRAMES}
    after = {**holders, "JSONRPCMessage": union("JSONRPCError")}
    found = change(tmp_path, holders, after, "JSONRPCMessage", FRAMED)
    assert (found.effect, found.breaks) == ("breaks senders", ("client", "server"))
