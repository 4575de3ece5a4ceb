"""Checks that the pages of docs/ show programs that exist, and what they print."""

from __future__ import annotations

import ast
import re
import shutil
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.docs.pages import (
    DOCS,
    ROOT,
    SNIPPETS,
    TIME_LIMIT_S,
    Block,
    Command,
    blocks,
    commands,
    environment,
    is_plain,
    pages,
    says,
    shell,
)
from tests.docs.warm import WarmProcess

PAGES = pages()
FILES = sorted(SNIPPETS.rglob("*.py"))
SHOWN = {block.path for page in PAGES for block in blocks(page) if block.path}

NOT_GUIDES = {"architecture", "failures", "index", "security", "spec-bump"}
"""Pages to look things up in, and pages about the project: they do not begin with a program."""

OLD_BLOCKS: dict[str, str] = {
    "extensions": "tests/extensions/test_documented.py",
    "spec-bump": "tests/codegen",
}
"""Pages whose blocks are not files of docs/snippets, and what runs them."""

WITH_TRANSCRIPTS = [
    page
    for page in PAGES
    if page.stem != "spec-bump" and any(one.is_transcript for one in blocks(page))
]


@pytest.fixture(scope="module")
def warm(request: pytest.FixtureRequest) -> Generator[WarmProcess | None]:
    """The process of most plain commands; None with `--full`, where each has one of its own."""
    if request.config.getoption("full"):
        yield None
        return
    process = WarmProcess(environment(), TIME_LIMIT_S)
    yield process
    process.close()


def of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=of)
def test_a_block_is_the_file_that_it_names_to_the_letter(page: Path) -> None:
    wrong = [
        block.path
        for block in blocks(page)
        if block.path and (ROOT / block.path).read_text("utf-8") != block.text
    ]
    assert wrong == []


@pytest.mark.parametrize("page", PAGES, ids=of)
def test_every_program_of_a_page_is_a_file(page: Path) -> None:
    if page.stem in OLD_BLOCKS:
        return
    assert [one.line for one in blocks(page) if one.language == "python" and not one.path] == []


def test_every_file_of_the_snippets_is_shown() -> None:
    assert [of(path) for path in FILES if of(path) not in SHOWN] == []


# Each command has a limit of its own, and a page has dozens.
@pytest.mark.timeout(600)
@pytest.mark.parametrize("page", WITH_TRANSCRIPTS, ids=of)
def test_the_commands_of_a_page_print_what_it_shows(
    page: Path, tmp_path: Path, warm: WarmProcess | None
) -> None:
    if "$ redis-server" in page.read_text("utf-8") and shutil.which("redis-server") is None:
        # In CI this is a failure.
        pytest.skip("redis-server is not installed: `apt install redis-server`")
    with shell(page, tmp_path, warm) as opened:
        for block in blocks(page):
            for command in commands(block) if block.is_transcript else ():
                printed = opened.run(command.words)
                assert says(printed, command.printed), f"$ {command.words}\n{printed}"


@pytest.mark.parametrize("path", FILES, ids=of)
def test_every_program_runs_in_a_transcript_of_its_page(path: Path) -> None:
    page = DOCS / f"{path.relative_to(SNIPPETS).parts[0]}.md"
    ran = " ".join(
        command.words
        for block in blocks(page)
        if block.is_transcript
        for command in commands(block)
    )
    imported = {
        node.module
        for other in path.parent.glob("*.py")
        for node in ast.walk(ast.parse(other.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom)
    }
    assert path.name in ran or path.stem in imported or re.search(rf"\b{path.stem}\b", ran)


@pytest.mark.parametrize("page", PAGES[1:], ids=of)
def test_a_guide_begins_with_a_program(page: Path) -> None:
    if page.stem in NOT_GUIDES:
        return
    text = page.read_text("utf-8")
    before = text[: text.index("```")]
    assert before.count("\n## ") == 0
    assert len(before.split()) < 90


def test_the_index_names_every_page() -> None:
    index = (DOCS / "index.md").read_text("utf-8")
    named = set(re.findall(r"\]\(([\w-]+)\.md\)", index))
    assert named == {page.stem for page in PAGES[1:]} - {"index"}


# --- The checks themselves: each must be able to fail ---


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("a\nb", "a\nb\n"),
        ("a   \nb", "a\nb  \n"),
        ("a ... c", "a b c"),
        ("a\n...\nd", "a\nb\nc\nd"),
        ("a\n...", "a"),
        ("", ""),
    ],
)
def test_what_a_page_shows_may_leave_parts_out(shown: str, printed: str) -> None:
    assert says(printed, shown)


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("a", "b"),
        ("a", "a\nb"),
        ("a ... c", "a b"),
        ("a\n...\nd", "a\nb"),
        ("", "a"),
        ("a.b", "axb"),
    ],
)
def test_what_is_printed_otherwise_is_found(shown: str, printed: str) -> None:
    assert not says(printed, shown)


@pytest.mark.parametrize("command", ["mcp-gen types Tool.icons", "mcp-gen read nothing.py"])
def test_a_command_prints_the_same_in_a_warm_process(
    command: str, tmp_path: Path, warm: WarmProcess | None
) -> None:
    with shell(ROOT / "none.md", tmp_path / "one", warm) as opened:
        printed = [opened.run(command) for _ in range(2)]
    assert printed[0] == printed[1] != ""


@pytest.mark.parametrize(
    ("command", "is_so"),
    [
        ('mcp-gen read kinds.py "office://menu?vegan=true"', True),
        ('mcp-gen read folder.py "file://$PWD/plan.txt"', False),
        ("mcp-gen types Tool | head -1", False),
        ("python host.py", False),
    ],
)
def test_a_command_with_work_for_a_shell_is_not_plain(command: str, is_so: bool) -> None:
    assert is_plain(command) is is_so


def test_a_transcript_is_split_into_commands() -> None:
    block = Block("console", "$ one \\\n    more\n1\n2\n$ two &\n$ three\n", None, 1)
    assert commands(block) == [
        Command("one more", "1\n2\n"),
        Command("two &", ""),
        Command("three", ""),
    ]
