"""Imports of revision modules: exact names, and nothing imported unasked."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Set
from functools import cache

import pytest

import mcp_wire
from mcp_wire import common
from tests.wire.revisions import every_revision


@cache
def imported_by(statement: str) -> frozenset[str]:
    """Return the modules that a statement imports in a fresh interpreter, started once for it."""
    program = (
        f"import sys\nbefore = set(sys.modules)\n{statement}\nprint(*(set(sys.modules) - before))\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return frozenset(ran.stdout.split())


def revisions_in(modules: Set[str]) -> set[str]:
    """Return the revisions whose modules are among these."""
    found = {name.split(".")[1] for name in modules if name.startswith("mcp_wire.v")}
    return {
        revision
        for revision in mcp_wire.REVISIONS
        if mcp_wire.types(revision).__name__.removeprefix("mcp_wire.") in found
    }


def test_a_tool_of_2024_11_05_has_no_icons() -> None:
    from mcp_wire.v2024_11_05 import Tool

    assert "icons" not in Tool.__struct_fields__


def test_a_tool_of_2025_11_25_has_icons() -> None:
    from mcp_wire.v2025_11_25 import Tool

    assert "icons" in Tool.__struct_fields__


def test_a_name_is_another_class_in_each_revision() -> None:
    classes = {mcp_wire.types(one).CallToolRequestParams for one in mcp_wire.REVISIONS}
    assert len(classes) == 5


def test_a_name_without_a_date_is_the_union_of_its_classes() -> None:
    classes = {mcp_wire.types(one).CallToolRequestParams for one in mcp_wire.REVISIONS}
    assert set(common.CallToolRequestParams.__args__) == classes


def test_a_name_that_no_revision_has_is_not_in_common() -> None:
    with pytest.raises(AttributeError, match="no revision has a type Toll"):
        _ = common.Toll


def test_the_newest_revision_gives_the_names_of_latest() -> None:
    from mcp_wire import latest

    newest = mcp_wire.types(mcp_wire.LATEST)
    assert {name: getattr(latest, name) for name in latest.__all__} == {
        name: getattr(newest, name) for name in newest.__all__ if name != "PROFILE"
    }


@every_revision
def test_one_revision_imports_no_other(revision: str) -> None:
    modules = imported_by(f"import {mcp_wire.types(revision).__name__}")
    assert revisions_in(modules) == {revision}


@every_revision
def test_one_revision_imports_the_standard_library_and_msgspec_alone(revision: str) -> None:
    # Imports of msgspec itself do not count: typing_extensions, where it is installed.
    modules = imported_by(f"import {mcp_wire.types(revision).__name__}")
    modules -= imported_by("import msgspec")
    roots = {name.partition(".")[0] for name in modules}
    assert roots - sys.stdlib_module_names == {"mcp_wire"}


@pytest.mark.parametrize(
    "statement",
    [
        "import mcp_wire",
        "import mcp_wire.base, mcp_wire.method, mcp_wire.profile, mcp_wire.lenient_decoding",
        "import mcp_wire.common",
        "import mcp_wire.handlers, mcp_wire.hooks, mcp_wire.hook_types",
    ],
)
def test_what_has_no_date_imports_no_revision(statement: str) -> None:
    assert revisions_in(imported_by(statement)) == set()


def test_a_revision_is_imported_when_it_is_named() -> None:
    modules = imported_by("import mcp_wire; mcp_wire.v2025_03_26")
    assert revisions_in(modules) == {"2025-03-26"}


def test_a_profile_imports_its_own_revision_alone() -> None:
    modules = imported_by("import mcp_wire; mcp_wire.profile('2025-06-18')")
    assert revisions_in(modules) == {"2025-06-18"}
