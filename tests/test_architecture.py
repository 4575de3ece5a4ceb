"""Architecture rules, checked on the syntax tree: imports, and places that may name a revision."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

import mcp_wire
from mcp_gen.server.notifications.topics import LISTS, updated
from mcp_wire.profile import Profile
from tests.support.checks import source
from tests.support.checks.source import Line

ROOT = Path(__file__).parents[1]

OURS = ("codegen", "mcp_gen", "mcp_wire")
LOWER = ("mcp_gen.core", "mcp_wire")
MIDDLE = (
    "mcp_gen.schemas",
    "mcp_gen.session",
    "mcp_gen.transports",
    "mcp_gen.auth",
    "mcp_gen.values",
    *LOWER,
)

BELOW: Mapping[str, tuple[str, ...]] = {
    "codegen": (),
    "mcp_wire": (),
    "mcp_gen.core": ("mcp_wire",),
    "mcp_gen.schemas": LOWER,
    "mcp_gen.contracts": ("mcp_gen.schemas", *LOWER),
    "mcp_gen.session": LOWER,
    "mcp_gen.transports": LOWER,
    "mcp_gen.auth": LOWER,
    "mcp_gen.values": LOWER,
    "mcp_gen.cluster": LOWER,
    "mcp_gen.testing": LOWER,
    "mcp_gen.server": MIDDLE,
    "mcp_gen.client": MIDDLE,
}
"""Imports that each package may make of this project; tools for people may make all."""

BESIDE: Mapping[str, tuple[str, ...]] = {
    # In a process of its own, after the generator has ended.
    "codegen.verify.surfaces": ("mcp_wire",),
}
"""Imports that a module may make beyond its package's."""

NO_IO = {"asyncio", "selectors", "socket", "ssl", "subprocess", "threading", "time"}

OUTSIDE: Mapping[str, frozenset[str]] = {
    "mcp_wire": sys.stdlib_module_names | {"msgspec"},
    "mcp_wire.pydantic": sys.stdlib_module_names
    | {
        "msgspec",
        "pydantic",
        "pydantic_core",
        "typing_extensions",
    },
    "mcp_gen.core": (sys.stdlib_module_names - NO_IO) | {"msgspec", "orjson", "pybase64"},
}
"""Imports that a package may make from outside of this project, where limited."""

TEST_FILES_PER_FOLDER = 20
"""Maximum number of Python files in a folder of tests, `__init__.py` not counted."""

FOR_PEOPLE = {"spec"}
"""Members of a profile that nothing depends on: the link to the pages of the specification."""

METHODS = frozenset(
    name for revision in mcp_wire.REVISIONS for name in mcp_wire.profile(revision).methods
)


def modules(package: str) -> Iterator[tuple[str, Path]]:
    """Yield the dotted name and the file of every module in a package."""
    home = ROOT / "generated" if package == "mcp_wire" else ROOT
    for path in sorted(home.joinpath(*package.split(".")).rglob("*.py")):
        yield ".".join(path.relative_to(home).with_suffix("").parts), path


def wrong_imports(package: str, module: str, text: str) -> Iterator[Line]:
    """Yield the forbidden imports of a module."""
    allowed = (package, *BELOW[package], *BESIDE.get(module, ()))
    outside = OUTSIDE.get(package)
    if module.startswith("mcp_wire.pydantic"):
        outside = OUTSIDE["mcp_wire.pydantic"]
    for line, name in source.imports(text, module):
        root = name.partition(".")[0]
        if root in OURS:
            if not any(f"{name}.".startswith(f"{one}.") for one in allowed):
                yield line, f"{package} may not import {name}"
        elif outside is not None and root not in outside:
            yield line, f"{package} may not import {name}"


def method_names(text: str) -> Iterator[Line]:
    """Yield every string that is, or contains, the name of a method."""
    spelled = {name for name in METHODS if "/" in name}
    for line, string in source.strings(text):
        if string in METHODS or any(name in string for name in spelled):
            yield line, string


def crowded_folders(home: Path) -> Iterator[str]:
    """Yield every folder under `home`, itself included, that holds too many Python files."""
    for folder in (home, *sorted(path for path in home.rglob("*") if path.is_dir())):
        count = sum(path.name != "__init__.py" for path in folder.glob("*.py"))
        if count > TEST_FILES_PER_FOLDER:
            yield f"{folder.relative_to(home.parent)} holds {count} files"


