"""The rooms of the runtime, held by syntax tree: circles, floors, sizes, names."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

from tests.support.checks.import_graph import (
    Graph,
    circles,
    import_graph,
    module_files,
    room_graph,
    room_of,
)

ROOT = Path(__file__).parents[1]
FILES = module_files(ROOT, "mcp_gen")
TEXTS = {name: path.read_text("utf-8") for name, path in FILES.items()}
PACKAGES = frozenset(name for name, path in FILES.items() if path.name == "__init__.py")

# The public map names everything, and everything may name it: it is no room.
PUBLIC_MAP = frozenset(
    {"mcp_gen", "mcp_gen.apps", "mcp_gen.content", "mcp_gen.middleware", "mcp_gen.types"}
)

ALLOWED_CIRCLES = [frozenset({"mcp_gen.server.context.context", "mcp_gen.server.context.blocking"})]
"""`ctx.blocking` gives a BlockingContext, which holds a Context; both stand in one room."""

FLOORS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "mcp_gen.core": (
        ("errors", "loose_json", "json_size", "code_loading"),
        (
            "checks",
            "peer_values",
            "error_groups",
            "revisions",
            "bounds",
            "peer_limits",
            "redaction",
            "mistakes",
        ),
        ("envelope",),
        ("stores", "text_encoding", "transport", "projection"),
        ("relay", "protocol_state"),
        ("extensions",),
    ),
    "mcp_gen.schemas": (
        ("doubts", "messages", "patterns"),
        ("vetting",),
        ("schema",),
        ("process", "worker"),
    ),
    "mcp_gen.contracts": (
        ("subsumption",),
        ("lock", "annotations", "wording"),
        ("changes",),
        ("approval",),
    ),
    "mcp_gen.values": (
        ("custom_types", "pydantic_types"),
        ("json_overlap", "plain_defaults"),
        ("json_types",),
        ("field_texts",),
        ("json_schema",),
        ("reading", "unserializable"),
    ),
    "mcp_gen.session": (
        ("messages",),
        ("peer",),
        ("kernel",),
        ("duplex",),
        ("http_server", "http_client"),
        ("cluster",),
    ),
    "mcp_gen.transports": (
        ("lines", "environment", "process_tree", "health"),
        ("streams",),
        ("command", "memory", "message_log", "socket_client", "stdio"),
        ("http_server", "http_client"),
    ),
    "mcp_gen.auth": (
        ("flows",),
        ("proofs", "stores"),
        ("fetching",),
        ("browser", "verifiers"),
        ("client", "server"),
        ("configuring",),
        ("proxy",),
    ),
    "mcp_gen.cluster": (
        ("signals",),
        ("memory", "redis"),
    ),
    "mcp_gen.testing": (("stores",),),
    "mcp_gen.server": (
        ("context", "content"),
        ("functions", "listing", "input_requests", "notifications"),
        ("own_calls", "session_state"),
        ("tools", "resources", "request_services"),
        ("transforms", "tasks", "apps", "prompts"),
        ("tasks.nodes",),
        ("tasks.engine",),
        ("api", "dispatch", "relaying"),
        ("mounting",),
        ("sharing",),
        ("serving", "middleware"),
        ("server",),
    ),
    "mcp_gen.client": (
        ("requests",),
        ("tools", "subscriptions"),
        ("tasks",),
        ("session",),
        ("callbacks",),
        ("connecting",),
        ("client",),
    ),
    "mcp_gen.compat": (
        ("known_extensions",),
        ("requirements", "frame_check", "method_names", "json_values"),
        ("patience", "recording", "transcript"),
        ("transcript_files",),
        ("report", "wire"),
        ("reference.http_client",),
        ("reference",),
        ("reference.http",),
        ("views",),
        ("checks", "zoo"),
        ("scenarios",),
        ("checks.servers", "checks.clients", "scenarios.core", "zoo.servers", "zoo.clients"),
        (
            "checks.clients.asking",
            "checks.servers.base",
            "checks.servers.features",
            "checks.servers.tasks",
            "scenarios.authorization",
            "zoo.clients.asking",
            "zoo.clients.authorization",
            "zoo.servers.base",
            "zoo.servers.features",
            "zoo.servers.tasks",
        ),
        ("checks.clients.tasks", "scenarios.asking", "zoo.clients.tasks"),
        ("scenarios.tasks",),
        ("doctor", "promises", "bridge"),
        ("recordings", "stubs"),
        ("recordings.replaying", "recordings.taps"),
        ("matrix",),
        ("plugin",),
        ("demo",),
    ),
    "mcp_gen.cli": (
        ("logins",),
        ("console",),
        ("accounts", "running"),
        ("commands",),
        ("reloaded",),
        ("command_group",),
        ("app", "reloading"),
    ),
}
"""The floors of each layer, from the ground up. A room imports rooms of lower floors alone."""

SIDEWAYS = {
    ("mcp_gen.cli.commands", "mcp_gen.cli.reloading"): "run starts the reloading process",
}
"""Arrows inside a floor or up a floor that are meant, each with its reason."""

STATE_OF_OTHERS = {
    "mcp_gen.server.serving.api.ServingApi": "the parts are made by Server, its only subclass",
    "mcp_gen.session.peer.session.Session": "the loop is that of the connection it is mixed into",
}
"""Mixins with attributes that another class sets, each with its reason."""

MODULES_PER_ROOM = 14
LINES_PER_MODULE = 420
"""Lines of code and comments: docstrings tell arguments, results and errors, and may be long."""
SHORT = 30
SHORT_MODULES = {
    "mcp_gen.content": "public name of the content helpers",
    "mcp_gen.types": "public name of the newest types",
    "mcp_gen.session.peer.log_level": "loaded only by programs that name a level",
    "mcp_gen.core.extensions.names": "shared by the registry and by callbacks of the client",
    "mcp_gen.compat.checks.servers.frames": "what it shares with clients is in checks.frames",
    "mcp_gen.server.tasks.plain_protocol": "the protocol of revisions that have no tasks",
}
"""Modules of fewer than 30 lines, each with its reason."""

NAMED_BY = {
    "mcp_gen.server.server": ("mcp_gen.cli", "mcp_gen.compat", "mcp_gen.manager"),
    "mcp_gen.client.session.session": (
        "mcp_gen.client.session",
        "mcp_gen.client.callbacks",
        "mcp_gen.client.connecting",
        "mcp_gen.client.client",
        "mcp_gen.manager",
        "mcp_gen.cli",
        "mcp_gen.compat",
    ),
}
"""Rooms that may import the two classes that everything could be hung on."""


def upward(graph: Mapping[str, frozenset[str]], layer: str) -> Iterator[tuple[str, str]]:
    """Yield the arrows of a layer that do not lead to a lower floor."""
    floor = {
        f"{layer}.{room}": number for number, rooms in enumerate(FLOORS[layer]) for room in rooms
    }
    for room, targets in graph.items():
        for target in targets:
            inside = room.startswith(f"{layer}.") and target.startswith(f"{layer}.")
            if inside and floor[target] >= floor[room]:
                yield room, target


def class_names(texts: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the modules that define each class name."""
    found: dict[str, list[str]] = defaultdict(list)
    for module, text in texts.items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(module)
    return found


