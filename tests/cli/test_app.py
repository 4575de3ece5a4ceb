"""Tests of `mcp-gen`: its commands and its start-up time."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

import mcp_wire
from mcp_gen.cli.app import app
from mcp_gen.cli.commands import demo
from tests.cli.running import complaint, run
from tests.wire.test_imports import imported_by, revisions_in


@pytest.mark.parametrize(
    "command",
    [
        "call",
        "demo",
        "diff",
        "doctor",
        "init",
        "inspect",
        "methods",
        "prompt",
        "read",
        "run",
        "tools",
        "types",
    ],
)
def test_a_command_is_listed_by_the_help(command: str) -> None:
    assert f" {command} " in run("--help").stdout


def test_the_command_line_imports_no_revision_before_a_command_runs() -> None:
    assert revisions_in(imported_by("import mcp_gen.cli")) == set()


def test_the_command_line_imports_no_change_table_before_a_command_runs() -> None:
    assert "mcp_wire.changes" not in imported_by("import mcp_gen.cli")


def test_the_version_needs_no_command_and_no_table() -> None:
    program = (
        "import sys; sys.argv = ['mcp-gen', '--version']; from mcp_gen.cli import main; main()"
    )
    loaded = imported_by(f"try:\n    {program}\nexcept SystemExit:\n    pass")
    assert not {one for one in loaded if one.startswith(("mcp_gen.cli.commands.", "rich."))}


def test_a_command_loads_no_other_command() -> None:
    program = "import sys; sys.argv = ['mcp-gen', 'run']; from mcp_gen.cli import main; main()"
    loaded = imported_by(f"try:\n    {program}\nexcept SystemExit:\n    pass")
    assert {one for one in loaded if one.startswith("mcp_gen.cli.commands.")} == {
        "mcp_gen.cli.commands.run"
    }


def test_a_word_like_a_command_is_answered_with_the_command() -> None:
    assert "Did you mean 'run'" in run("rum").stderr


def test_every_module_of_the_commands_is_a_command_and_in_the_help_once() -> None:
    folder = Path(demo.__file__).parent
    modules = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    assert sorted(modules) == sorted(COMMANDS)


# --- every command ---

# typer may bring a click of its own.
GROUP: Any = typer.main.get_command(app)
COMMANDS: dict[str, Any] = GROUP.commands
EXAMPLE = re.compile(r"^\s*\* `(mcp-gen [^\n]*?)`(?: |$)", re.MULTILINE)
SERVER = str(Path(__file__).parents[2] / "examples/server.py")


def examples(name: str) -> list[list[str]]:
    """Return the words of the examples in a command's help, without what a shell redirects."""
    text = demo.OPTIONS["epilog"] if name == "demo" else str(COMMANDS[name].callback.__doc__)
    return [shlex.split(line.partition(" > ")[0]) for line in EXAMPLE.findall(text)]


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_has_examples_that_it_takes(name: str) -> None:
    shown = run(name, "--help").stdout
    assert "Examples" in shown
    found = examples(name)
    assert len(found) >= 3
    for _, command, *words in found:
        assert command == name or name == "init"
        COMMANDS[command].make_context(command, words)


def test_an_example_with_an_option_that_is_not_there_is_found() -> None:
    with pytest.raises(Exception, match="No such option"):
        COMMANDS["tools"].make_context("tools", ["server.py", "--jsn"])


@pytest.mark.parametrize(
    "words",
    [
        ["call", SERVER, "count", "--arg", "item=bolt"],
        ["demo", "--revision", mcp_wire.LATEST],
        ["diff", mcp_wire.REVISIONS[0], mcp_wire.LATEST],
        ["doctor", SERVER, "--over", "memory", "--fail-on", "never"],
        ["init", "shelf"],
        ["inspect", SERVER],
        ["methods"],
        ["prompt", SERVER],
        ["read", SERVER],
        ["tools", SERVER],
        ["types", "Tool"],
    ],
    ids=lambda words: words[0],
)
def test_json_is_all_that_a_command_prints_on_stdout(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = run(*words, "--json")
    assert ran.exit_code == 0, ran.stderr
    assert ran.stdout == json.dumps(json.loads(ran.stdout), indent=2) + "\n"


@pytest.mark.parametrize(
    "words",
    [["call", "none.py", "a"], ["inspect", "none.py"], ["prompt", "none.py"], ["read", "none.py"]],
    ids=lambda words: words[0],
)
def test_a_mistake_is_on_stderr_in_one_line_with_json_too(words: list[str]) -> None:
    said = complaint(*words, "--json")
    assert said.startswith(f"mcp-gen {words[0]}: no such file: none.py; ")
