"""The project in examples/testing, as its users run it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.plugin.running import ASYNCIO, needs_pytest_asyncio, run_pytest

EXAMPLE = Path(__file__).parents[2] / "examples/testing"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test over every transport with `--full`, else over the usual one."""
    if "over" in metafunc.fixturenames:
        full = metafunc.config.getoption("full")
        metafunc.parametrize("over", ["memory", "stdio", "http"] if full else ["memory"])


@needs_pytest_asyncio
def test_the_example_passes_over_each_transport(over: str, tmp_path: Path) -> None:
    shutil.copytree(EXAMPLE, tmp_path / "testing", ignore=shutil.ignore_patterns("__pycache__"))
    ran = run_pytest(tmp_path / "testing", f"--mcp-over={over}", plugins=ASYNCIO)
    assert ran.counts == {"passed": 44}, ran.text
    assert len(ran.matrix) == 10, "the revisions, and nine tests"
