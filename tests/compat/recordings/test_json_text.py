"""JSON in texts of JSON: how deep secrets are looked for."""

from __future__ import annotations

import json

import pytest

from mcp_gen.compat.recordings.json_text import JsonText


def nested(depth: int) -> str:
    """Return an object with a secret, as text in so many texts."""
    text = json.dumps({"token": "its-value"})
    for _ in range(depth):
        text = json.dumps([text])
    return text


def replaced(text: str, levels: int) -> str:
    return JsonText(text, lambda name: name == "token", lambda _: "HIDDEN", str, levels).replaced()


@pytest.mark.parametrize("levels", [0, 1, 3])
def test_texts_are_looked_into_down_to_the_last_level_and_no_further(levels: int) -> None:
    at, above = (replaced(nested(depth), levels) for depth in (levels, levels + 1))
    assert "its-value" not in at
    assert "HIDDEN" in at
    assert above == nested(levels + 1)


def test_what_has_no_secret_is_kept_to_the_letter() -> None:
    text = '{ "a" : "12\\u00e9",  "b": ["\\"x\\"", 1e3, "{\\"c\\": 1}"] }'
    assert replaced(text, 3) == text
