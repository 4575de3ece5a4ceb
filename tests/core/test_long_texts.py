"""Long texts are encoded by another encoder with the same output."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import msgspec
import pytest

from mcp_gen import Server
from mcp_gen.core import text_encoding
from mcp_gen.core.text_encoding import LONG, long_text_field, pre_encode_texts
from mcp_wire import Wire, encode, latest
from tests.support.frames import every_revision
from tests.support.peers.raw import talking

TEXTS = {
    "plain": "x" * LONG,
    "quotes, backslashes and control characters": '"\\\n\r\t\x00\x1f\x7f/' * LONG,
    "any alphabet": "é漢🎈\u2028" * LONG,
}
any_text = pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)


def contents(*texts: str) -> latest.ReadResourceResult:
    found = [latest.TextResourceContents(uri="a://b", text=text) for text in texts]
    return latest.ReadResourceResult(contents=list(found), ttl_ms=0, cache_scope="private")


def written(result: Wire) -> Wire:
    rewritten: Wire = pre_encode_texts(result, long_text_field(type(result)))
    return rewritten


@pytest.fixture
def without_the_encoder(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(sys.modules, "orjson", None)
    text_encoding.writer.cache_clear()
    yield
    text_encoding.writer.cache_clear()


@any_text
def test_a_long_text_says_the_same(text: str) -> None:
    result = contents("short", text)
    assert written(result) is not result
    assert msgspec.json.decode(encode(written(result))) == msgspec.json.decode(encode(result))


def test_what_is_short_stays_as_it_is() -> None:
    result = contents("x" * (LONG - 1))
    assert written(result) is result


def test_a_text_that_json_cannot_hold_is_the_usual_error() -> None:
    with pytest.raises(UnicodeEncodeError):
        encode(written(contents("\ud800" * LONG)))


@any_text
@pytest.mark.usefixtures("without_the_encoder")
def test_without_the_encoder_it_is_written_as_ever(text: str) -> None:
    result = contents(text)
    assert encode(written(result)) == encode(result)


@every_revision
async def test_a_tool_s_long_text_arrives(revision: str) -> None:
    server = Server("long")

    @server.tool
    async def tell() -> str:
        return TEXTS["any alphabet"]

    async with talking(server, revision) as client:
        answer = await client.ask(client.speaker.call(1, "tell"))
        assert answer["result"]["content"][0]["text"] == TEXTS["any alphabet"]