def code_lines(text: str) -> int:
    """Return the number of lines of a module that are not part of a docstring."""
    strings = (
        node.value
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    )
    documented = sum((one.end_lineno or one.lineno) - one.lineno + 1 for one in strings)
    return len(text.splitlines()) - documented


def silent_local_imports(text: str) -> Iterator[int]:
    """Yield the lines of imports in functions that no comment explains.

    A comment above the first of several imports in a row explains them all, as does one above
    the `if` or `try` that they stand in.
    """
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for inner in ast.walk(node):
            if isinstance(inner, ast.Import | ast.ImportFrom) and not _explained(
                lines, inner.lineno - 1
            ):
                yield inner.lineno


def _explained(lines: list[str], at: int) -> bool:
    while at >= 0:
        line = lines[at].strip()
        if "#" in line:
            return True
        if not line.startswith(("from ", "import ", "if ", "try:", "else:", "elif ", ")")) and not (
            line.endswith(",") or line == "("
        ):
            above = lines[at - 1].strip() if at else ""
            return above.startswith("#") and line.startswith("def ")
        at -= 1
    return False


def stateful_mixins(texts: Mapping[str, str]) -> Iterator[str]:
    """Yield classes that are used as a second base and declare attributes they do not set."""
    classes = {
        node.name: (module, node)
        for module, text in texts.items()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ClassDef)
    }
    mixed_in = {_base_name(base) for _, node in classes.values() for base in node.bases[1:]}
    for name in sorted(mixed_in & classes.keys()):
        module, node = classes[name]
        # Faces and handlers name the registries that Server and Handlers set.
        named = module.startswith("mcp_gen.server.api.") or name.endswith("Handlers")
        if named or _is_protocol(node) or f"{module}.{name}" in STATE_OF_OTHERS:
            continue
        declared = {
            one.target.id
            for one in node.body
            if isinstance(one, ast.AnnAssign)
            and isinstance(one.target, ast.Name)
            and one.value is None
            and "ClassVar" not in ast.unparse(one.annotation)
        }
        missing = declared - _attributes_set(node)
        if missing:
            yield f"{module}.{name}: {', '.join(sorted(missing))}"


