"""Codec benchmarks: generated types against handwritten structs for the same JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeAlias

import msgspec

from bench import handwritten
from bench.requests import HANDSHAKE, PER_REQUEST
from bench.sampling import Row, Settings, compare, cost_ns
from mcp_wire import decode, encode, types

__all__ = ["rows"]

Read: TypeAlias = Callable[[bytes], Any]
"""JSON in, a value out."""

_DATA = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk" * 4

CALL = {
    "name": "search_issues",
    "arguments": {"query": "is:open label:bug", "limit": 50, "labels": ["bug", "core"]},
    "_meta": {"progressToken": 7},
}

RESULT = {
    "content": [
        {"type": "text", "text": "Three issues match."},
        {"type": "text", "text": "A longer text. " * 20, "annotations": {"audience": ["user"]}},
        {"type": "image", "data": _DATA, "mimeType": "image/png"},
        {"type": "image", "data": _DATA, "mimeType": "image/png", "annotations": {"priority": 0.5}},
        {"type": "audio", "data": _DATA, "mimeType": "audio/wav"},
        {"type": "resource_link", "name": "log", "uri": "file:///var/log/a.log", "size": 50},
        {"type": "resource_link", "name": "readme", "uri": "file:///README.md", "title": "Read me"},
        {"type": "resource", "resource": {"uri": "file:///a.txt", "text": "Its text."}},
        {"type": "resource", "resource": {"uri": "file:///a.bin", "blob": _DATA}},
        {"type": "text", "text": "Done."},
    ],
    "structuredContent": {"found": 3, "numbers": [17, 25, 42]},
}

TOOLS = {
    "tools": [
        {
            "name": f"tool_{number}",
            "title": f"Tool {number}",
            "description": "Searches the issues of a repository and returns those that match.",
            "inputSchema": {
                "type": "object",
                "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}},
                "required": ["query"],
            },
            "annotations": {"readOnlyHint": True},
        }
        for number in range(1000)
    ]
}


def rows(settings: Settings) -> Iterator[Row]:
    """Measure decoding and encoding of each kind of message."""
    home, newest = types(HANDSHAKE), types(PER_REQUEST)
    tagged = {"resultType": "complete", **RESULT}
    params = partial(decode, home.CallToolRequestParams)
    result = partial(decode, home.CallToolResult)
    tools = partial(decode, home.ListToolsResult)
    any_result = newest.PROFILE.methods["tools/call"].decode_result
    cases: list[tuple[str, Any, Read, type[Any], int]] = [
        ("tools/call params", CALL, params, handwritten.CallParams, 20000),
        ("result of ten blocks", RESULT, result, handwritten.CallResult, 4000),
        ("the same, tagged", tagged, any_result, handwritten.TaggedCallResult, 4000),
        ("tools/list of 1000", TOOLS, tools, handwritten.ToolList, 12),
    ]
    for name, value, ours, bare, times in cases:
        yield from _compared(name, value, ours, bare, settings.calls(times), settings)


def _compared(
    name: str, value: Any, ours: Read, bare: type[Any], times: int, settings: Settings
) -> Iterator[Row]:
    data = msgspec.json.encode(value)
    decode_bare = msgspec.json.Decoder(bare).decode
    encode_bare = msgspec.json.Encoder().encode
    our_value, bare_value = ours(data), decode_bare(data)
    # Both must do the same work, and lose nothing.
    assert msgspec.json.decode(encode(our_value)) == msgspec.json.decode(data)
    assert msgspec.json.decode(encode_bare(bare_value)) == msgspec.json.decode(data)
    repetitions = settings.repetitions(15)
    yield compare(
        f"decode {name}",
        "ns",
        partial(cost_ns, partial(ours, data), times),
        partial(cost_ns, partial(decode_bare, data), times),
        repetitions=repetitions,
    )
    yield compare(
        f"encode {name}",
        "ns",
        partial(cost_ns, partial(encode, our_value), times),
        partial(cost_ns, partial(encode_bare, bare_value), times),
        repetitions=repetitions,
    )
