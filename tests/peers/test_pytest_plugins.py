"""Tests of a user's server run with the pytest plugins of anyio and of pytest-asyncio."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SNIPPETS = Path(__file__).parents[2] / "docs/snippets/testing"
WITH_ANYIO = (SNIPPETS / "test_weather.py").read_text("utf-8")
WITH_PYTEST_ASYNCIO = (
    WITH_ANYIO.replace("import pytest\n", "import pytest\nimport pytest_asyncio\n", 1)
    .replace("pytestmark = pytest.mark.anyio\n", "")
    .replace('@pytest.fixture\ndef anyio_backend() -> str:\n    return "asyncio"\n', "")
    .replace("@pytest.fixture\n", "@pytest_asyncio.fixture\n")
)
"""The program of the guide, changed as the guide says."""
SETTINGS = "[pytest]\n"
"""A user's settings are not those of this project, whose folder may be above."""
OF_PYTEST_ASYNCIO = "asyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\n"


def run(folder: Path, program: str, *plugins: str, settings: str = "") -> str:
    """Run the tests of a program in a folder."""
    (folder / "pytest.ini").write_text(SETTINGS + settings, "utf-8")
    shutil.copy(SNIPPETS / "weather.py", folder)
    (folder / "test_weather.py").write_text(program, "utf-8")
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-W", "error", *plugins],
        cwd=folder,
        env={name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return ran.stdout + ran.stderr


def test_the_tests_of_a_user_run_with_the_plugin_of_anyio(tmp_path: Path) -> None:
    assert "2 passed" in run(tmp_path, WITH_ANYIO, "-p", "no:asyncio")


def test_the_tests_of_a_user_run_with_pytest_asyncio(tmp_path: Path) -> None:
    said = run(tmp_path, WITH_PYTEST_ASYNCIO, "-p", "no:anyio", settings=OF_PYTEST_ASYNCIO)
    assert "2 passed" in said


def test_without_its_plugin_a_test_of_a_user_does_not_pass(tmp_path: Path) -> None:
    said = run(tmp_path, WITH_ANYIO, "-p", "no:anyio", "-p", "no:asyncio")
    assert "passed" not in said


@pytest.mark.parametrize("word", ["pytest_asyncio.fixture", "import pytest_asyncio"])
def test_the_program_is_changed_as_the_guide_says(word: str) -> None:
    assert word in WITH_PYTEST_ASYNCIO
    assert "anyio" not in WITH_PYTEST_ASYNCIO
