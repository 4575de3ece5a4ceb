"""Texts of generated code."""

from __future__ import annotations

from pathlib import Path

import pytest

from codegen.__main__ import read
from codegen.emit.python_source import sections
from codegen.emit.python_text import arguments, passed_on
from codegen.model.overlay import Overlay
from tests.codegen.tiny import REVISION, STRING, checkout, const, struct


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


def test_a_call_neither_takes_nor_passes_on_a_constant_of_its_params(tmp_path: Path) -> None:
    params = struct(text=STRING, version=const("one"))
    schemas = checkout(tmp_path, {"EchoRequestParams": params}) / "schema"
    revision = read(schemas / REVISION, Overlay(schemas / "overlay.toml"))
    (method,) = revision.methods
    assert arguments(method, revision) == "text: str, *"
    assert passed_on(method, revision) == "text=text"