def findings(package: str, check: Callable[[str], Iterator[Line]]) -> list[str]:
    """Return the findings of a check in a package, as file, line and text."""
    return [
        f"{path.relative_to(ROOT)}:{line}: {what}"
        for _, path in modules(package)
        for line, what in check(path.read_text("utf-8"))
    ]


@pytest.mark.parametrize("package", BELOW)
def test_a_package_imports_only_what_is_below_it(package: str) -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {what}"
        for module, path in modules(package)
        for line, what in wrong_imports(package, module, path.read_text("utf-8"))
    ]
    assert wrong == []


def test_every_package_of_the_runtime_has_its_place() -> None:
    folders = {f"mcp_gen.{path.parent.name}" for path in ROOT.glob("mcp_gen/*/__init__.py")}
    for_people = {"mcp_gen.cli", "mcp_gen.compat", "mcp_gen.manager"}
    assert folders - for_people - BELOW.keys() == set()


def test_the_runtime_names_no_revision_by_its_date() -> None:
    assert findings("mcp_gen", source.dates) == []


def test_the_runtime_compares_no_revisions() -> None:
    found = findings("mcp_gen", source.compared_revisions)
    # There they are data: what a peer said, and what a requirement holds for.
    assert [one for one in found if not one.startswith("mcp_gen/compat/")] == []


def test_the_runtime_spells_no_method_name() -> None:
    assert findings("mcp_gen", method_names) == []


def test_every_fact_of_a_profile_is_read_by_the_runtime() -> None:
    read = {
        name
        for _, path in modules("mcp_gen")
        for _, name in source.profile_facts(path.read_text("utf-8"))
    }
    # A topic names its notification, and gets it from any profile by that name.
    read |= {topic.role for topic in (*LISTS, updated(""))}
    assert set(Profile.__struct_fields__) - read == FOR_PEOPLE


def test_no_wait_of_the_runtime_swallows_a_cancellation() -> None:
    # Before Python 3.12 `asyncio.wait_for` returns if what it awaits ends as it is cancelled.
    waits = re.compile(r"\bwait_for\(|\bimport wait_for\b")
    found = [str(path) for _, path in modules("mcp_gen") if waits.search(path.read_text("utf-8"))]
    assert found == []


def test_no_folder_of_tests_holds_too_many_files() -> None:
    assert list(crowded_folders(ROOT / "tests")) == []


# --- The checks themselves: each must be able to fail ---


@pytest.mark.parametrize(
    ("package", "statement"),
    [
        ("mcp_wire", "import pydantic"),
        ("mcp_wire", "from mcp_gen.core import envelope"),
        ("mcp_gen.core", "import asyncio"),
        ("mcp_gen.core", "from time import monotonic"),
        ("mcp_gen.core", "import socket as plug"),
        ("mcp_gen.core", "import anyio"),
        ("mcp_gen.core", "from ..session import kernel"),
        ("mcp_gen.session", "from mcp_gen.transports.memory import memory_pair"),
        ("mcp_gen.session", "from mcp_gen import transports"),
        ("mcp_gen.session", "from mcp_gen import Server"),
        ("mcp_gen.session", "def late():\n    import mcp_gen.server.server"),
        ("mcp_gen.session", "if TYPE_CHECKING:\n    from mcp_gen.server import context"),
        ("mcp_gen.transports", "import_module('mcp_gen.session.kernel.kernel')"),
        ("mcp_gen.auth", "import mcp_gen.session"),
        ("mcp_gen.server", "from mcp_gen.client import Client"),
        ("mcp_gen.server", "from ..compat import demo"),
        ("mcp_gen.client", "import mcp_gen.server.server"),
        ("mcp_gen.client", "import mcp_gen.cli"),
        ("mcp_gen.client", "from mcp_gen.contracts.lock import read_lock"),
        ("mcp_gen.contracts", "from mcp_gen.client import Client"),
        ("mcp_gen.contracts", "from mcp_gen.compat.report import texts"),
        ("codegen", "import mcp_wire"),
        ("codegen", "from mcp_gen.core.errors import McpError"),
    ],
)
def test_an_import_from_above_or_from_beside_is_found(package: str, statement: str) -> None:
    assert len(list(wrong_imports(package, f"{package}.module", statement))) == 1


@pytest.mark.parametrize(
    ("package", "statement"),
    [
        ("mcp_wire", "import json, msgspec"),
        ("mcp_gen.core", "from mcp_wire.base import encode"),
        ("mcp_gen.core", "from . import envelope"),
        ("mcp_gen.session", "import asyncio"),
        ("mcp_gen.session", "from ..core import envelope"),
        ("mcp_gen.server", "from mcp_gen.transports.http_server.app import AsgiApp"),
        ("codegen", "import jinja2"),
    ],
)
def test_an_import_from_below_is_allowed(package: str, statement: str) -> None:
    assert list(wrong_imports(package, f"{package}.module", statement)) == []