def _base_name(base: ast.expr) -> str:
    while isinstance(base, ast.Subscript):
        base = base.value
    return base.id if isinstance(base, ast.Name) else getattr(base, "attr", "")


def _is_protocol(node: ast.ClassDef) -> bool:
    return "Protocol" in map(_base_name, node.bases)


def _attributes_set(node: ast.ClassDef) -> set[str]:
    return {
        one.attr
        for one in ast.walk(node)
        if isinstance(one, ast.Attribute)
        and isinstance(one.ctx, ast.Store)
        and isinstance(one.value, ast.Name)
        and one.value.id == "self"
    }


# Read by the tests, not when they are collected, which each process of a run does.
@cache
def graph() -> Graph:
    """Return who imports whom in the runtime, without its public map."""
    return {
        name: targets - {"mcp_gen"}
        for name, targets in import_graph(TEXTS).items()
        if name not in PUBLIC_MAP
    }


@cache
def room_arrows() -> Graph:
    """Return the arrows between the rooms of the runtime."""
    return room_graph(graph(), PACKAGES)


def importers(target: str, graph: Mapping[str, frozenset[str]]) -> Iterable[str]:
    """Return the modules that import one."""
    return (module for module, targets in graph.items() if target in targets)


def test_no_modules_import_each_other_but_the_context_and_its_blocking_twin() -> None:
    assert circles(graph()) == ALLOWED_CIRCLES


def test_no_rooms_import_each_other() -> None:
    assert circles(room_arrows()) == []


@pytest.mark.parametrize("layer", FLOORS)
def test_a_room_imports_rooms_of_lower_floors_alone(layer: str) -> None:
    assert sorted(set(upward(room_arrows(), layer)) - SIDEWAYS.keys()) == []


def test_every_arrow_that_is_excused_is_there() -> None:
    assert [pair for pair in SIDEWAYS if pair[1] not in room_arrows()[pair[0]]] == []


def test_every_room_has_a_floor() -> None:
    known = {f"{layer}.{room}" for layer, rooms in FLOORS.items() for one in rooms for room in one}
    layers = {name for name in PACKAGES if name.count(".") == 1}
    flat = {"mcp_gen.compat", "mcp_gen.manager"}
    assert {room for room in room_arrows() if room not in layers | flat} - known == set()


def test_no_room_has_more_than_fourteen_modules() -> None:
    rooms: dict[str, int] = defaultdict(int)
    for name in FILES.keys() - PACKAGES:
        rooms[name.rpartition(".")[0]] += 1
    assert {
        room: count
        for room, count in rooms.items()
        if count > MODULES_PER_ROOM and room != "mcp_gen.cli.commands"
    } == {}


def test_no_module_has_more_than_420_lines_beside_its_docstrings() -> None:
    lengths = {name: code_lines(text) for name, text in TEXTS.items()}
    assert {name: n for name, n in lengths.items() if n > LINES_PER_MODULE} == {}


def test_a_short_module_has_a_reason() -> None:
    short = {
        name
        for name, text in TEXTS.items()
        if name not in PACKAGES and len(text.splitlines()) < SHORT
    }
    assert short == SHORT_MODULES.keys()


