"""Measuring JSON texts without decoding them."""

from __future__ import annotations

import json
import random
from typing import Any

import msgspec
import pytest

from mcp_gen.core import json_size
from mcp_gen.core.json_size import excess

TEXTS = ["", "a", "[1,2]", '"', '\\"', "\\", "\\\\", ',"', '{"a":[', "é,", "\n", "x" * 40, '","']

NO_LIMIT = 1_000_000


def counted(value: Any) -> int:
    """Return the number of keys and items; an empty array or object holds one."""
    if isinstance(value, dict):
        return sum(1 + counted(one) for one in value.values()) or 1
    if isinstance(value, list):
        return sum(1 + counted(one) for one in value) or 1
    return 0


def nested(value: Any) -> int:
    """Return the depth of a value; that of an array of numbers is 1."""
    if isinstance(value, dict):
        value = [*value.values()]
    return 1 + max(map(nested, value), default=0) if isinstance(value, list) else 0


def count_of(text: bytes) -> int:
    """Return the least limit that a text keeps."""
    return next(limit for limit in range(-1, 100_000) if not excess(text, limit, NO_LIMIT))


def depth_of(text: bytes) -> int:
    """Return the least depth that a text keeps."""
    return next(limit for limit in range(-1, 100_000) if not excess(text, NO_LIMIT, limit))


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("1", 0),
        ('"a,b"', 0),
        ("[]", 1),
        ("{}", 1),
        ("[[]]", 2),
        ("[1,2,3]", 3),
        ('{"a":1,"b":[2,3]}', 4),
        ('{"a":{},"b":[]}', 4),
        (r'["\",[{"]', 1),
        (r'["\\","a"]', 2),
        (r'["\\\",","a\\\\",2]', 3),
        ('["","",""]', 3),
    ],
)
def test_keys_and_items_outside_of_strings_are_counted(text: str, count: int) -> None:
    assert count_of(text.encode()) == count


@pytest.mark.parametrize("part_bytes", [1, 2, 3, 7, 64])
def test_count_and_depth_of_any_value_are_exact_wherever_its_text_is_cut(
    monkeypatch: pytest.MonkeyPatch, part_bytes: int
) -> None:
    monkeypatch.setattr(json_size, "_PART_BYTES", part_bytes)
    rng = random.Random(part_bytes)
    for _ in range(300):
        value = any_value(rng, 4)
        text = rng.choice([json.dumps(value).encode(), msgspec.json.encode(value)])
        assert (count_of(text), depth_of(text)) == (counted(value), nested(value)), text


def any_value(rng: random.Random, depth: int) -> Any:
    kind = rng.randrange(6 if depth else 3)
    if kind == 0:
        return rng.choice(TEXTS)
    if kind < 3:
        return rng.choice([None, True, 0, 1.5, "".join(rng.choices(TEXTS, k=3))])
    if kind == 3:
        keys = rng.choices(TEXTS, k=rng.randrange(4))
        return {key: any_value(rng, depth - 1) for key in keys}
    return [any_value(rng, depth - 1) for _ in range(rng.randrange(4))]
