"""Commands that tests start get what this run's Python was told: its paths, and who traces it."""

from __future__ import annotations

from mcp_gen.transports import environment

__all__ = ["install"]

PASSED = ("PYTHON", "COVERAGE_", "MUTANTS_")


def install() -> None:
    """Pass these variables to every command of this process, from now on."""
    environment.PREFIXES = (*environment.PREFIXES, *PASSED)
