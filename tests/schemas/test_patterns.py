"""Patterns: which are linear, and how much they weigh."""

from __future__ import annotations

import pytest

from mcp_gen.schemas.patterns import (
    MAX_PATTERN_CHARS,
    MAX_PATTERN_WEIGHT,
    MIN_PATTERN_WEIGHT,
    pattern_weight,
)


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        "^abc$",
        "a|b|",
        "^(a+)+$",
        "(?:a|b)*",
        "(?<year>[0-9]{4})-(?P<month>[0-9]{2})",
        r"^\d{3}-\w+\.\u{61}\x41\u0061$",
        r"[^\]\\a-z]+",
        r"\p{L}+",
        "a{2,}?b{0,3}",
        "\\n\\t\\/",
        "[a-zäöü]*",
    ],
)
def test_a_pattern_without_look_around_is_linear(pattern: str) -> None:
    assert pattern_weight(pattern) is not None


@pytest.mark.parametrize(
    "pattern",
    [
        "(?=a)",
        "(?!a)",
        "(?<=a)",
        "(?<!a)",
        r"(a)\1",
        r"(?<n>a)\k<n>",
        r"\g{1}",
        "(?i)a",
        "(?x: a )",
        "(?>a)",
        "(?#a)",
        "(?<name",
        "(a",
        "a)",
        "[a",
        "[[a]]",
        "[]a]",
        "*a",
        "a{",
        "a{x}",
        "{1}",
        r"\p{L",
        "a\\",
        "(" * 60 + ")" * 60,
        "a" * (MAX_PATTERN_CHARS + 1),
    ],
)
def test_any_other_pattern_is_not(pattern: str) -> None:
    assert pattern_weight(pattern) is None


@pytest.mark.parametrize(
    ("pattern", "weight"),
    [
        ("a", MIN_PATTERN_WEIGHT),
        ("a{100}", 100),
        ("[a-z]{1,64}", 64),
        ("(a{99}){99}", 9_801),
        ("((a{10}){10}){10}", 1_000),
        ("(ab|c{7}){10}", 100),
        (".{100}", 500),
        ("\x7f{100}", 100),
        ("\x80{100}", 500),
        ("[\x7f]{100}", 100),
        ("[\x80]{100}", 500),
        ("[^a]{100}", 500),
        (r"\p{L}{3}", 900),
        ("a{10}{10}", 100),
        ("a{10,}", MIN_PATTERN_WEIGHT),
    ],
)
def test_nested_repetitions_multiply(pattern: str, weight: int) -> None:
    assert pattern_weight(pattern) == weight


@pytest.mark.parametrize(
    "repeated", ["a{%d}", "(a{%d}){1}", "(?:b|a{%d}){1,1}"], ids=["flat", "group", "branch"]
)
def test_the_limit_of_the_weight(repeated: str) -> None:
    at = MAX_PATTERN_WEIGHT - repeated.count("b") * 2
    assert pattern_weight(repeated % at) is not None
    assert pattern_weight(repeated % (at + 3)) is None
    assert pattern_weight(repeated % 10**9) is None
    assert pattern_weight(repeated % 10**400) is None
