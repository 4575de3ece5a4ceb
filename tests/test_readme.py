"""Checks that the README shows the examples unchanged, and that they run."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mcp_gen import Client, McpError
from mcp_gen.types import CompletionArgument, ResourceTemplateReference

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
SHOWN = re.findall(r"<!-- (examples/\S+) -->\n```\w+\n(.*?)```", README, re.DOTALL)
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
COMMANDS = {
    "pip install -e . && mcp-gen demo\n",
    "pip install nox && nox -s tests\n",
    "$ mcp-gen call examples/server.py count --arg item=bolt --arg shelf=3\n12\n",
}


@pytest.mark.parametrize(("path", "text"), SHOWN, ids=[path for path, _ in SHOWN])
def test_a_block_of_the_readme_is_its_example_to_the_letter(path: str, text: str) -> None:
    assert (ROOT / path).read_text("utf-8") == text


def test_every_block_of_the_readme_is_an_example_or_a_command() -> None:
    others = {text for _, text in BLOCKS} - {text for _, text in SHOWN}
    assert others == COMMANDS


def test_ci_runs_the_test_command_of_the_readme() -> None:
    assert "\nnox -s tests\n" in (ROOT / ".ci/run").read_text("utf-8")


def run(*command: str, cwd: Path = ROOT) -> str:
    ran = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_the_client_lists_and_calls_the_tool_of_the_server() -> None:
    assert run(sys.executable, "examples/client.py").splitlines() == [
        "2026-07-28 ['count']",
        "12",
    ]


def test_the_pinned_types_differ_in_icons() -> None:
    old, new, again = run(sys.executable, "examples/pinned_types.py").splitlines()
    assert "icons" not in old
    assert '"icons":[{"src":"https://example.org/add.png"}]' in new
    assert again.startswith("Tool(name='add'")


def test_the_manager_uses_the_servers_of_a_file() -> None:
    assert run(sys.executable, "examples/manager.py").splitlines() == [
        "shelves connected 2026-07-28",
        "notes connected 2026-07-28",
        "remote disabled None",
        "mcp__shelves__count ['item', 'shelf']",
        "mcp__notes__delete ['name']",
        "12",
        "bolts, nuts",
    ]


async def test_the_hook_refuses_the_fourth_call() -> None:
    async with Client("test") as client:
        session = await client.connect([sys.executable, str(ROOT / "examples/hook.py")])
        for _ in range(3):
            await session.call_tool("shout", {"text": "a"})
        with pytest.raises(McpError) as caught:
            await session.call_tool("shout", {"text": "a"})
    assert (caught.value.code, caught.value.message) == (-31000, "three calls are enough")


def test_the_commands_for_a_new_revision_add_a_module_and_change_none(tmp_path: Path) -> None:
    for folder in ("schema", "generated"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("*.pyc"))
    (tmp_path / "new").mkdir()
    shutil.copy(ROOT / "schema/2026-07-28/schema.json", tmp_path / "new/schema.json")
    # Rows that the generator would require: those limited to revisions include the new one, and the
    # extensions refuse it.
    overlay = tmp_path / "schema/overlay.toml"
    rows = overlay.read_text("utf-8").replace('"2026-07-28"]', '"2026-07-28", "2027-01-31"]')
    overlay.write_text(rows, "utf-8")
    for extension in tmp_path.glob("schema/extensions/*/facts.toml"):
        said = extension.read_text("utf-8").replace(
            '"2026-07-28"]\n', '"2026-07-28"]\nrefused = ["2027-01-31"]\n', 1
        )
        extension.write_text(said, "utf-8")
    before = {path: path.read_bytes() for path in (tmp_path / "generated").rglob("v2*/*.py")}
    for line in (ROOT / "examples/new_revision.sh").read_text("utf-8").splitlines():
        command, *arguments = line.partition("#")[0].split()
        if command == "cp":
            run(command, *arguments, cwd=tmp_path)
            facts = tmp_path / "schema/2027-01-31/facts.toml"
            facts.write_text(facts.read_text("utf-8").replace("2026-07-28", "2027-01-31"), "utf-8")
            continue
        module = {"schema": "codegen.schema.step", "regen": "codegen"}[arguments[1]]
        run(sys.executable, "-m", module, *arguments[3:], "--root", str(tmp_path), cwd=tmp_path)
    assert (tmp_path / "generated/mcp_wire/v2027_01_31/types.py").exists()
    assert {path: path.read_bytes() for path in before} == before


async def test_the_notes_are_read_completed_and_asked_about() -> None:
    async with Client("test") as client:
        session = await client.connect([sys.executable, str(ROOT / "examples/notes_server.py")])
        read = await session.read_resource("note://shopping")
        assert [one.text for one in read.contents] == ["bolts, nuts"]
        ref = ResourceTemplateReference(uri="note://{name}")
        found = await session.complete(ref, CompletionArgument(name="name", value="b"))
        assert found.completion.values == ["birthdays"]
        prompt = await session.get_prompt("summarise", {"name": "shopping"})
        assert "plain" in prompt.messages[0].content.text
        with pytest.raises(McpError, match="elicitation"):
            await session.call_tool("delete", {"name": "shopping"})
