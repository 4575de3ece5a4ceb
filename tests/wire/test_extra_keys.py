"""Keys that an open type does not name: kept by decoding, written by encoding, within limits."""

from __future__ import annotations

import copy
import gc
import json
import pickle
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

import mcp_wire
from codegen.model import ir
from mcp_wire import base, decode, encode, extra_keys, lenient_decoding
from mcp_wire.base import OpenWire, declared_type
from tests.support.checks.failures import failures
from tests.wire.revisions import Kept, every_revision, kept, text

EXTRA = {
    "com.example/ü": {"a": [None, True, 1, 1.5, 2**60]},
    "x": None,
    "": "",
    "extra": 1,
    "extra_0": 2,
    "with-dashes and spaces": [],
}


def open_types(there: Kept) -> set[str]:
    return there.listed("extra")


def holders(there: Kept) -> Iterator[tuple[str, str]]:
    """Yield the types that hold an open type directly, each with the field."""
    for struct in there.model.structs.values():
        for field in struct.fields:
            if open_types(there) & {*ir.mentions(field.type)}:
                yield struct.name, field.wire


def come_back(there: Kept, name: str, value: Any) -> str:
    return text(json.loads(encode(decode(there.named(name), json.dumps(value).encode()))))


@every_revision
def test_the_capabilities_of_both_sides_are_open(revision: str) -> None:
    there = kept(revision)
    opened = {name for name, one in there.model.structs.items() if one.open}
    assert opened == open_types(there) == {"ClientCapabilities", "ServerCapabilities"}
    assert all(issubclass(there.named(name), OpenWire) for name in opened)


@every_revision
def test_keys_that_an_open_type_does_not_name_come_back(revision: str) -> None:
    there = kept(revision)

    def check(name: str) -> None:
        value = {"experimental": {"com.example/y": {}}, **EXTRA}
        assert come_back(there, name, value) == text(value)

    assert failures(sorted(open_types(there)), check) == {}


@every_revision
def test_they_come_back_in_everything_that_holds_an_open_type(revision: str) -> None:
    there = kept(revision)
    places = [*holders(there)]

    def check(place: str) -> None:
        name, _, wire = place.partition("/")
        value = {**there.minimal(name), wire: EXTRA}
        assert come_back(there, name, value) == text(value)

    assert places
    assert failures([f"{name}/{wire}" for name, wire in places], check) == {}


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_they_come_back_in_a_whole_message(revision: str) -> None:
    there = kept(revision)
    params = {**there.minimal("InitializeRequestParams"), "capabilities": EXTRA}
    value = {**there.minimal("InitializeRequest"), "params": params}
    assert come_back(there, "ClientRequest", value) == text(value)


def test_the_client_capabilities_of_a_request_stay_in_its_meta() -> None:
    there = kept(mcp_wire.LATEST)
    params = there.minimal("CallToolRequestParams")
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = EXTRA
    assert come_back(there, "CallToolRequestParams", params) == text(params)


@every_revision
def test_a_key_inside_a_known_capability_is_read_and_left_out(revision: str) -> None:
    value = {"tools": {"listChanged": True, "x": 1}, "y": {}}
    kind = kept(revision).named("ServerCapabilities")
    made = decode(kind, json.dumps(value).encode())
    assert json.loads(encode(made)) == {"tools": {"listChanged": True}, "y": {}}


@every_revision
def test_extra_has_the_keys_that_the_type_does_not_name(revision: str) -> None:
    kind = kept(revision).named("ClientCapabilities")
    made = decode(kind, json.dumps({"roots": {}, **EXTRA}).encode())
    assert (made.extra, isinstance(made, kind), made.roots is None) == (EXTRA, True, False)
    assert decode(kind, b'{"roots": {}}').extra == {}


def capabilities(**extra: Any) -> Any:
    """Return capabilities of a client with extra keys."""
    kind = kept("2025-11-25").named("ClientCapabilities")
    return kind(experimental={"a": {}}).with_extra(extra)


def test_a_value_is_made_with_extra_keys() -> None:
    assert json.loads(encode(capabilities(x=1))) == {"experimental": {"a": {}}, "x": 1}


def test_extra_keys_take_the_place_of_earlier_ones() -> None:
    assert capabilities(x=1).with_extra({"y": 2}) == capabilities(y=2)
    assert type(capabilities(x=1).with_extra({})) is kept("2025-11-25").named("ClientCapabilities")


def test_values_are_equal_if_their_fields_and_extra_keys_are() -> None:
    assert capabilities(x=1, y=2) == capabilities(y=2, x=1)
    others = [capabilities(), capabilities(x=1), capabilities(x=1, y=3), capabilities(x=1, z=2)]
    assert [one for one in others if one == capabilities(x=1, y=2)] == []
    assert [one for one in others if capabilities(x=1, y=2) == one] == []


def test_values_are_equal_after_their_class_was_forgotten() -> None:
    one = capabilities(x=1)
    extra_keys._class_of.cache_clear()
    assert one == capabilities(x=1)


