"""Tests of `mcp-gen demo` as a user runs it: output and exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import mcp_wire
from tests.cli.running import complaint, run
from tests.support.frames import every_revision

MAIN = "from mcp_gen.cli import main; main()"
TAMPERING = Path(__file__).parents[1] / "support/processes/tampering_server.py"
LIMIT_S = 50.0

OFFERS_ICONS = mcp_wire.REVISIONS[3:]


@dataclass(frozen=True)
class Ran:
    """One run of the command."""

    stdout: str
    stderr: str
    status: int

    @property
    def rows(self) -> dict[str, Any]:
        """Return the rows printed as JSON, by revision."""
        return {row["revision"]: row for row in json.loads(self.stdout)}

    def row(self, revision: str) -> str:
        """Return the table row of one revision."""
        (line,) = [one for one in self.stdout.splitlines() if f" {revision} " in one]
        return line


def mcp_gen(*arguments: str, **environment: str) -> Ran:
    ran = subprocess.run(
        [sys.executable, "-c", MAIN, *arguments],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
        # In debug mode asyncio writes to stderr what took long.
        env={
            **os.environ,
            "COLUMNS": "160",
            "TERM": "dumb",
            "PYTHONASYNCIODEBUG": "",
            **environment,
        },
    )
    return Ran(ran.stdout, ran.stderr, ran.returncode)


# --- a good server ---


@pytest.fixture(scope="module")
def plain() -> Ran:
    return mcp_gen("demo")


def test_the_demo_of_the_quickstart_server_exits_with_0(plain: Ran) -> None:
    assert plain.status == 0, plain.stdout + plain.stderr


@every_revision
def test_the_demo_of_the_quickstart_server_is_good_at_every_revision(
    revision: str, plain: Ran
) -> None:
    assert "good" in plain.row(revision)


@every_revision
def test_a_row_tells_the_lifecycle_the_result_and_the_hooks(revision: str, plain: Ran) -> None:
    cells = [cell.strip() for cell in plain.row(revision).split("│")]
    _, _, lifecycle, frames, result, hooks, _, _ = cells
    assert (lifecycle, result) == (mcp_wire.profile(revision).lifecycle, "3")
    assert int(frames) >= 6
    assert hooks == "before add, after add"


# --- servers with undefined members ---


@pytest.fixture(scope="module")
def tampered() -> Ran:
    """Return the rows of a server that adds icons, as JSON."""
    return mcp_gen("demo", f"{sys.executable} {TAMPERING}", "--json")


@pytest.fixture(scope="module")
def tampered_twice() -> Ran:
    """Return the table of a server that adds icons, at the newest and the oldest revision."""
    newest, oldest = mcp_wire.REVISIONS[-1], mcp_wire.REVISIONS[0]
    return mcp_gen(
        "demo", f"{sys.executable} {TAMPERING}", "--revision", newest, "--revision", oldest
    )


@pytest.mark.parametrize("ran", ["tampered", "tampered_twice"])
def test_the_demo_of_a_server_that_adds_icons_exits_with_1(
    ran: str, request: pytest.FixtureRequest
) -> None:
    found: Ran = request.getfixturevalue(ran)
    assert found.status == 1, found.stdout + found.stderr


def test_a_server_that_adds_icons_is_bad_where_tools_have_none(tampered: Ran) -> None:
    verdicts = {revision: row["good"] for revision, row in tampered.rows.items()}
    assert verdicts == {revision: revision in OFFERS_ICONS for revision in mcp_wire.REVISIONS}


@pytest.mark.parametrize("revision", mcp_wire.REVISIONS[:3])
def test_the_key_that_a_revision_lacks_is_named(revision: str, tampered: Ran) -> None:
    problem = f"server: $.result.tools[0].icons: not a key at {revision}"
    assert tampered.rows[revision]["problems"] == [problem]


def test_the_table_has_the_verdicts_and_names_the_key(tampered_twice: Ran) -> None:
    newest, oldest = mcp_wire.REVISIONS[-1], mcp_wire.REVISIONS[0]
    assert "good" in tampered_twice.row(newest)
    assert "bad" in tampered_twice.row(oldest)
    problem = f"{oldest}: server: $.result.tools[0].icons: not a key at {oldest}"
    assert problem in tampered_twice.stdout.splitlines()


def test_a_verdict_has_a_color_and_a_problem_has_none() -> None:
    oldest = mcp_wire.REVISIONS[0]
    server = f"{sys.executable} {TAMPERING}"
    ran = mcp_gen("demo", server, "--revision", oldest, FORCE_COLOR="1", TERM="xterm")
    assert "\x1b[31mbad\x1b[0m" in ran.stdout
    problem = f"{oldest}: server: $.result.tools[0].icons: not a key at {oldest}"
    assert problem in ran.stdout.splitlines()


def test_a_server_that_ends_at_once_is_bad_and_says_its_exit_status(tmp_path: Path) -> None:
    script = tmp_path / "server.py"
    script.write_text("raise SystemExit(3)")
    ran = mcp_gen("demo", f"{sys.executable} {script}", "--revision", mcp_wire.LATEST)
    assert ran.status == 1
    assert "exit status 3" in ran.stdout


ONE_REVISION = mcp_wire.REVISIONS[1]


def demo_of(tool: str, folder: Path) -> Ran:
    """Return the row of a server with this tool, of which there is one."""
    script = folder / "server.py"
    script.write_text(
        "from mcp_gen import Server\n"
        "server = Server('other')\n"
        "@server.tool\n"
        f"def {tool}(a: int, b: int) -> int:\n"
        "    return a - b\n"
        "server.run()\n"
    )
    return mcp_gen("demo", str(script), "--json", "--revision", ONE_REVISION)


@pytest.fixture(scope="module")
def without_the_tool(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return demo_of("subtract", tmp_path_factory.mktemp("demo"))


def test_a_server_without_the_tool_is_bad_and_says_which_it_has(without_the_tool: Ran) -> None:
    assert without_the_tool.status == 1
    (row,) = without_the_tool.rows.values()
    assert "the server has no tool `add`, only subtract" in row["problems"]


def test_a_server_that_adds_wrongly_is_bad_and_says_what_it_gave(tmp_path: Path) -> None:
    (row,) = demo_of("add", tmp_path).rows.values()
    assert "add(1, 2) gave -1" in row["problems"]


# --- options ---


def test_json_is_all_that_is_printed(tampered: Ran) -> None:
    assert (tampered.stderr, [*tampered.rows]) == ("", [*mcp_wire.REVISIONS])


def test_json_is_indented_by_two(tampered: Ran) -> None:
    assert tampered.stdout == json.dumps(json.loads(tampered.stdout), indent=2) + "\n"


def test_json_tells_all_about_a_revision(tampered: Ran) -> None:
    oldest = mcp_wire.REVISIONS[0]
    assert tampered.rows[oldest] == {
        "revision": oldest,
        "lifecycle": "initialize",
        "frames": 7,
        "result": "3",
        "hooks": ["before add", "after add"],
        "problems": [f"server: $.result.tools[0].icons: not a key at {oldest}"],
        "good": False,
    }


def test_one_revision_may_be_asked_for(without_the_tool: Ran) -> None:
    assert [*without_the_tool.rows] == [ONE_REVISION]


def test_two_revisions_may_be_asked_for(tampered_twice: Ran) -> None:
    lines = tampered_twice.stdout.splitlines()
    rows = [one for line in lines if "│" in line for one in mcp_wire.REVISIONS if one in line]
    assert rows == [mcp_wire.REVISIONS[0], mcp_wire.REVISIONS[-1]]


# --- wrong use ---


def test_a_file_that_is_missing_is_one_line_and_exit_status_2() -> None:
    said = complaint("demo", "no_such_server.py")
    assert said == "mcp-gen demo: no such file: no_such_server.py"


def test_an_unknown_revision_is_one_line_and_exit_status_2() -> None:
    known = ", ".join(mcp_wire.REVISIONS)
    said = complaint("demo", "--revision", "2020-01-01")
    assert said == f"mcp-gen demo: no revision '2020-01-01'; there are {known}"


def test_an_unknown_option_exits_with_2() -> None:
    ran = run("demo", "--no-such-option")
    assert ran.exit_code == 2
    assert "--no-such-option" in ran.stderr


def test_help_tells_the_commands() -> None:
    ran = run("--help")
    assert ran.exit_code == 0
    assert "demo" in ran.stdout


def test_help_of_the_demo_tells_its_options_and_examples() -> None:
    ran = run("demo", "--help")
    assert ran.exit_code == 0
    for part in ("--revision", "--json", "mcp-gen demo my_server.py"):
        assert part in ran.stdout


def test_without_a_command_there_is_help() -> None:
    assert "Usage" in run().stdout


def test_version_is_that_of_the_installed_package(tmp_path: Path) -> None:
    # The first module on the path is the installed one, or this checkout.
    metadata = tmp_path / "mcp_gen-9.8.7.dist-info/METADATA"
    metadata.parent.mkdir()
    metadata.write_text("Metadata-Version: 2.1\nName: mcp-gen\nVersion: 9.8.7\n")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    ran = mcp_gen("--version", PYTHONPATH=path)
    assert (ran.stdout, ran.status) == ("9.8.7\n", 0)
