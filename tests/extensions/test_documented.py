"""Checks that schema, facts and programs in docs/extensions.md work as documented."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from mcp_wire.extensions import tasks
from tests.extensions.invented import made

PAGE = Path(__file__).parents[2] / "docs" / "extensions.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)


def run(program: str) -> Any:
    module = ModuleType("shown")
    exec(program, module.__dict__)
    return module


@pytest.fixture
def greetings(tmp_path: Path) -> Iterator[Any]:
    """The package that the page's schema and facts make."""
    folder = tmp_path / "greetings"
    folder.mkdir()
    (schema,), (facts,) = blocks("json"), blocks("toml")
    (folder / "schema.json").write_text(schema)
    (folder / "facts.toml").write_text(facts)
    yield made(folder)
    for name in [name for name in sys.modules if name.partition(".")[0] == "greetings"]:
        del sys.modules[name]


async def test_the_first_program_ends_a_task(capsys: pytest.CaptureFixture[str]) -> None:
    result = await run(blocks("python")[0]).use()
    assert type(result) is tasks.CancelTaskResult
    assert capsys.readouterr().out == "wanted to end: 42\n"


async def test_the_extension_of_the_page_greets(
    greetings: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    text, welcome = await run(blocks("python")[1]).use()
    assert (text, type(welcome)) == ("hello Ada", greetings.GreetingResult)
    assert capsys.readouterr().out == "greeted: Ada\n"