@pytest.mark.parametrize(
    "snippet",
    [
        "newest = '2025-11-25'",
        "accepted = b'2024-11-05'",
        "print(f'at 2025-06-18: {what}')",
        "from mcp_wire.v2025_11_25 import Tool",
        "import mcp_wire.v2025_11_25.types",
        "from mcp_wire import v2024_11_05 as oldest",
        "made = mcp_wire.v2026_07_28.Tool",
        "def f(v2025_03_26): ...",
        "module = 'mcp_wire.v2025_03_26'",
    ],
)
def test_a_revision_named_by_its_date_is_found(snippet: str) -> None:
    assert len(list(source.dates(snippet))) == 1


def test_a_date_in_a_docstring_is_allowed() -> None:
    text = '"""Until 2025-11-25."""\ndef f():\n    """From 2026-07-28."""\n'
    assert list(source.dates(text)) == []


@pytest.mark.parametrize(
    "snippet",
    [
        "revision == newest",
        "oldest <= profile.revision",
        "stated_revision not in (None, asked)",
        "asked in (revision, other)",
        "params.protocol_version != asked",
        "version in offered",
        "REVISION == asked",
        "name is revision",
        "match revision:\n    case _: pass",
        "match caller.profile.protocol_version:\n    case _: pass",
    ],
)
def test_a_comparison_of_revisions_is_found(snippet: str) -> None:
    assert len(list(source.compared_revisions(snippet))) == 1


@pytest.mark.parametrize(
    "snippet",
    ["revision is None", "if revision: ...", "table.get(revision)", "name in revisions"],
)
def test_a_look_up_and_the_question_whether_there_is_a_revision_are_allowed(snippet: str) -> None:
    assert list(source.compared_revisions(snippet)) == []


@pytest.mark.parametrize(
    "snippet",
    [
        "name == 'tools/call'",
        "raise InvalidParams(f'tools/call: {error}')",
        "routes['initialize'] = route",
        "frame[b'ping']",
        "match name:\n    case 'ping': pass",
    ],
)
def test_a_method_name_is_found(snippet: str) -> None:
    assert len(list(method_names(snippet))) == 1


@pytest.mark.parametrize("snippet", ['"""Answers tools/call."""', "'initialized'", "pinger.ping()"])
def test_a_method_name_in_a_docstring_or_as_part_of_a_word_is_allowed(snippet: str) -> None:
    assert list(method_names(snippet)) == []


@pytest.mark.parametrize(
    "snippet",
    [
        "profile.get_stream",
        "self._profile.get_stream",
        "ctx.profile.get_stream",
        "remote_profile.get_stream",
        "mcp_wire.profile(revision).get_stream",
        "[p for p in profiles if profile(p).get_stream]",
    ],
)
def test_a_fact_that_is_read_from_a_profile_is_found(snippet: str) -> None:
    assert "get_stream" in {name for _, name in source.profile_facts(snippet)}


@pytest.mark.parametrize("snippet", ["session.get_stream", "profile.errors", "'profile.methods'"])
def test_what_is_called_like_a_fact_is_none(snippet: str) -> None:
    found = {name for _, name in source.profile_facts(snippet)}
    assert not {"get_stream", "methods"} & found


@pytest.mark.parametrize("folder", ["tests", "tests/server/tools"])
def test_a_folder_with_one_file_too_many_is_found(tmp_path: Path, folder: str) -> None:
    (tmp_path / folder).mkdir(parents=True)
    for number in range(TEST_FILES_PER_FOLDER + 1):
        (tmp_path / folder / f"test_{number}.py").touch()
    found = list(crowded_folders(tmp_path / "tests"))
    assert found == [f"{folder} holds {TEST_FILES_PER_FOLDER + 1} files"]


def test_a_full_folder_of_tests_may_have_an_init_file_data_and_folders(tmp_path: Path) -> None:
    (tmp_path / "tests/tools").mkdir(parents=True)
    for number in range(TEST_FILES_PER_FOLDER):
        (tmp_path / f"tests/test_{number}.py").touch()
    for name in ("__init__.py", "rows.toml", "tools/test_calls.py"):
        (tmp_path / "tests" / name).touch()
    assert list(crowded_folders(tmp_path / "tests")) == []
