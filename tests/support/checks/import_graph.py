"""Import graph of a package: modules, arrows, circles and rooms, by syntax tree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypeAlias

from tests.support.checks import source

__all__ = ["Graph", "circles", "import_graph", "module_files", "room_graph", "room_of"]

Graph: TypeAlias = Mapping[str, frozenset[str]]
"""Imports of each module, or of each room. Every name has an entry."""


def module_files(root: Path, package: str) -> dict[str, Path]:
    """Return the file of every module of a package, by dotted name."""
    return {
        ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): path
        for path in sorted((root / package).rglob("*.py"))
    }


def import_graph(texts: Mapping[str, str]) -> Graph:
    """Return who imports whom, imports for type checkers and inside functions included.

    Args:
        texts: The source of each module, by dotted name.
    """
    return {name: frozenset(_imported(name, text, texts)) for name, text in texts.items()}


def circles(graph: Graph) -> list[frozenset[str]]:
    """Return the strongly connected components of more than one name."""
    found: list[frozenset[str]] = []
    left = set(graph)
    backwards: dict[str, set[str]] = {name: set() for name in graph}
    for name, targets in graph.items():
        for target in targets:
            backwards[target].add(name)
    while left:
        one = left.pop()
        component = (_reached(one, graph) & _reached(one, backwards)) | {one}
        left -= component
        if len(component) > 1:
            found.append(frozenset(component))
    return found


def room_of(module: str, packages: Iterable[str]) -> str:
    """Return the folder that a module stands in; a module of a layer's top is a room of its own."""
    if module in packages:
        return module
    folder = module.rpartition(".")[0]
    return module if folder.count(".") == 1 and _has_rooms(folder, packages) else folder


def room_graph(graph: Graph, packages: Iterable[str]) -> Graph:
    """Return the arrows between rooms."""
    packages = set(packages)
    rooms: dict[str, set[str]] = {}
    for module, targets in graph.items():
        room = room_of(module, packages)
        rooms.setdefault(room, set()).update(room_of(target, packages) for target in targets)
    return {room: frozenset(targets - {room}) for room, targets in rooms.items()}


def _imported(module: str, text: str, known: Mapping[str, str]) -> Iterable[str]:
    for _, name in source.imports(text, module):
        # `from package import name`: the module of that name, or the package that defines it.
        target = name if name in known else name.rpartition(".")[0]
        if target in known and target != module:
            yield target


def _has_rooms(folder: str, packages: Iterable[str]) -> bool:
    return any(one.startswith(f"{folder}.") for one in packages)


def _reached(start: str, graph: Mapping[str, Iterable[str]]) -> set[str]:
    seen: set[str] = set()
    todo = [start]
    while todo:
        for target in graph[todo.pop()]:
            if target not in seen:
                seen.add(target)
                todo.append(target)
    return seen
