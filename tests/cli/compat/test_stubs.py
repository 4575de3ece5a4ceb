"""Tests of `mcp-gen stubs` as a user runs it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import complaint, run

SERVER = str(Path(__file__).parents[3] / "docs/snippets/stubs/server.py")
SHELF = Path(__file__).parents[3] / "docs/snippets/stubs/shelf.py"


def test_the_module_goes_to_stdout_or_to_a_file(tmp_path: Path) -> None:
    path = tmp_path / "shelf.py"
    assert run("stubs", SERVER).stdout == SHELF.read_text("utf-8")
    ran = run("stubs", SERVER, "-o", str(path))
    assert (ran.exit_code, ran.output) == (0, "")
    assert path.read_text("utf-8") == SHELF.read_text("utf-8")


def test_a_module_of_pydantic_models_imports_no_msgspec() -> None:
    printed = run("stubs", SERVER, "--models", "pydantic").stdout
    assert "from pydantic import BaseModel" in printed
    assert "msgspec" not in printed


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "new CountResult\nnew count\n"),
        (SHELF.read_text("utf-8").replace("item: str,", "item: int,"), "changed count\n"),
    ],
)
def test_a_stale_file_is_said_with_what_changed(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "shelf.py"
    path.write_text(text, "utf-8")
    ran = run("stubs", SERVER, "-o", str(path), "--check")
    assert (ran.exit_code, ran.stdout) == (1, said)
    assert ran.stderr == f"{path} is stale; write it again without --check\n"
    assert path.read_text("utf-8") == text


@pytest.mark.parametrize(
    ("text", "said"), [(None, "No such file or directory"), ("def", "it is no Python")]
)
def test_a_file_that_cannot_be_checked_is_said(text: str | None, said: str, tmp_path: Path) -> None:
    path = tmp_path / "shelf.py"
    if text is not None:
        path.write_text(text, "utf-8")
    ran = run("stubs", SERVER, "-o", str(path), "--check")
    assert (ran.exit_code, ran.stdout, ran.stderr.count("\n")) == (1, "", 1)
    assert said in ran.stderr


def test_mistakes_are_said_in_one_line(tmp_path: Path) -> None:
    assert "--check needs the file" in complaint("stubs", SERVER, "--check")
    assert "cannot be written" in complaint("stubs", SERVER, "-o", str(tmp_path))
