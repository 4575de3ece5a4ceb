"""The answers that a message asks for, read independently of the code that is judged."""

from __future__ import annotations

import pytest

from tests.fuzz.reading import Reading, read

ROWS: dict[str, tuple[bytes, Reading]] = {
    "a request": (b'{"jsonrpc":"2.0","id":1,"method":"ping"}', Reading(must=["1"])),
    "an id that is a text": (b'{"jsonrpc":"2.0","id":"1","method":"m"}', Reading(must=['"1"'])),
    "another version": (b'{"jsonrpc":"1.0","id":1,"method":"m"}', Reading(must=["1"])),
    "a method that is a number": (b'{"jsonrpc":"2.0","id":1,"method":1}', Reading(must=["1"])),
    "neither request nor response": (b'{"jsonrpc":"2.0","id":1}', Reading(may=["1"])),
    "an id that is null": (b'{"jsonrpc":"2.0","id":null,"method":"m"}', Reading(anonymous=1)),
    "an id that is a list": (b'{"jsonrpc":"2.0","id":[1],"method":"m"}', Reading(anonymous=1)),
    "an id beyond 64 bits": (
        b'{"jsonrpc":"2.0","id":18446744073709551616,"method":"m"}',
        Reading(may=["18446744073709551616"], anonymous=1),
    ),
    "an id that some round": (
        b'{"jsonrpc":"2.0","id":1.0,"method":"m"}',
        Reading(may=["1"], anonymous=1),
    ),
    "a notification": (b'{"jsonrpc":"2.0","method":"m"}', Reading()),
    "a response": (b'{"jsonrpc":"2.0","id":1,"result":{}}', Reading()),
    "a broken response": (b'{"id":1,"error":1}', Reading()),
    "a number": (b"1", Reading(anonymous=1)),
    "not JSON": (b"{", Reading(anonymous=1)),
    "cut JSON with an id": (b'{"id":1,"method":"m"', Reading(may=["1"], anonymous=1)),
    "not UTF-8": (b'{"id":1,"method":"\xff"}', Reading(may=["1"], anonymous=1)),
    "a key that comes twice": (
        b'{"id":1,"id":2,"method":"m"}',
        Reading(may=["1", "2"], anonymous=1),
    ),
    "a cancellation": (
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}',
        Reading(cancels=["1"]),
    ),
    "a cancellation of something odd": (
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":[1.5]}}',
        Reading(cancels=['["1.5"]']),
    ),
    "a request without an end": (
        b'{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen"}',
        Reading(may=["1"]),
    ),
    "a batch": (
        b'[{"jsonrpc":"2.0","id":1,"method":"m"},{"jsonrpc":"2.0","method":"m"},1]',
        Reading(must=["1"], anonymous=1),
    ),
    "an empty batch": (b"[]", Reading(anonymous=1)),
}


@pytest.mark.parametrize(("data", "reading"), ROWS.values(), ids=ROWS)
def test_a_message_asks_for(data: bytes, reading: Reading) -> None:
    assert read(data, batches=True) == reading


def test_where_there_are_no_batches_an_array_is_one_error() -> None:
    data = b'[{"jsonrpc":"2.0","id":1,"method":"m"}]'
    assert read(data, batches=False) == Reading(anonymous=1)


def test_where_nobody_knows_whether_there_are_batches_each_entry_may_be_answered() -> None:
    data = b'[{"jsonrpc":"2.0","id":1,"method":"m"}]'
    assert read(data, batches=None) == Reading(may=["1"], anonymous=1)


def test_a_message_that_is_nested_deeply_may_be_refused() -> None:
    deep = b'{"jsonrpc":"2.0","id":1,"method":"m","params":' + b"[" * 500 + b"]" * 500 + b"}"
    assert read(deep, batches=False) == Reading(may=["1"], anonymous=1)
