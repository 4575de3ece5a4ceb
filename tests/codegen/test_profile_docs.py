"""Documentation of the facts of a Profile: grouped, complete, applicable."""

from __future__ import annotations

from pathlib import Path

import pytest

from codegen.__main__ import generate
from codegen.errors import CodegenError
from codegen.model.profile import ProfileDocs
from tests.codegen.tiny import FACTS, checkout, stopped

OWN = ["revision", "spec", "module", "methods", "errors", "http_status"]
GROUP = """
[[group]]
title = "Wire"
[group.facts]
"""
FACT = """
[facts.loud]
value = true
source = "https://example.com/spec#loud"

[errors.DEAF]
code = -1
source = "https://example.com/spec#deaf"
"""


def refused(folder: Path, text: str) -> str:
    """Return the error message for a file."""
    path = folder / "profile.toml"
    path.write_text(text)
    with pytest.raises(CodegenError) as caught:
        ProfileDocs.load(path)
    return str(caught.value)


def with_lines(folder: Path, text: str) -> Path:
    """Return a checkout with one fact and one error code, and lines about them."""
    root = checkout(folder, facts=FACTS + FACT)
    (root / "schema" / "profile.toml").write_text(text)
    return root


def written(root: Path) -> str:
    return generate(root).package[Path("profile.py")]


# --- output ---


def test_a_fact_stands_in_its_group_with_its_line(tmp_path: Path) -> None:
    root = with_lines(tmp_path, f'{GROUP}loud = "True if everyone hears it."\n')
    assert (
        '    # --- Wire ---\n\n    loud: bool\n    """True if everyone hears it."""\n'
    ) in written(root)


def test_an_error_code_has_its_line(tmp_path: Path) -> None:
    root = with_lines(tmp_path, '[errors]\ndeaf = "Nobody hears it."\n')
    assert '    deaf: int\n    """Nobody hears it."""\n' in written(root)


def test_facts_without_a_line_stand_in_a_last_group(tmp_path: Path) -> None:
    root = with_lines(tmp_path, f'{GROUP}loud = "True if everyone hears it."\n')
    _, _, others = written(root).partition("    # --- Other ---\n")
    assert [line.partition(":")[0].strip() for line in others.splitlines() if ":" in line] == OWN


def test_facts_and_error_codes_without_a_line_are_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = "".join(f'{name} = "The words of it."\n' for name in OWN)
    generate(with_lines(tmp_path, GROUP + lines))
    assert capsys.readouterr().err == (
        "undocumented: Profile.loud\nundocumented: ErrorCodes.deaf\n"
    )


# --- errors ---


def test_a_line_about_no_fact_stops(tmp_path: Path) -> None:
    message = stopped(with_lines(tmp_path, f'{GROUP}quiet = "True if nobody hears it."\n'))
    assert message == "profile.toml: [Wire] quiet: no revision states it; remove the line"


def test_a_line_about_no_error_code_stops(tmp_path: Path) -> None:
    message = stopped(with_lines(tmp_path, '[errors]\nloud = "True if everyone hears it."\n'))
    assert message == "profile.toml: [errors] loud: no revision states it; remove the line"


def test_a_fact_in_two_groups_stops(tmp_path: Path) -> None:
    one = f'{GROUP}loud = "True if everyone hears it."\n'
    assert refused(tmp_path, one + one.replace("Wire", "Air")) == (
        "profile.toml: loud stands in Wire and in Air; remove one"
    )


def test_a_title_that_two_groups_have_stops(tmp_path: Path) -> None:
    one = f'{GROUP}loud = "True if everyone hears it."\n'
    assert refused(tmp_path, one + one) == (
        "profile.toml: [[group]] 2: another group is called Wire; join them"
    )


def test_a_line_that_repeats_the_name_stops(tmp_path: Path) -> None:
    assert refused(tmp_path, f'{GROUP}loud = "Loud."\n') == (
        "profile.toml: [Wire] loud: it only repeats the name; say what the name does not"
    )


def test_a_line_that_is_no_text_stops(tmp_path: Path) -> None:
    assert refused(tmp_path, f"{GROUP}loud = 1\n").startswith(
        "profile.toml: [Wire] loud: expected a text in quotes"
    )


def test_an_unknown_table_stops(tmp_path: Path) -> None:
    assert refused(tmp_path, "[facts]\n") == (
        "profile.toml: unknown table [facts]; known: [errors], [[group]]"
    )


@pytest.mark.parametrize("text", ["[[group]]\n", "[group]\n", 'group = "Wire"\n'])
def test_a_group_without_title_and_facts_stops(tmp_path: Path, text: str) -> None:
    assert refused(tmp_path, text) == "profile.toml: [[group]] 1: give `title` and `facts`"


def test_errors_that_are_no_table_stop(tmp_path: Path) -> None:
    assert refused(tmp_path, 'errors = "none"\n') == "profile.toml: `errors` must be a table"
