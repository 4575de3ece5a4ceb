"""Cost of an import: modules, calls and code, beside those of asyncio and msgspec.

Times vary with the machine: `python -m bench imports` has them, also as a ratio to asyncio and
msgspec. A later change may raise a figure of the table, with its reason beside it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

import mcp_wire
from tests.support.frames import HANDSHAKE

SCRIPT = Path(__file__).with_name("count_imports.py")
WAIT_S = 60.0

BARE = "import asyncio, msgspec"
REVISION = f"import {mcp_wire.types(HANDSHAKE).__name__}"
HELP = "import sys, mcp_gen.cli; sys.argv[:] = ['mcp-gen', '--help']; mcp_gen.cli.main()"
OURS = ("mcp_gen", "mcp_wire")


class Imported(NamedTuple):
    """Effects of a statement in a new interpreter."""

    modules: frozenset[str]
    calls: int
    code_bytes: int

    @property
    def own(self) -> set[str]:
        """Modules of ours."""
        return {one for one in self.modules if one.partition(".")[0] in OURS}

    @property
    def foreign(self) -> set[str]:
        """Modules of others, without what `asyncio` and `msgspec` load themselves.

        Private ones belong to a public one, and have another name in each Python.
        """
        others = self.modules - self.own - imported_by(BARE).modules
        return {one for one in others if not one.startswith("_")}


class Limits(NamedTuple):
    """The most that an import may take; calls and code as a ratio to `import asyncio, msgspec`.

    Calls are those of Python functions, bodies of modules and classes among them. Code is the size
    of all bytecode of the loaded modules: what is read from their `.pyc` files.
    """

    own_modules: int
    calls: float
    code: float


LIMITS: dict[str, Limits] = {
    # Names alone: each is loaded when it is asked for.
    "import mcp_gen": Limits(1, 0.14, 0.28),
    # The schema of a tool is derived at its decorator, so that all of it is there at once.
    "from mcp_gen import Server": Limits(161, 1.31, 1.46),
    "from mcp_gen import Client": Limits(113, 1.29, 1.36),
    # Without asyncio.
    REVISION: Limits(8, 0.64, 0.65),
}

FOREIGN: dict[str, set[str]] = {
    "import mcp_gen": set(),
    "from mcp_gen import Server": {"bisect", "copy"},
    # `random` spreads the retries of lost connections.
    "from mcp_gen import Client": {"bisect", "copy", "dataclasses", "random"},
    REVISION: {"copy"},
}
"""Modules of others that an import loads; those of msgspec and asyncio come with them."""

HELP_MODULES = 60
"""Modules of ours behind `mcp-gen --help`: one per command, and what their options need."""
NEVER_FOR_HELP = {
    "cryptography",
    "httpcore2",
    "joserfc",
    "jsonschema_rs",
    "mcp_gen.client.session",
    "mcp_gen.server.server",
    "pydantic",
    "redis",
    "uvicorn",
    "watchfiles",
}


@cache
def imported_by(statement: str) -> Imported:
    """Return what a statement does in a new interpreter, started once for it."""
    ran = subprocess.run(
        # -S: what a `.pth` file of the environment loads is not ours.
        [sys.executable, "-S", str(SCRIPT), statement],
        capture_output=True,
        text=True,
        check=True,
        timeout=WAIT_S,
        env={"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    found = json.loads(ran.stdout.splitlines()[-1])
    return Imported(frozenset(found["modules"]), found["calls"], found["code_bytes"])


# Limits of one Python, which CI runs; what may be loaded at all is checked on every one.
@pytest.mark.skipif(
    sys.version_info[:2] != (3, 11),
    reason="counted on 3.11: other versions have other instructions and another asyncio",
)
@pytest.mark.parametrize("statement", LIMITS)
def test_an_import_runs_little_beside_what_asyncio_and_msgspec_run(statement: str) -> None:
    found, bare = imported_by(statement), imported_by(BARE)
    took = Limits(len(found.own), found.calls / bare.calls, found.code_bytes / bare.code_bytes)
    more = [one for one, most in zip(took, LIMITS[statement], strict=True) if one > most]
    assert more == [], took


@pytest.mark.parametrize("statement", FOREIGN)
def test_an_import_loads_no_module_of_others_that_is_not_listed(statement: str) -> None:
    assert imported_by(statement).foreign - FOREIGN[statement] == set()


def test_the_help_of_the_command_line_loads_few_modules() -> None:
    assert len(imported_by(HELP).own) <= HELP_MODULES


def test_the_help_of_the_command_line_loads_neither_a_client_nor_a_server() -> None:
    assert imported_by(HELP).modules & NEVER_FOR_HELP == set()


# --- The counters themselves: each must be able to fail ---


def test_what_a_statement_runs_is_counted_equally_each_time() -> None:
    assert imported_by(BARE) == imported_by.__wrapped__(BARE)


def test_a_module_that_an_import_adds_is_counted() -> None:
    more = imported_by(f"{BARE}; import uvicorn.config")
    assert "uvicorn" in more.foreign
    assert more.calls > imported_by(BARE).calls
    assert more.code_bytes > imported_by(BARE).code_bytes
