"""Checks that docs/command-line.md has every command of `mcp-gen` and every option."""

from __future__ import annotations

import re
from typing import Any

import pytest
from typer.main import get_command

from mcp_gen.cli.app import app
from tests.docs.pages import DOCS

PAGE = (DOCS / "command-line.md").read_text("utf-8")
GROUP: Any = get_command(app)
COMMANDS: dict[str, list[str]] = {
    name: [
        option
        for parameter in command.params
        if parameter.param_type_name == "option" and not getattr(parameter, "hidden", False)
        for option in parameter.opts
    ]
    for name, command in GROUP.commands.items()
}


def test_the_page_has_a_section_for_every_command() -> None:
    assert len(COMMANDS) > 10
    sections = re.findall(r"^## ([a-z]+)$", PAGE, re.M)
    assert sorted(sections) == sorted(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_page_shows_every_command_in_a_transcript(command: str) -> None:
    assert re.search(rf"^\$ mcp-gen {command}\b", PAGE, re.M)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_page_names_every_option(command: str) -> None:
    missing = [one for one in COMMANDS[command] if not re.search(rf"{one}\b", PAGE)]
    assert missing == []
