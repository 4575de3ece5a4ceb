"""Counting the keys and items of JSON texts."""

from __future__ import annotations

import json
import random
from typing import Any

import msgspec
import pytest

from mcp_gen.core import value_count
from mcp_gen.core.value_count import has_more_values

TEXTS = ["", "a", "[1,2]", '"', '\\"', "\\", "\\\\", ',"', '{"a":[', "é,", "\n", "x" * 40, '","']


def counted(value: Any) -> int:
    """Return the number of keys and items; an empty array or object holds one."""
    if isinstance(value, dict):
        return sum(1 + counted(one) for one in value.values()) or 1
    if isinstance(value, list):
        return sum(1 + counted(one) for one in value) or 1
    return 0


def count_of(text: bytes) -> int:
    """Return the least limit that a text keeps."""
    return next(limit for limit in range(-1, 100_000) if not has_more_values(text, limit))


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
def test_the_count_of_any_value_is_exact_wherever_its_text_is_cut(
    monkeypatch: pytest.MonkeyPatch, part_bytes: int
) -> None:
    monkeypatch.setattr(value_count, "_PART_BYTES", part_bytes)
    rng = random.Random(part_bytes)
    for _ in range(300):
        value = any_value(rng, 4)
        text = rng.choice([json.dumps(value).encode(), msgspec.json.encode(value)])
        assert count_of(text) == counted(value), text


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
