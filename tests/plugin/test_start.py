"""Tests that use nothing of the plugin: they pay nothing for it, and see nothing of it."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.plugin.running import run

ROOT = Path(__file__).parents[2]
LIMIT_US = 5000

IMPORTED = """
    import sys

    def test_nothing_of_the_library_is_loaded():
        assert "pytest_mcp_gen" in sys.modules
        ours = {name.partition(".")[0] for name in sys.modules}
        assert not ours & {"mcp_gen", "mcp_wire", "msgspec"}
"""


def test_a_run_without_its_fixtures_loads_nothing_of_the_library(tmp_path: Path) -> None:
    assert run(tmp_path, IMPORTED).counts == {"passed": 1}


def test_a_marker_without_the_fixtures_does_nothing(tmp_path: Path) -> None:
    tests = f"import pytest\npytestmark = pytest.mark.mcp_revisions('all')\n{IMPORTED}"
    ran = run(tmp_path, tests.replace("\n    ", "\n"), settings="addopts = --strict-markers")
    assert ran.counts == {"passed": 1}, ran.text


def test_the_plugin_is_loaded_in_less_than_five_milliseconds() -> None:
    # In a process that has pytest already: the fastest of several, as others use the machine.
    program = """
import importlib, sys, time
import pytest
took = []
for _ in range(20):
    sys.modules.pop("pytest_mcp_gen", None)
    began = time.perf_counter()
    module = importlib.import_module("pytest_mcp_gen")
    took.append(time.perf_counter() - began)
print(int(min(took) * 1e6))
"""
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert int(ran.stdout) < LIMIT_US


def test_the_entry_point_is_named_like_its_module_and_is_off_here() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert project["project"]["entry-points"]["pytest11"] == {"pytest_mcp_gen": "pytest_mcp_gen"}
    options = project["tool"]["pytest"]["ini_options"]["addopts"]
    assert "no:pytest_mcp_gen" in options


def test_its_fixtures_are_not_those_of_this_suite(request: pytest.FixtureRequest) -> None:
    with pytest.raises(pytest.FixtureLookupError):
        request.getfixturevalue("mcp_revision")
