"""Dependencies are told truly: what is imported is declared, what is declared is imported."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.checks.import_graph import module_files

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
OURS = {"bench", "codegen", "examples", "mcp_gen", "mcp_wire", "outer_of_parcels", "tests"}
COMES_WITH = {
    "click": "typer",
    "google": "google-genai",
    "h11": "uvicorn",
    "key_value": "fastmcp",
    "mcp_types": "mcp",
}
"""Import names that are not called like the distribution that brings them."""


def _normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def names(requirements: Iterable[str]) -> set[str]:
    """Return the normalized distribution names of requirements."""
    found = (re.match(r"[\w.-]+", one) for one in requirements)
    return {_normalized(match[0]) for match in found if match}


ALWAYS = names(PROJECT["project"]["dependencies"])
EXTRAS = {name: names(each) for name, each in PROJECT["project"]["optional-dependencies"].items()}
GROUPS = {name: names(each) for name, each in PROJECT["dependency-groups"].items()}

OPTIONAL_MODULES = {
    "mcp_wire.pydantic": "pydantic",
    "mcp_gen.auth.proofs.jws": "auth",
    "mcp_gen.cluster.redis": "redis",
}
"""Packages that are imported on request only, and the extra that they need."""

LAZY = {"rich", "typer"}
"""Needed by the command line alone: nothing outside of it imports them, at any time."""

NOT_IMPORTED_HERE = {
    "uvloop": "uvicorn and users run their loop with it where it is installed",
}
"""Declared dependencies that the runtime does not import itself, each with its reason."""


class Imported(NamedTuple):
    """One import of a third-party package."""

    module: str
    name: str
    at_top: bool
    """True if importing the module runs it: neither in a function nor for type checkers."""


def third_party(module: str, text: str) -> Iterator[Imported]:
    """Yield the imports of a module that are neither ours nor of the standard library."""
    left: list[tuple[ast.AST, bool]] = [(ast.parse(text), False)]
    while left:
        node, is_late = left.pop()
        for name in _imported(node):
            root = name.partition(".")[0]
            if root not in sys.stdlib_module_names and root not in OURS:
                yield Imported(module, root, not is_late)
        is_late = is_late or _is_late(node)
        left += [(child, is_late) for child in ast.iter_child_nodes(node)]


def _imported(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
        yield node.module
    elif isinstance(node, ast.Call) and _called(node) in ("import_module", "__import__"):
        yield from (str(one.value) for one in node.args if isinstance(one, ast.Constant))


def _called(node: ast.Call) -> str:
    return getattr(node.func, "id", "") or getattr(node.func, "attr", "")


def _is_late(node: ast.AST) -> bool:
    if isinstance(node, ast.If):
        return "TYPE_CHECKING" in ast.unparse(node.test)
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


def distribution(name: str) -> set[str]:
    """Return the distribution that an import name comes from."""
    return {COMES_WITH.get(name, _normalized(name))}


@cache
def runtime() -> list[Imported]:
    """Return the imports of the runtime and of the generated package."""
    return [*_of(ROOT, "mcp_gen"), *_of(ROOT / "generated", "mcp_wire")]


def _of(root: Path, package: str) -> Iterator[Imported]:
    for module, path in module_files(root, package).items():
        yield from third_party(module, path.read_text("utf-8"))


def extra_of(one: Imported) -> str | None:
    """Return the extra that declares an import which is not always installed."""
    found = distribution(one.name)
    return next((extra for extra, declared in EXTRAS.items() if declared & found), None)


def test_what_the_runtime_imports_is_declared() -> None:
    missing = [
        one for one in runtime() if not distribution(one.name) & ALWAYS and extra_of(one) is None
    ]
    assert missing == []


def test_what_an_extra_brings_is_imported_late_or_on_request() -> None:
    at_start = [
        one
        for one in runtime()
        if one.at_top
        and not distribution(one.name) & ALWAYS
        and not any(one.module.startswith(package) for package in OPTIONAL_MODULES)
    ]
    assert at_start == []


@pytest.mark.parametrize(("package", "extra"), OPTIONAL_MODULES.items())
def test_a_package_that_is_imported_on_request_needs_one_extra(package: str, extra: str) -> None:
    needed = {extra_of(one) for one in runtime() if one.module.startswith(package) and one.at_top}
    assert needed - {None} == {extra}


def test_what_is_declared_is_imported() -> None:
    declared = ALWAYS.union(*EXTRAS.values())
    imported = {name for one in runtime() for name in distribution(one.name)}
    assert declared - imported == NOT_IMPORTED_HERE.keys()


def test_the_command_line_alone_imports_what_shows_things_to_people() -> None:
    others = {
        one.module
        for one in runtime()
        if one.name in LAZY and not one.module.startswith("mcp_gen.cli")
    }
    assert others == set()


@pytest.mark.parametrize(
    ("package", "groups"),
    [
        ("codegen", ["codegen"]),
        ("bench", ["bench", "peers"]),
        ("tests", ["browser", "test", "peers", "types"]),
    ],
)
def test_what_a_tool_imports_is_in_its_group(package: str, groups: list[str]) -> None:
    declared = ALWAYS.union(*(GROUPS[group] for group in groups))
    missing = {one.name for one in _of(ROOT, package) if not distribution(one.name) & declared}
    assert missing == set()


COSTLY = {
    "dataclasses",
    "hashlib",
    "ipaddress",
    "jsonschema_rs",
    "pydantic",
    "random",
    "secrets",
    "urllib.parse",
    "uvicorn",
}
"""Modules that a server which does not use them must not wait for at its start."""


def loaded_by(statement: str) -> set[str]:
    """Return the names of the modules that a new process has after a statement."""
    program = f"import sys\n{statement}\nprint(*sys.modules)"
    # -S: what a `.pth` file of the environment loads is not ours.
    ran = subprocess.run(
        [sys.executable, "-S", "-c", program],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env={"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    return set(ran.stdout.split())


def test_a_server_does_not_wait_for_modules_that_it_does_not_use() -> None:
    assert loaded_by("from mcp_gen import Server") & COSTLY == set()


def test_a_module_that_is_loaded_is_seen() -> None:
    assert loaded_by("import secrets") & COSTLY == {"hashlib", "random", "secrets"}


# --- The checks themselves: each must be able to fail ---


@pytest.mark.parametrize(
    ("text", "at_top"),
    [
        ("import rich\n", True),
        ("from rich.table import Table\n", True),
        ("try:\n    import rich\nexcept ImportError: ...\n", True),
        ("def late():\n    import rich\n", False),
        ("if TYPE_CHECKING:\n    import rich\n", False),
        ("def late():\n    return import_module('rich.table')\n", False),
    ],
)
def test_an_import_is_found_and_whether_it_is_late(text: str, at_top: bool) -> None:
    assert list(third_party("m", text)) == [Imported("m", "rich", at_top)]


@pytest.mark.parametrize("text", ["import json\n", "from mcp_wire import decode\n", "'rich'\n"])
def test_what_is_ours_or_of_the_standard_library_needs_no_declaration(text: str) -> None:
    assert list(third_party("m", text)) == []


def test_names_of_requirements_are_normalized() -> None:
    given: Mapping[str, str] = {
        "Pydantic_Core>=2": "pydantic-core",
        "httpcore2[asyncio]": "httpcore2",
    }
    assert [names([one]) for one in given] == [{name} for name in given.values()]
