"""`mcp-gen init`: the project that it writes works as it is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.cli.running import complaint, run
from tests.support.frames import Speaker, each_lifecycle
from tests.support.processes.child import started

WAIT_S = 60.0
MAIN = "from mcp_gen.cli import main; main()"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a project called `my-shelf`."""
    monkeypatch.chdir(tmp_path)
    ran = run("init", "my-shelf")
    assert (ran.exit_code, ran.stderr) == (0, "")
    return tmp_path / "my-shelf"


def in_project(project: Path, *words: str) -> str:
    """Run Python in the project, and return what it printed."""
    ran = subprocess.run(
        [sys.executable, *words],
        cwd=project,
        env={**os.environ, "PYTEST_ADDOPTS": "", "COLUMNS": "160"},
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def test_its_test_passes(project: Path) -> None:
    assert "1 passed" in in_project(project, "-m", "pytest", "-q")


@each_lifecycle
@pytest.mark.parametrize("words", [["-c", MAIN, "run", "server.py"], ["server.py"]])
def test_its_server_runs(
    words: list[str], revision: str, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    speaker = Speaker(revision)
    with started([sys.executable, *words]) as process:
        process.send(*speaker.opening, speaker.call(1, "add", a=1, b=2))
        assert process.answer(1)["result"]["content"][0]["text"] == "3"


def test_its_contents_are_shown(project: Path) -> None:
    shown = json.loads(in_project(project, "-c", MAIN, "inspect", "server.py", "--json"))
    assert shown["serverInfo"] == {"name": "my-shelf", "version": "0.1.0"}
    assert [one["name"] for one in shown["tools"]] == ["add"]


def test_its_pyproject_names_it_and_what_it_needs(project: Path) -> None:
    found = tomllib.loads((project / "pyproject.toml").read_text())["project"]
    assert (found["name"], found["dependencies"][0].partition(">")[0]) == ("my-shelf", "mcp-gen")


def test_no_placeholder_is_left(project: Path) -> None:
    texts = [path.read_text() for path in project.iterdir()]
    assert not [text for text in texts if "NAME" in text or "VERSION" in text]


def test_nothing_is_overwritten(project: Path) -> None:
    (project / "server.py").write_text("mine")
    said = complaint("init", "my-shelf")
    assert said == (
        "mcp-gen init: my-shelf holds .gitignore, README.md, pyproject.toml, ..., and nothing is "
        "overwritten; give another name, or an empty folder"
    )
    assert (project / "server.py").read_text() == "mine"


def test_an_empty_folder_is_filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shelf").mkdir()
    assert run("init", "shelf").exit_code == 0
    assert (tmp_path / "shelf/server.py").is_file()


@pytest.mark.parametrize("name", ["", ".", "../shelf", "/shelf", 'a"b', "a b", "-a"])
def test_a_name_that_no_project_may_have_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "is no name of a project" in complaint("init", "--", name)
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_the_way_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shelf").write_text("mine")
    assert complaint("init", "shelf") == "mcp-gen init: shelf: File exists; give another name"
