"""JSON-RPC frames: decoding, rejection and encoding."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec import UNSET, Raw

from mcp_gen.core import envelope
from mcp_gen.core.envelope import Envelope, ErrorObject, RequestId, TooComplex
from mcp_gen.core.errors import InvalidParams, InvalidRequest, McpError, ParseError

NOTHING = Raw(b"")


def frame(**members: Any) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", **members})


# --- reading ---


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (frame(id=1, method="m"), Envelope("2.0", 1, "m")),
        (frame(id=1, method="m", params={"a": 1}), Envelope("2.0", 1, "m", Raw(b'{"a":1}'))),
        (frame(method="m"), Envelope("2.0", UNSET, "m")),
        (frame(method="m", params=[]), Envelope("2.0", UNSET, "m", Raw(b"[]"))),
        (frame(id=1, result={}), Envelope("2.0", 1, result=Raw(b"{}"))),
        (frame(id=1, result=None), Envelope("2.0", 1, result=Raw(b"null"))),
        (frame(id=1, error={"code": 1}), Envelope("2.0", 1, error=Raw(b'{"code":1}'))),
        (frame(id=None, error={}), Envelope("2.0", None, error=Raw(b"{}"))),
        (frame(error={}), Envelope("2.0", UNSET, error=Raw(b"{}"))),
    ],
)
def test_every_kind_of_frame_is_read(message: bytes, expected: Envelope) -> None:
    assert envelope.read(message) == expected


@pytest.mark.parametrize(
    "id", [0, 1, -1, 2**53, 2**63, 2**64, 10**400, "", "0", "1", "é", "a" * 999]
)
def test_an_id_keeps_its_type_and_value_there_and_back(id: RequestId) -> None:
    read = envelope.read(frame(id=id, method="m"))
    assert (type(read.id), read.id) == (type(id), id)
    assert isinstance(read.id, int | str)
    assert envelope.read(envelope.response(read.id, {})).id == id


@pytest.mark.parametrize("blank", [b" ", b"\t", b"\r", b"\n"])
def test_blanks_around_a_frame_do_not_matter(blank: bytes) -> None:
    assert envelope.read(blank + frame(method="m") + blank) == Envelope("2.0", UNSET, "m")


def test_unknown_members_are_passed_over() -> None:
    message = frame(id=1, method="m", trace={"deep": [1]}, extra=None)
    assert envelope.read(message) == Envelope("2.0", 1, "m")


def test_of_duplicate_keys_the_last_one_counts() -> None:
    message = b'{"jsonrpc":"2.0","id":1,"id":2,"method":"a","method":"b"}'
    assert envelope.read(message) == Envelope("2.0", 2, "b")


def test_params_come_as_they_were_written() -> None:
    message = b'{"jsonrpc":"2.0","method":"m","params":{ "n": 1.50, "n": 1e2, "s": "\\u00e9" }}'
    assert bytes(envelope.read(message).params) == b'{ "n": 1.50, "n": 1e2, "s": "\\u00e9" }'


# --- refusals ---


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"nonsense",
        b'{"jsonrpc":"2.0"',
        b'{"jsonrpc":"2.0","method":"m"} and more',
        b'{"jsonrpc":"2.0","method":"m",}',
        b"{'jsonrpc':'2.0'}",
        b'{"jsonrpc":"2.0","method":"m","params":NaN}',
        b'\xef\xbb\xbf{"jsonrpc":"2.0","method":"m"}',
        b"\xff\xfe",
        b'{"jsonrpc":"2.0","method":"\xff"}',
        b'{"jsonrpc":"2.0","id":"\xff","method":"m"}',
        b'{"params":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    ],
)
def test_what_is_no_json_is_a_parse_error(message: bytes) -> None:
    with pytest.raises(ParseError):
        envelope.read(message)


@pytest.mark.parametrize(
    ("message", "id"),
    [
        (b"null", None),
        (b"true", None),
        (b"17", None),
        (b'"text"', None),
        (b"[]", None),
        (b"{}", None),
        (frame(), None),
        (frame(id=7), 7),
        (frame(id="seven"), "seven"),
        (frame(id=7, method=None), 7),
        (frame(id=7, method=1), 7),
        (b'{"jsonrpc":"1.0","id":7,"method":"m"}', 7),
        (b'{"jsonrpc":2.0,"id":7,"method":"m"}', 7),
        (b'{"id":0,"method":"m"}', 0),
        (b'{"id":"","method":"m"}', ""),
        (frame(id=None, method="m"), None),
        (frame(id=True, method="m"), None),
        (frame(id=1.5, method="m"), None),
        (b'{"jsonrpc":"2.0","id":1.0,"method":"m"}', None),
        (b'{"jsonrpc":"2.0","id":1e3,"method":"m"}', None),
        (frame(id=[1], method="m"), None),
        (frame(id={"id": 1}, method="m"), None),
        (b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b',"method":"m"}', None),
        (b'{"id":' + b"[" * 100_000 + b"]" * 100_000 + b',"method":"m"}', None),
        (b'{"jsonrpc":"1.0","id":"\xff","method":"m"}', None),
        (b'{"jsonrpc":"1.0","id":7,"method":"\xff"}', 7),
    ],
)
def test_json_that_is_no_frame_is_an_invalid_request_with_the_id_that_could_be_read(
    message: bytes, id: RequestId | None
) -> None:
    with pytest.raises(InvalidRequest) as caught:
        envelope.read(message)
    assert (type(caught.value.request_id), caught.value.request_id) == (type(id), id)


def test_a_batch_is_split_without_looking_into_it() -> None:
    entries = envelope.read_batch(b'[ {"a": 1}, 17 ,[],"x"]')
    assert [bytes(entry) for entry in entries] == [b'{"a": 1}', b"17", b"[]", b'"x"']


def test_an_empty_batch_is_an_invalid_request() -> None:
    with pytest.raises(InvalidRequest):
        envelope.read_batch(b"[]")


@pytest.mark.parametrize("message", [b"[", b"[1,]", b"[1]]", b"[" * 200_000 + b"]" * 200_000])
def test_a_broken_batch_is_a_parse_error(message: bytes) -> None:
    with pytest.raises(ParseError):
        envelope.read_batch(message)


# --- writing ---


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (
            envelope.request(1, "m", {"a": 1}),
            b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":1}}',
        ),
        (envelope.request("", "m", UNSET), b'{"jsonrpc":"2.0","id":"","method":"m"}'),
        (envelope.notification("m", UNSET), b'{"jsonrpc":"2.0","method":"m"}'),
        (envelope.notification("m", {}), b'{"jsonrpc":"2.0","method":"m","params":{}}'),
        (envelope.response(0, {}), b'{"jsonrpc":"2.0","id":0,"result":{}}'),
        (
            envelope.failure("x", ErrorObject(-1, "no")),
            b'{"jsonrpc":"2.0","id":"x","error":{"code":-1,"message":"no"}}',
        ),
        (
            envelope.failure(None, ErrorObject(-1, "no", None)),
            b'{"jsonrpc":"2.0","error":{"code":-1,"message":"no","data":null}}',
        ),
    ],
)
def test_a_frame_is_written_with_what_it_has_and_nothing_else(
    written: bytes, expected: bytes
) -> None:
    assert written == expected


def test_a_peer_is_told_the_code_the_message_and_the_data_of_an_mcp_error() -> None:
    assert envelope.error_object(McpError(-31000, "no", {"a": 1})) == ErrorObject(
        -31000, "no", {"a": 1}
    )


def test_a_peer_is_told_the_code_of_a_protocol_error() -> None:
    assert envelope.error_object(InvalidParams("wrong")) == ErrorObject(-32602, "wrong")


@pytest.mark.parametrize(
    ("error", "code", "message", "data"),
    [
        ({"code": 5, "message": "m"}, 5, "m", None),
        ({"code": 5, "message": "m", "data": [1]}, 5, "m", [1]),
        ({"code": 5, "message": "m", "more": 1}, 5, "m", None),
    ],
)
def test_a_peers_error_is_read(error: Any, code: int, message: str, data: Any) -> None:
    read = envelope.read_error(Raw(msgspec.json.encode(error)))
    assert (read.code, read.message, read.data) == (code, message, data)


@pytest.mark.parametrize(
    "error",
    [
        b"null",
        b"{}",
        b'"no"',
        b'{"code":"5","message":"m"}',
        b'{"code":5.5,"message":"m"}',
        b'{"code":5,"message":"\xff"}',
    ],
)
def test_a_peers_error_that_is_none_still_is_an_error(error: bytes) -> None:
    assert envelope.read_error(Raw(error)).code == -32603


# --- large and binary values ---


def test_an_array_of_as_many_frames_as_there_may_be_is_split() -> None:
    entries = envelope.read_batch(b"[" + b",".join([b"{}"] * envelope.MAX_BATCH) + b"]")
    assert entries == [Raw(b"{}")] * envelope.MAX_BATCH


def test_an_array_of_more_frames_is_refused_before_it_is_read_to_its_end() -> None:
    with pytest.raises(InvalidRequest, match=str(envelope.MAX_BATCH)):
        envelope.read_batch(b"[" + b"{}," * envelope.MAX_BATCH + b"{}, and no JSON behind")


@pytest.mark.parametrize("where", ["params", "unheard_of"])
def test_what_is_not_utf_8_is_no_json_wherever_it_stands(where: str) -> None:
    message = frame(id=7, method="m", **{where: {"a": "X"}}).replace(b"X", b"\xff")
    with pytest.raises(ParseError, match="UTF-8") as caught:
        envelope.read(message)
    assert caught.value.request_id == 7


def test_an_answer_that_is_not_utf_8_is_no_request_that_failed() -> None:
    with pytest.raises(ParseError) as caught:
        envelope.read(frame(id=7, result="X").replace(b"X", b"\xff"))
    assert caught.value.request_id is None


def test_an_array_that_is_not_utf_8_is_no_json() -> None:
    with pytest.raises(ParseError, match="UTF-8"):
        envelope.read_batch(b'[{"a":"\xff"}]')


# --- too complex ---

DEEP = b"[" * 100_000 + b"]" * 100_000


@pytest.mark.parametrize(
    "message",
    [
        b'{"jsonrpc":"2.0","id":"a","method":"m","params":%b}',
        b'{"method":"m","params":%b,"jsonrpc":"2.0","id":"a"}',
        b' { "id" : "a" , "jsonrpc" : "2.0" , "params" : %b , "method" : "m" } ',
    ],
)
def test_the_id_of_a_message_that_no_decoder_can_read_is_found_at_its_ends(message: bytes) -> None:
    with pytest.raises(TooComplex) as caught:
        envelope.read(message % DEEP)
    assert caught.value.request_id == "a"


@pytest.mark.parametrize(
    "message",
    [
        b'{"x":%b,"id":1}',
        b'{"jsonrpc":"2.0","id":1,"method":"m","params":[%b}',
        b'{"id":1,"params":{"id":2,"x":%b',
    ],
)
def test_a_deep_message_without_members_at_its_ends_has_no_id(message: bytes) -> None:
    with pytest.raises(ParseError) as caught:
        envelope.read(message % DEEP)
    assert caught.value.request_id is None


def test_a_message_may_be_nested_down_to_the_limit_and_no_deeper() -> None:
    def nested(depth: int) -> bytes:
        inner = depth - 1
        return b'{"jsonrpc":"2.0","id":1,"method":"m","params":%b}' % (b"[" * inner + b"]" * inner)

    assert envelope.read(nested(envelope.MAX_DEPTH)).id == 1
    with pytest.raises(TooComplex) as caught:
        envelope.read(nested(envelope.MAX_DEPTH + 1))
    assert caught.value.request_id == 1


def test_an_error_quotes_a_part_of_what_is_very_long() -> None:
    told = envelope.error_object(InvalidParams(f"unknown tool: {'a' * 1_000_000}")).message
    assert told.startswith("unknown tool: aaa")
    assert len(told) < envelope.MAX_ERROR_LENGTH + 50
    assert told.endswith("... (1000014 characters)")