@pytest.mark.parametrize("target", NAMED_BY)
def test_the_public_classes_are_named_above_alone(target: str) -> None:
    allowed = NAMED_BY[target]
    wrong = [
        module
        for module in importers(target, graph())
        if not any(f"{module}.".startswith(f"{one}.") for one in allowed)
    ]
    assert wrong == []


def test_no_two_classes_have_one_name() -> None:
    assert {name: homes for name, homes in class_names(TEXTS).items() if len(homes) > 1} == {}


def test_an_import_in_a_function_says_what_it_saves() -> None:
    silent = [
        f"{FILES[name].relative_to(ROOT)}:{line}"
        for name, text in TEXTS.items()
        for line in silent_local_imports(text)
    ]
    assert silent == []


def test_a_mixin_holds_no_state() -> None:
    assert list(stateful_mixins(TEXTS)) == []


# --- The checks themselves: each must be able to fail ---


def test_a_circle_is_found_through_a_type_checking_import_and_a_local_one() -> None:
    texts = {
        "p.a": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from p.b import B\n",
        "p.b": "def late():\n    import p.c\n",
        "p.c": "from p import a\n",
        "p.d": "from p import a\n",
    }
    assert circles(import_graph(texts)) == [frozenset({"p.a", "p.b", "p.c"})]


def test_a_circle_of_rooms_is_found_where_no_modules_import_each_other() -> None:
    graph = {
        "p.x.one": frozenset({"p.y.one"}),
        "p.y.one": frozenset[str](),
        "p.y.two": frozenset({"p.x.two"}),
        "p.x.two": frozenset[str](),
    }
    assert circles(graph) == []
    assert circles(room_graph(graph, ["p", "p.x", "p.y"])) == [frozenset({"p.x", "p.y"})]


@pytest.mark.parametrize(
    ("room", "target"),
    [
        ("mcp_gen.server.context", "mcp_gen.server.tools"),
        ("mcp_gen.server.tools", "mcp_gen.server.resources"),
        ("mcp_gen.server.serving", "mcp_gen.server.server"),
        ("mcp_gen.session.peer", "mcp_gen.session.kernel"),
    ],
)
def test_an_arrow_upwards_or_sideways_is_found(room: str, target: str) -> None:
    layer = room.rpartition(".")[0]
    assert list(upward({room: frozenset({target})}, layer)) == [(room, target)]


def test_a_module_of_a_layers_top_is_a_room_of_its_own() -> None:
    assert room_of("mcp_gen.server.server", PACKAGES) == "mcp_gen.server.server"
    assert room_of("mcp_gen.manager.catalog", PACKAGES) == "mcp_gen.manager"


def test_docstrings_are_no_code() -> None:
    assert code_lines('"""One.\n\nTwo.\n"""\nx = 1\n"""Three."""\n') == 1


def test_a_class_name_that_stands_twice_is_found() -> None:
    texts = {"p.a": "class One: ...\n", "p.b": "class One: ...\nclass Two: ...\n"}
    assert class_names(texts)["One"] == ["p.a", "p.b"]


@pytest.mark.parametrize(
    "snippet",
    [
        "def f():\n    import rich\n",
        "def f():\n    x = 1\n    from a import b\n    return b\n",
        "async def f():\n    if x:\n        import rich\n",
    ],
)
def test_a_silent_import_in_a_function_is_found(snippet: str) -> None:
    assert len(list(silent_local_imports(snippet))) == 1


@pytest.mark.parametrize(
    "snippet",
    [
        "import rich\n",
        "def f():\n    # Loaded when it is used.\n    import rich\n    import typer\n",
        "def f():\n    import rich  # loaded when it is used\n",
        "def f():\n    # Most have none.\n    if x:\n        import rich\n",
    ],
)
def test_an_import_that_says_what_it_saves_is_allowed(snippet: str) -> None:
    assert list(silent_local_imports(snippet)) == []


def test_a_mixin_with_state_that_another_class_sets_is_found() -> None:
    text = "class Mixin:\n    held: int\nclass Base: ...\nclass Both(Base, Mixin): ...\n"
    assert list(stateful_mixins({"p.a": text})) == ["p.a.Mixin: held"]