def test_a_value_with_extra_keys_is_copied_pickled_and_replaced_whole() -> None:
    value = capabilities(x={"y": 1})
    assert copy.copy(value) == copy.deepcopy(value) == pickle.loads(pickle.dumps(value)) == value
    assert msgspec.structs.replace(value, experimental=None).extra == {"x": {"y": 1}}
    assert msgspec.to_builtins(value) == {"experimental": {"a": {}}, "x": {"y": 1}}


def test_a_value_shows_its_extra_keys() -> None:
    assert repr(capabilities(x=1)).endswith(", extra={'x': 1})")


def test_a_value_with_extra_keys_is_hashed_by_its_fields() -> None:
    kind = kept("2025-11-25").named("ClientCapabilities")
    assert len({kind().with_extra({"x": 1}), kind().with_extra({"x": 1}), kind()}) == 2


# --- Limits ---

TOO_LONG = "x" * (extra_keys.MAX_KEY_CHARS + 1)


@pytest.mark.parametrize("key", [TOO_LONG, 'a"b', "a\\b", "a\nb", "\0"])
def test_decoding_drops_a_key_that_is_too_long_or_has_to_be_escaped(key: str) -> None:
    kind = kept("2025-11-25").named("ClientCapabilities")
    made = decode(kind, json.dumps({key: 1, "roots": {}, "x": 2}).encode())
    assert json.loads(encode(made)) == {"roots": {}, "x": 2}


def test_decoding_keeps_the_first_keys_up_to_the_limit() -> None:
    kind = kept("2025-11-25").named("ClientCapabilities")
    given = {f"x{number}": number for number in range(extra_keys.MAX_KEYS + 10)}
    made = decode(kind, json.dumps(given).encode())
    assert {*made.extra} == {*[*given][: extra_keys.MAX_KEYS]}


@pytest.mark.parametrize(
    ("extra", "problem"),
    [
        ({TOO_LONG: 1}, "at most 64 keys of at most 128 characters"),
        ({'"': 1}, "without quotes"),
        ({f"x{number}": 1 for number in range(65)}, "at most 64 keys"),
        ({"tasks": {}}, "`tasks` is a field of the type"),
    ],
)
def test_a_value_that_decoding_would_not_keep_is_not_made(
    extra: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ValueError, match=problem):
        capabilities(**extra)


def test_a_peer_that_sends_other_keys_each_time_fills_no_cache() -> None:
    there = kept("2025-11-25")
    kind = there.named("ClientCapabilities")
    caches: list[dict[Any, Any]] = [base._decoders, base._readers, lenient_decoding._plans]
    decode(kind, b'{"x": 1}')
    before = [len(cache) for cache in caches]
    # An HTTP server of an earlier test has frozen the garbage of that time: it is never collected.
    gc.collect()
    classes = len(kind.__subclasses__())
    for number in range(4 * extra_keys.MAX_CLASSES):
        value = decode(kind, json.dumps({f"x{number}": 1}).encode())
        decode(type(value), b"{}")
    assert [len(cache) for cache in caches] == before
    gc.collect()
    assert len(kind.__subclasses__()) <= classes + extra_keys.MAX_CLASSES


def test_the_order_of_the_keys_makes_no_other_class() -> None:
    assert type(capabilities(x=1, y=2)) is type(capabilities(y=2, x=1))


def test_a_class_of_values_with_extra_keys_stands_for_its_type() -> None:
    kind = kept("2025-11-25").named("ClientCapabilities")
    assert declared_type(type(capabilities(x=1))) is declared_type(kind) is kind
    assert mcp_wire.decoder(type(capabilities(x=1))) is mcp_wire.decoder(kind)


# --- What stays as it was ---


def test_capabilities_without_extra_keys_need_no_lenient_decoding(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mcp_wire.lenient_decoding.decode_leniently", None)
    kind = kept("2025-11-25").named("ClientCapabilities")
    assert type(decode(kind, b'{"roots": {}}')) is kind


@every_revision
@pytest.mark.parametrize(
    ("members", "problem"),
    [
        ({"tools": 1}, "Expected `object | null`, got `int` - at `$.capabilities.tools`"),
        ({"tools": {"listChanged": 1}}, "got `int` - at `$.capabilities.tools.listChanged`"),
    ],
)
def test_an_error_beside_an_extra_key_is_refused_with_its_path(
    revision: str, members: Any, problem: str
) -> None:
    there = kept(revision)
    name, wire = next(
        one for one in holders(there) if one[0] in ("InitializeResult", "DiscoverResult")
    )
    value = {**there.minimal(name), wire: {"x": 1, **members}}
    with pytest.raises(msgspec.ValidationError) as caught:
        decode(there.named(name), json.dumps(value).encode())
    assert str(caught.value).endswith(problem)


@every_revision
def test_a_number_that_python_cannot_hold_is_refused_with_its_path(revision: str) -> None:
    there = kept(revision)
    name, wire = next(
        one for one in holders(there) if one[0] in ("InitializeResult", "DiscoverResult")
    )
    value = {**there.minimal(name), wire: {"x": "HERE"}}
    with pytest.raises(
        msgspec.ValidationError, match=r"Number out of range - at `\$\.capabilities\.x`"
    ):
        decode(there.named(name), json.dumps(value).replace('"HERE"', "1e999").encode())
