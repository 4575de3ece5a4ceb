"""Public API: exported names and import cost."""

from __future__ import annotations

import pydoc
import re
from enum import Enum
from importlib import import_module
from inspect import getdoc, isfunction, signature
from typing import Any, get_overloads

import pytest

import mcp_gen
import mcp_wire
from tests.wire.test_imports import imported_by

HEAVY = {
    "httpx",
    "httpx2",
    "jsonschema_rs",
    "pydantic",
    "rich",
    "starlette",
    "typer",
    "uvicorn",
    "uvloop",
}


def roots(modules: set[str]) -> set[str]:
    return {name.partition(".")[0] for name in modules}


UNNAMED_PARAMETERS = frozenset(
    {
        "Change",
        "ClientManager",
        "ClientSession",
        "Media",
        "TaskState",
        "Violation",
    }
)
"""Public names with parameters that their docstrings do not name yet; it must only shrink."""

MAX_UNNAMED = 2
"""A public method with at most this many parameters need not name them."""


def unnamed_parameters(one: object) -> list[str]:
    """Return the parameters of a class or function that its docstrings do not name."""
    if not isinstance(one, type):
        return _unnamed(getattr(one, "__name__", ""), one, getdoc(one), MAX_UNNAMED)
    # Nobody makes instances of a Protocol: what it names is how its instances are called.
    made: Any = one.__call__ if getattr(one, "_is_protocol", False) else one
    is_made = not issubclass(one, BaseException | Enum)
    found = _unnamed(one.__name__, made, getdoc(one), 0) if is_made else []
    for name in dir(one):
        home = next((base for base in one.__mro__ if name in vars(base)), object)
        method = getattr(one, name)
        ours = home.__module__.partition(".")[0] == one.__module__.partition(".")[0]
        if ours and callable(method) and not name.startswith("_"):
            found += _unnamed(name, method, getdoc(method), MAX_UNNAMED)
    return found


def _unnamed(name: str, function: Any, text: str | None, allowed: int) -> list[str]:
    ways = get_overloads(function) if isfunction(function) else []
    found = {one for way in ways or [function] for one in signature(way).parameters}
    names = sorted(one for one in found if one != "self" and not one.startswith("_"))
    missing = [one for one in names if not re.search(rf"\b{one}\b", text or "")]
    return [f"{name}: {one}" for one in missing] if len(names) > allowed else []


def test_the_public_names_are_sorted() -> None:
    assert mcp_gen.__all__ == sorted(mcp_gen.__all__)


@pytest.mark.parametrize("name", mcp_gen.__all__)
def test_a_public_name_can_be_imported(name: str) -> None:
    namespace: dict[str, object] = {}
    exec(f"from mcp_gen import {name}", namespace)
    assert getattr(namespace[name], "__name__", None) == name


@pytest.mark.parametrize("name", mcp_gen.__all__)
def test_a_public_name_is_documented(name: str) -> None:
    assert getattr(mcp_gen, name).__doc__


@pytest.mark.parametrize("name", mcp_gen.__all__)
def test_help_of_a_public_name_works(name: str) -> None:
    assert name in pydoc.render_doc(getattr(mcp_gen, name))


@pytest.mark.parametrize("name", sorted(set(mcp_gen.__all__) - UNNAMED_PARAMETERS))
def test_a_public_name_documents_its_parameters(name: str) -> None:
    assert unnamed_parameters(getattr(mcp_gen, name)) == []


@pytest.mark.parametrize("name", sorted(UNNAMED_PARAMETERS))
def test_a_name_whose_parameters_are_documented_by_now_is_checked(name: str) -> None:
    assert unnamed_parameters(getattr(mcp_gen, name)), f"take {name} out of UNNAMED_PARAMETERS"


def test_a_parameter_without_documentation_is_found() -> None:
    class Clock:
        """Clock that shows `hours`.

        Args:
            seconds: Show seconds too.
        """

        def __init__(self, hours: int, seconds: bool, zone: str) -> None: ...

        def set(self, hour: int) -> None: ...

        def set_all(self, hour: int, minute: int, second: int) -> None:
            """Set the time.

            Args:
                hour: From 0 to 23.
            """

    assert unnamed_parameters(Clock) == ["Clock: zone", "set_all: minute", "set_all: second"]


def test_a_star_import_brings_the_public_names_and_no_others() -> None:
    namespace: dict[str, object] = {}
    exec("from mcp_gen import *", namespace)
    assert namespace.keys() - {"__builtins__"} == set(mcp_gen.__all__)


def test_nothing_else_is_listed() -> None:
    assert dir(mcp_gen) == mcp_gen.__all__


@pytest.mark.parametrize(
    "package", ["mcp_gen", "mcp_gen.auth", "mcp_gen.cluster", "mcp_gen.compat", "mcp_wire"]
)
def test_a_name_that_is_not_public_is_an_attribute_error_that_says_so(package: str) -> None:
    with pytest.raises(AttributeError, match=f"'{package}' has no attribute 'Kernel'"):
        _ = import_module(package).Kernel


def test_the_types_are_those_of_the_newest_revision() -> None:
    from mcp_gen import types

    newest = mcp_wire.types(mcp_wire.LATEST)
    assert all(getattr(types, name) is getattr(newest, name, None) for name in types.__all__)
    assert "Tool" in types.__all__


def test_every_error_has_one_root() -> None:
    errors = [
        value
        for value in (getattr(mcp_gen, name) for name in mcp_gen.__all__)
        if isinstance(value, type) and issubclass(value, BaseException)
    ]
    assert len(errors) > 10
    assert all(issubclass(error, mcp_gen.McpGenError) for error in errors)


@pytest.mark.parametrize(
    "statement",
    [
        "import mcp_gen",
        "from mcp_gen import Server",
        "from mcp_gen import Client",
        "import mcp_wire",
    ],
)
def test_an_import_loads_nothing_heavy(statement: str) -> None:
    assert roots(imported_by(statement)) & HEAVY == set()


def test_importing_the_package_loads_no_revision() -> None:
    assert [name for name in imported_by("import mcp_gen") if name.startswith("mcp_wire.v")] == []


def test_a_server_loads_no_client() -> None:
    modules = imported_by("from mcp_gen import Server")
    assert [name for name in modules if name.startswith("mcp_gen.client")] == []


def test_a_server_loads_no_transport_before_it_serves() -> None:
    modules = imported_by("from mcp_gen import Server; Server('s')")
    assert [name for name in modules if name.startswith("mcp_gen.transports.")] == []


def test_a_client_loads_no_server() -> None:
    modules = imported_by("from mcp_gen import Client")
    assert [name for name in modules if name.startswith("mcp_gen.server")] == []


def test_a_client_loads_no_http_before_it_needs_it() -> None:
    modules = imported_by(
        "from mcp_gen.client.connecting import targets; from mcp_gen import Client; Client('c')"
    )
    assert {"httpx2", "httpcore2", "h11"} & roots(modules) == set()
    assert [name for name in modules if name.startswith("mcp_gen.transports.http_")] == []
