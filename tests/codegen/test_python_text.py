"""Texts of generated code."""

from __future__ import annotations

import pytest

from codegen.emit.python_text import sections


def test_an_entry_of_a_section_has_a_name_or_only_a_meaning() -> None:
    parts = [("Args", [("city", "The city.")]), ("Returns", [("", "The weather.")]), ("Raises", [])]
    assert sections("Ask.", parts, "", 4) == (
        '"""Ask.\n'
        "\n"
        "    Args:\n"
        "        city: The city.\n"
        "\n"
        "    Returns:\n"
        "        The weather.\n"
        '    """'
    )


@pytest.mark.parametrize(
    ("length", "expected"),
    [(88, "    Source: {}\n"), (89, "    Source:\n    {}\n")],
)
def test_a_source_stays_in_one_piece(length: int, expected: str) -> None:
    source = "https://".ljust(length, "x")
    assert sections("Do.", [], source, 4) == f'"""Do.\n\n{expected.format(source)}    """'
