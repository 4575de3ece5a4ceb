"""Processor time that one large message takes from everyone else until it is decoded or refused."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

import msgspec
import pytest

import mcp_wire
from mcp_gen import PeerLimits
from mcp_gen.core.protocol_state import ProtocolState, RequestReceived
from tests.support.frames import BATCHING, HANDSHAKE

SIZE = 16 * 1024 * 1024
MOST_S = 0.4
"""Processor time of the slowest message: 0.1 s where this was written, 1.3 s without limits."""

CALL = (
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"take","arguments":{"x":%b}}}'
)


def many(unit: bytes, ends: bytes = b"[]") -> bytes:
    """Return an array or object with so many units that it has the size."""
    count = SIZE // (len(unit % 0 if b"%d" in unit else unit) + 8)
    units = (unit % number for number in range(count)) if b"%d" in unit else [unit] * count
    return ends[:1] + b",".join(units) + ends[1:]


MESSAGES: dict[str, Callable[[], bytes]] = {
    "keys": lambda: CALL % many(b'"%d":1', b"{}"),
    "maps": lambda: CALL % many(b'"%d":{"a":{}}', b"{}"),
    "arrays": lambda: CALL % many(b"[[]]"),
    "empty objects": lambda: CALL % many(b"{}"),
    "numbers": lambda: CALL % many(b"%d"),
    "long numbers": lambda: CALL % many(b"1" * 40),
    "short strings": lambda: CALL % many(b'"a"'),
    "one string": lambda: CALL % (b'"' + b"a" * SIZE + b'"'),
    "commas in a string": lambda: CALL % (b'"' + b"," * SIZE + b'"'),
    "escapes": lambda: CALL % (b'"' + b'\\",' * (SIZE // 3) + b'"'),
    "backslashes": lambda: CALL % (b'"' + b"\\\\," * (SIZE // 3) + b'"'),
    "bytes of two": lambda: CALL % (b'"' + "é".encode() * (SIZE // 2) + b'"'),
    "no UTF-8 at the end": lambda: CALL % (b'"' + "é".encode() * (SIZE // 2) + b'\xff"'),
    "a long number": lambda: CALL % (b"1" * SIZE),
    "space": lambda: CALL % (b" " * SIZE + b"1"),
    "a deep array": lambda: CALL % (b"[" * (SIZE // 2) + b"]" * (SIZE // 2)),
    "many flat objects and a deep one": lambda: (
        CALL % many(b'{"a":1}').replace(b"1", b"[" * 999, 1)
    ),
    "members of params": lambda: (
        CALL.replace(b"}}}", b"},%b}}" % many(b'"%d":{}', b"  ").strip()) % b"1"
    ),
    "members of a message": lambda: (
        CALL.replace(b'"id"', b'%b,"id"' % many(b'"%d":1', b"  ").strip(), 1) % b"1"
    ),
    "members of what is no message": lambda: b'{"id":1,%b}' % many(b'"%d":1', b"  ").strip(),
    "_meta": lambda: (
        CALL.replace(b'"arguments"', b'"_meta":%b,"arguments"') % (many(b'"%d":{}', b"{}"), b"1")
    ),
    "a batch of calls": lambda: many(CALL % b'{"a":[{},{}]}'),
    "a batch of numbers": lambda: many(b"%d"),
}
"""Functions that make the messages: all of them at once would take half a gigabyte."""


@pytest.mark.parametrize("name", MESSAGES)
def test_a_large_message_is_taken_or_refused_in_a_short_time(name: str) -> None:
    batches = name.startswith("a batch")
    state: ProtocolState[str] = ProtocolState(
        mcp_wire.profile(BATCHING[0] if batches else HANDSHAKE), PeerLimits().max_values
    )
    message = MESSAGES[name]()
    began_s = time.process_time()
    events = state.receive(message)
    for event in events:
        if isinstance(event, RequestReceived):
            with suppress(msgspec.DecodeError):
                msgspec.json.decode(event.params)
    assert time.process_time() - began_s < MOST_S
