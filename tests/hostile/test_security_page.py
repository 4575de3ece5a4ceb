"""Checks of docs/security.md: the tests that it links exist, its defaults are those of the code."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from mcp_gen import (
    Client,
    ClientManager,
    ConnectionLimits,
    FileResources,
    PeerLimits,
    Server,
    SessionState,
    Tasks,
    auth,
)
from mcp_gen.auth.fetching.caching import AnswerCache
from mcp_gen.auth.fetching.fetcher import Fetcher
from mcp_gen.client.requests.settings import ClientSettings
from mcp_gen.cluster import Redis
from mcp_gen.core.stores.events import MemoryEventStore
from mcp_gen.core.stores.sessions import MemorySessionStore
from mcp_gen.core.stores.state import MemoryStateStore
from mcp_gen.server.serving.http import HttpOptions
from mcp_gen.session.http_server.sessions import SessionLimits
from mcp_gen.session.kernel.limits import Limits
from tests.hostile.work.limits.limit import Limit
from tests.hostile.work.test_limits import AREAS

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/security.md"
HOSTILE = ROOT / "tests/hostile"
CLASSES = {
    "Work and memory that a peer can cause": "work",
    "Who may": "who",
    "Authorization": "auth",
    "Right at every revision": "dates",
    "Ending well": "ending",
}
"""Sections of the page, with the folder of their tests."""
TESTED = (*CLASSES, "Defaults")
"""Sections whose rows each link a test."""

OWNERS: dict[str, Callable[..., Any]] = {
    "PeerLimits": PeerLimits,
    "ConnectionLimits": ConnectionLimits,
    "SessionLimits": SessionLimits,
    "Tasks": Tasks,
    "Server": Server,
    "server.asgi": Server.asgi,
    "server.run": Server.run,
    "Client": Client,
    "client.connect": Client.connect,
    "ClientManager": ClientManager,
    "FileResources": FileResources,
    "MemoryEventStore": MemoryEventStore,
    "MemorySessionStore": MemorySessionStore,
    "MemoryStateStore": MemoryStateStore,
    "SessionState": SessionState,
    "ResourceServer": auth.ResourceServer,
    "OAuthProxy": auth.OAuthProxy,
    "MemoryProxyStore": auth.MemoryProxyStore,
    "JwtVerifier": auth.JwtVerifier,
    "KeyTimes": auth.KeyTimes,
    "IntrospectionVerifier": auth.IntrospectionVerifier,
    "DpopChecks": auth.DpopChecks,
    "NonceIssuer": auth.NonceIssuer,
    "SeenProofs": auth.SeenProofs,
    "OAuth": auth.OAuth,
    "Fetcher": Fetcher,
    "AnswerCache": AnswerCache,
    "Redis": Redis,
}
"""Classes and functions that take the options of the page."""
BESIDE = {
    ("SessionLimits", "max_sessions"): ("server.asgi", "max_sessions"),
    ("SessionLimits", "idle_s"): ("server.asgi", "session_idle_s"),
    ("SessionLimits", "lifetime_s"): ("server.asgi", "session_lifetime_s"),
}
"""Fields that users set as another option."""
UNITS = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30}

_LINK = re.compile(r"\[([^\]]+)\]\(\.\./([^)\s]+)\)")
_CELLS = re.compile(r"(?<!\\)\|")
_OPTION = re.compile(r"`([\w.]+)\((\w+)=\)`")


class Link(NamedTuple):
    """Link to a file of the repository."""

    text: str
    path: str


# --- the page ---


@cache
def sections() -> dict[str, list[list[str]]]:
    """Return the rows of the tables in each section, as cells."""
    found: dict[str, list[list[str]]] = {}
    rows: list[list[str]] = []
    for line in PAGE.read_text("utf-8").splitlines():
        if line.startswith("## "):
            rows = found[line[3:]] = []
        elif line.startswith("|") and not line.startswith("|---"):
            rows.append([cell.strip() for cell in _CELLS.split(line)[1:-1]])
    return {name: rows[1:] for name, rows in found.items()}


def links(text: str) -> list[Link]:
    return [Link(*found) for found in _LINK.findall(text)]


@cache
def page_links() -> list[Link]:
    return links(PAGE.read_text("utf-8"))


def is_test(link: Link) -> bool:
    """Return True for a link to one test: a function, a limit, or a request of the corpus."""
    return link.path.startswith("tests/") and Path(link.path).suffix in (".py", ".toml")


def exists(link: Link) -> bool:
    """Return True if the file of a link has the test that its text names."""
    path = ROOT / link.path
    if not path.is_file():
        return False
    if path.suffix == ".toml":
        return link.text in {row["id"] for row in tomllib.loads(path.read_text("utf-8"))["request"]}
    if path.parent == HOSTILE / "work/limits":
        return link in limits()
    return f"test_{link.text.replace(' ', '_')}" in names(path)


@cache
def names(path: Path) -> set[str]:
    """Return the names of the test functions of a file."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {one.name for one in ast.walk(ast.parse(path.read_bytes())) if isinstance(one, kinds)}


@cache
def limits() -> set[Link]:
    """Return the rows of tests/hostile/work/limits, as links."""

    paths = [Path(inspect.getfile(area)).relative_to(ROOT) for area in AREAS]
    rows: list[list[Limit]] = [area.LIMITS for area in AREAS]
    return {
        Link(one.name, str(path)) for path, area in zip(paths, rows, strict=True) for one in area
    }


# --- tests of the tests ---


