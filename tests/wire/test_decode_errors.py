"""Errors of `mcp_wire.decode`: one family for whatever bytes a peer sends, at any type."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator

import msgspec
import pytest

import mcp_wire
from mcp_wire import decode
from tests.support.checks.failures import failures
from tests.wire.revisions import Kept, every_revision, kept

DEEP = 100_000

HOSTILE = {
    "nothing": b"",
    "space": b" \n",
    "a byte order mark": b"\xef\xbb\xbf{}",
    "no UTF-8": b"\xff",
    "no UTF-8 in a string": b'"\xff"',
    "no UTF-8 in a key": b'{"\xff":1}',
    "no UTF-8 in a value": b'{"_meta":{"a":"\xc3("},"name":"\xff","type":"\xff"}',
    "a lone surrogate": b'"\\ud800"',
    "a lone surrogate in a key": b'{"\\udc00":1}',
    "a lone surrogate as bytes": b'{"name":"\xed\xa0\x80"}',
    "NaN": b"NaN",
    "NaN in a value": b'{"_meta":{"a":NaN},"progress":NaN}',
    "a huge integer": b"1" + b"0" * 400,
    "a huge integer in a value": b'{"_meta":{"a":1' + b"0" * 400 + b'},"id":1' + b"0" * 400 + b"}",
    "an integer that Python refuses": b'{"_meta":{"a":1'
    + b"0" * 5000
    + b'},"x":1'
    + b"0" * 5000
    + b"}",
    "a huge number": b'{"_meta":{"a":1e400},"progress":1e400,"x":1e400}',
    "a deep array": b"[" * DEEP + b"]" * DEEP,
    "a deep object": b'{"a":' * DEEP + b"1" + b"}" * DEEP,
    "a deep array that does not end": b"[" * DEEP,
    "an object of deep objects": b'{"_meta":' * DEEP,
    "deep content": b'{"content":' + b"[" * DEEP + b"]" * DEEP + b"}",
    "deep unknown content": b'{"content":[{"type":"x","a":' + b"[" * DEEP + b"]" * DEEP + b"}]}",
    "no UTF-8 beside unknown content": b'{"content":[{"type":"x"},{"type":"text","text":"\xff"}]}',
    "a deep extra key": b'{"capabilities":{"x":' + b"[" * DEEP + b"]" * DEEP + b"}}",
    "no UTF-8 in an extra key": b'{"x":{"a":"\xff"},"capabilities":{"x":{"a":"\xff"}}}',
    "duplicate keys": b'{"a":1,"a":2,"_meta":{"b":1,"b":2},"_meta":{}}',
    "the end in a key": b'{"_me',
    "more than one value": b"{} {}",
    "null": b"null",
    "true": b"true",
    "an object": b"{}",
    "an array": b"[]",
    "an array of arrays": b"[[],{}]",
}


def exported(there: Kept) -> Iterator[str]:
    """Yield the names of all types of a revision."""
    return (name for name in mcp_wire.types(there.revision).__all__ if name != "PROFILE")


@every_revision
@pytest.mark.parametrize("what", HOSTILE)
def test_decoding_any_bytes_raises_decode_errors_only(revision: str, what: str) -> None:
    there = kept(revision)

    def check(name: str) -> None:
        with contextlib.suppress(msgspec.DecodeError):
            decode(there.named(name), HOSTILE[what])

    decoded = [name for name in exported(there) if name not in there.types.NOT_DECODED]
    assert failures(decoded, check) == {}


@every_revision
@pytest.mark.parametrize("what", HOSTILE)
def test_params_and_results_of_a_method_raise_decode_errors_only(revision: str, what: str) -> None:
    methods = mcp_wire.profile(revision).methods

    def check(name: str) -> None:
        for read in (methods[name].decode_params, methods[name].decode_result):
            with contextlib.suppress(msgspec.DecodeError):
                read(HOSTILE[what])

    assert failures([name for name in methods if methods[name].result is not None], check) == {}


@every_revision
def test_a_name_for_type_checkers_only_is_refused_with_what_to_do(revision: str) -> None:
    there = kept(revision)

    def check(name: str) -> None:
        if there.named(name) in map(there.named, set(exported(there)) - {*there.types.NOT_DECODED}):
            return  # a union of one arm, which is decoded
        with pytest.raises(TypeError) as caught:
            decode(there.named(name), b"{}")
        assert "is for type checkers only: the context, not the shape" in str(caught.value)
        assert str(caught.value).split()[0] in there.types.NOT_DECODED

    assert there.types.NOT_DECODED
    assert failures(sorted(there.types.NOT_DECODED), check) == {}


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b'{"uri":"\xff"}', "not UTF-8"),
        (b'{"_meta":{"a":' + b"[" * DEEP, "nested too deeply"),
        (b'{"uri":NaN}', "JSON is malformed: invalid character (byte 7)"),
        (b'{"uri":1}', "Expected `str`, got `int` - at `$.uri`"),
    ],
)
@every_revision
def test_an_error_says_what_is_wrong(revision: str, data: bytes, problem: str) -> None:
    with pytest.raises(msgspec.DecodeError) as caught:
        decode(kept(revision).named("Root"), data)
    assert str(caught.value) == problem


@every_revision
def test_the_last_of_several_equal_keys_counts(revision: str) -> None:
    made = decode(kept(revision).named("Root"), b'{"uri":"file:///a","uri":"file:///b"}')
    assert made.uri == "file:///b"


def test_what_is_no_type_is_refused() -> None:
    with pytest.raises(TypeError, match="is not supported"):
        decode(json, b"{}")  # type: ignore[arg-type]
