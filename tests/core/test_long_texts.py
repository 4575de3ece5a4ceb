"""Long texts and blobs are encoded by other encoders with the same output."""

from __future__ import annotations

import base64
import sys
from typing import Any

import pytest

from mcp_gen.core.text_encoding import (
    LONG,
    base64_text,
    decode_base64,
    fast_base64,
    join_pieces,
    long_field,
    take_long_values,
    writer,
)
from mcp_wire import Wire, encode, latest
from tests.support.encoders import encoders, with_and_without_fast
from tests.support.property_tests import given, settings, st

SIZES = [0, 1, 2, 3, LONG - 1, LONG, LONG + 1, LONG + 2]
DATA = bytes(range(256)) * (LONG // 128)
ALL_CHARACTERS = "".join(
    chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000
)


def written(result: Wire) -> bytes:
    marked, pieces = take_long_values(result, long_field(type(result)))
    return join_pieces(encode(marked), pieces) if pieces else encode(result)


def texts(*parts: str) -> latest.ReadResourceResult:
    found = [latest.TextResourceContents(uri="text://1", text=part) for part in parts]
    return latest.ReadResourceResult(contents=list(found), ttl_ms=0, cache_scope="private")


def prompt(block: latest.ContentBlock) -> latest.GetPromptResult:
    message = latest.PromptMessage(role="user", content=block)
    return latest.GetPromptResult(messages=[message])


def of_length(text: str, length: int) -> str:
    return (text * (length // len(text) + 1))[:length]


# --- results ---

some_texts = st.builds(of_length, st.text(min_size=1), st.sampled_from([5, *SIZES[4:]]))
some_data = st.builds(
    lambda data, length: (data * length)[:length], st.binary(min_size=1), st.sampled_from(SIZES)
)
some_meta = st.sampled_from([None, {"example.com/key": None}, {"example.com/key": "null \x00"}])
some_contents = st.one_of(
    st.builds(latest.TextResourceContents, uri=st.just("a://b"), text=some_texts, meta=some_meta),
    st.builds(
        latest.BlobResourceContents,
        uri=st.just("a://b"),
        blob=st.one_of(some_data.map(base64_text), some_data),
        meta=some_meta,
    ),
)
some_blocks = st.one_of(
    st.builds(latest.TextContent, text=some_texts, meta=some_meta),
    st.builds(latest.ImageContent, data=some_data.map(base64_text), mime_type=st.just("image/png")),
    st.builds(latest.AudioContent, data=some_data.map(base64_text), mime_type=st.just("audio/wav")),
    st.builds(latest.EmbeddedResource, resource=some_contents),
    st.just(latest.ResourceLink(name="link", uri="a://b")),
)
some_messages = st.builds(
    latest.PromptMessage, role=st.sampled_from(["user", "assistant"]), content=some_blocks
)
some_results: st.SearchStrategy[Wire] = st.one_of(
    st.builds(latest.CallToolResult, content=st.lists(some_blocks, max_size=4), meta=some_meta),
    st.builds(latest.GetPromptResult, messages=st.lists(some_messages, max_size=3), meta=some_meta),
    st.builds(
        latest.ReadResourceResult,
        contents=st.lists(some_contents, max_size=4),
        ttl_ms=st.just(0),
        cache_scope=st.just("private"),
        meta=some_meta,
    ),
)


@settings(max_examples=60)
@given(some_results)
def test_a_result_is_the_same_json_as_from_the_usual_encoder(result: Wire) -> None:
    expected = encode(result)
    assert written(result) == expected
    with encoders(fast=False):
        assert written(result) == expected


@with_and_without_fast
def test_a_long_text_of_all_characters_is_the_same_json(fast: bool) -> None:
    result = texts("short", ALL_CHARACTERS)
    with encoders(fast=fast):
        assert written(result) == encode(result)


@pytest.mark.parametrize(("length", "apart"), [(LONG - 1, 0), (LONG, 1), (LONG + 1, 1)])
def test_what_is_long_is_encoded_apart_and_nothing_else(length: int, apart: int) -> None:
    kind: Any = latest.BlobResourceContents
    blob = kind(uri="a://b", blob=DATA[:length])
    for result, field in (
        (texts("x" * length), "contents"),
        (latest.ReadResourceResult(contents=[blob], ttl_ms=0, cache_scope="public"), "contents"),
        (latest.CallToolResult(content=[latest.EmbeddedResource(resource=blob)]), "content"),
        (prompt(latest.EmbeddedResource(resource=blob)), "messages"),
    ):
        marked, pieces = take_long_values(result, field)
        assert len(pieces) == apart
        assert (marked is result) is (apart == 0)


def test_the_result_itself_is_not_changed() -> None:
    result = texts("x" * LONG)
    written(result)
    assert result == texts("x" * LONG)


@with_and_without_fast
def test_a_text_that_json_cannot_hold_is_the_usual_error(fast: bool) -> None:
    with encoders(fast=fast), pytest.raises(UnicodeEncodeError):
        written(texts("x" * LONG, "\ud800" * LONG))


def test_a_subclass_of_str_is_left_to_the_usual_encoder() -> None:
    class Text(str):
        pass

    result = texts(Text("x" * LONG))
    assert take_long_values(result, "contents") == (result, ())


# --- base64 ---


@with_and_without_fast
@pytest.mark.parametrize("size", SIZES)
def test_base64_is_that_of_the_standard_library(size: int, fast: bool) -> None:
    with encoders(fast=fast):
        text = base64.b64encode(DATA[:size]).decode()
        assert base64_text(DATA[:size]) == text
        assert decode_base64(text) == DATA[:size]


def standard(text: str) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        return None


@settings(max_examples=300)
@given(st.text("ABab+/9==-_ \n\xe9\x00", max_size=12), st.booleans())
def test_what_is_valid_base64_is_what_the_standard_library_takes(end: str, long: bool) -> None:
    text = "QUJD" * LONG + end if long else end
    expected = standard(text)
    for fast in (True, False):
        with encoders(fast=fast):
            try:
                found = decode_base64(text)
            except ValueError:
                assert expected is None
            else:
                assert found == expected


# --- the extra ---


def test_the_encoders_of_the_extra_are_used_where_they_are_installed() -> None:
    pybase64, orjson = pytest.importorskip("pybase64"), pytest.importorskip("orjson")
    with encoders(fast=True):
        assert writer() is orjson.dumps
        found = fast_base64()
        assert found
        assert found.encode is pybase64.b64encode


def test_without_the_extra_there_are_others() -> None:
    with encoders(fast=False):
        assert fast_base64() is None
        assert writer()("x") == b'"x"'