def test_the_page_has_a_section_for_each_class_of_faults() -> None:
    folders = {path.parent.name for path in HOSTILE.glob("*/test_*.py")}
    assert set(CLASSES.values()) == folders
    assert set(TESTED) <= set(sections())
    assert all(sections()[name] for name in TESTED)


def test_every_row_links_a_test() -> None:
    rows = [row for name in TESTED for row in sections()[name]]
    assert len(rows) > 100
    assert [row[0] for row in rows if not any(is_test(link) for link in links(row[-1]))] == []


def test_every_test_that_is_linked_exists() -> None:
    assert [link for link in page_links() if is_test(link) and not exists(link)] == []


def test_every_limit_that_is_tested_is_named() -> None:
    assert limits() - set(page_links()) == set()


@pytest.mark.parametrize(("section", "folder"), CLASSES.items(), ids=CLASSES.values())
def test_every_module_of_a_class_is_linked(section: str, folder: str) -> None:
    linked = {link.path for link in page_links()}
    modules = {str(one.relative_to(ROOT)) for one in (HOSTILE / folder).glob("test_*.py")}
    # Its rows are linked one by one.
    modules -= {"tests/hostile/work/test_limits.py"}
    assert modules - linked == set()
    own = {link.path for row in sections()[section] for link in links(row[-1])}
    assert modules & own


# --- defaults ---


class Default(NamedTuple):
    """Row of the table of defaults."""

    of: str
    """Owner of an option, or path of the module of a constant."""
    name: str
    value: float | None


@cache
def defaults() -> dict[tuple[str, str], Default]:
    """Return the rows of the table of defaults, by owner and name."""
    found: dict[tuple[str, str], Default] = {}
    for limit, default, unit, *_ in sections()["Defaults"]:
        option, constant = _OPTION.fullmatch(limit), links(limit)
        of, name = option.groups() if option else (constant[0].path, constant[0].text)
        assert (of, name) not in found
        found[of, name] = Default(of, name, number(default, unit))
    return found


def number(text: str, unit: str) -> float | None:
    """Return a number of the page in the unit of the code; None for `none`."""
    if text == "none":
        return None
    return float(text.replace(",", "")) * UNITS.get(unit.split()[0], 1)


def in_code(default: Default) -> float | None:
    """Return the default that the code has."""
    if default.of in OWNERS:
        option: float | None = (
            inspect.signature(OWNERS[default.of]).parameters[default.name].default
        )
        return option
    module = importlib.import_module(default.of.removesuffix(".py").replace("/", "."))
    constant: float = getattr(module, default.name)
    return constant


def numbers(owner: Callable[..., Any]) -> Iterator[str]:
    """Yield the parameters that are limits by their names or defaults."""
    for name, one in inspect.signature(owner).parameters.items():
        numeric = type(one.default) in (int, float)
        if numeric or (one.default is None and re.search(r"^max_|_s$|_bytes$|_size$", name)):
            yield name


def test_every_default_is_that_of_the_code() -> None:
    assert len(defaults()) > 80
    told = {key: one.value for key, one in defaults().items()}
    assert told == {key: in_code(one) for key, one in defaults().items()}


@pytest.mark.parametrize(
    "owner",
    [
        "PeerLimits",
        "ConnectionLimits",
        "SessionLimits",
        "Tasks",
        "Server",
        "server.asgi",
        "Client",
        "SessionState",
        "ResourceServer",
        "OAuthProxy",
        "MemoryProxyStore",
        "KeyTimes",
        "IntrospectionVerifier",
        "DpopChecks",
        "NonceIssuer",
        "SeenProofs",
        "Fetcher",
        "AnswerCache",
        "Redis",
    ],
)
def test_every_limit_that_users_can_set_has_its_row(owner: str) -> None:
    wanted = {BESIDE.get((owner, name), (owner, name)) for name in numbers(OWNERS[owner])}
    if owner == "SessionLimits":
        wanted.add(("SessionLimits", "makes_room_after_s"))
    assert wanted
    assert wanted - set(defaults()) == set()


@pytest.mark.parametrize(
    ("settings", "owner"),
    [(Limits, "Server"), (ClientSettings, "Client"), (HttpOptions, "server.asgi")],
    ids=["server", "client", "http"],
)
def test_the_options_hand_on_the_defaults_of_the_settings(
    settings: type[msgspec.Struct], owner: str
) -> None:
    # All fields have a default.
    of_settings = dict(zip(settings.__struct_fields__, settings.__struct_defaults__, strict=True))
    same = {name: one for (of, name), one in defaults().items() if of == owner}
    shared = same.keys() & of_settings.keys()
    assert len(shared) > 4
    assert {name: same[name].value for name in shared} == {n: of_settings[n] for n in shared}


@pytest.mark.parametrize(("field", "option"), BESIDE.items(), ids=lambda one: one[1])
def test_the_limits_of_sessions_are_those_of_the_app(
    field: tuple[str, str], option: tuple[str, str]
) -> None:
    assert in_code(Default(*field, None)) == defaults()[option].value


# --- the rest of the page ---


def test_the_program_of_the_page_runs() -> None:
    programs = re.findall(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.M | re.S)
    assert len(programs) == 1
    found: dict[str, Any] = {}
    exec(programs[0], found)
    assert found["app"].path == "/mcp"


@pytest.mark.parametrize("page", ["README.md", "SECURITY.md"])
def test_the_page_is_found(page: str) -> None:
    assert "](docs/security.md" in (ROOT / page).read_text("utf-8")
