"""Vets JSON Schemas: which may be compiled and checked in this process, and at what cost.

One walk over the parts that a value can reach, linear in the size of the schema, and bounded.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from typing import Any, NamedTuple, cast
from urllib.parse import unquote

import msgspec

from mcp_gen.schemas.patterns import MAX_PATTERN_WEIGHT, pattern_weight

__all__ = ["MAX_SUBSCHEMAS", "Vetted", "vet"]

MAX_SCHEMA_BYTES = 256 * 1024
"""Longest schema, as JSON, that is compiled in this process."""
MAX_SUBSCHEMAS = 2_000
"""Most subschemas of a schema that is compiled in this process: they take up to 40 microseconds."""
MAX_DEPTH = 64
"""Most schemas in each other of a schema that is compiled in this process."""
MAX_PATHS = 4_000
"""Most subschemas that may apply to one part of a value. References multiply them."""
MAX_ALL_PATTERNS = 2 * MAX_PATTERN_WEIGHT
"""Greatest weight of all patterns of a schema that is compiled in this process."""

_UNEVALUATED = ("unevaluatedItems", "unevaluatedProperties")
_UNEVALUATED_FACTOR = 4
"""A subschema with `unevaluated*` evaluates what applies in place again, to see what it covers."""
_OVERLAP_FACTOR = 16
"""For parts of a recursive schema that apply beside the recursion, some levels deep."""
_FRACTION_COST = 500
"""Cost of `multipleOf` with a fraction: exact arithmetic."""
_MANY = 10**9
_DYNAMIC = ("$dynamicRef", "$recursiveRef")


class Vetted(NamedTuple):
    """Verdict about a schema.

    Attributes:
        reason: Why it is not compiled in this process; empty if it may be.
        work: Cost of checking one byte of a value, in subschemas.
        explains: The error text of a wrong value takes no more work than the check.
        recursive: The schema refers to itself; its error texts can be as large as the value to
            the power of its depth.
    """

    reason: str
    work: int
    explains: bool
    recursive: bool


class _How(IntEnum):
    """Way in which a subschema applies to the value that its parent applies to."""

    BRANCH = 0
    """To the same value, one of several: `anyOf`, `allOf`, `if`."""
    REFERENCE = 1
    """To the same value, by `$ref`."""
    MEMBER = 2
    """To one member; of all of this kind at most one applies to each: `properties`."""
    ITEM = 3
    """To one item; of all of this kind at most one applies to each: `items`."""
    BESIDE = 4
    """To members or items that other subschemas can apply to as well: `patternProperties`."""


_SINGLE = {
    "not": _How.BRANCH,
    "if": _How.BRANCH,
    "then": _How.BRANCH,
    "else": _How.BRANCH,
    "additionalProperties": _How.MEMBER,
    "unevaluatedProperties": _How.BESIDE,
    "propertyNames": _How.BESIDE,
    "items": _How.ITEM,
    "additionalItems": _How.ITEM,
    "unevaluatedItems": _How.BESIDE,
    "contains": _How.BESIDE,
    "contentSchema": _How.BESIDE,
}
_LISTS = {
    "allOf": _How.BRANCH,
    "anyOf": _How.BRANCH,
    "oneOf": _How.BRANCH,
    "items": _How.ITEM,
    "prefixItems": _How.ITEM,
}
_MAPS = {
    "dependentSchemas": _How.BRANCH,
    "dependencies": _How.BRANCH,
    "properties": _How.MEMBER,
    "patternProperties": _How.BESIDE,
}


class _TooMuch(Exception):
    """The schema is not for this process; the text says why."""


class _Node:
    """One subschema: its own cost, the subschemas that it applies, and what is found about it."""

    __slots__ = ("below", "cost", "edges", "here", "meets_circle", "paths", "size", "unevaluated")

    def __init__(self) -> None:
        self.size = 1
        """Itself, and its subschemas that are no objects."""
        self.cost = 1
        """Cost of its own keywords, for one byte."""
        self.unevaluated = False
        self.edges: list[tuple[_How, int, str]] = []
        self.paths = 0
        """Subschemas that apply to the same value, as often as they are reached."""
        self.here = 0
        """Cost of those."""
        self.below = 0
        """Cost of what applies to one part of the value, at most."""
        self.meets_circle = False
        """A circle of references can be reached."""

    @property
    def peak(self) -> int:
        """Cost of what applies to the value or to one part of it, at most."""
        return max(self.here, self.below)


def vet(schema: Any) -> Vetted:
    """Return the verdict about a schema.

    A schema that may be compiled in this process is bounded in size and patterns, and takes no
    exponential time to compile or check.

    Args:
        schema: Plain JSON; need not be a valid schema.
    """
    try:
        return _Vetting(schema).run()
    except _TooMuch as problem:
        return Vetted(str(problem), _MANY, explains=False, recursive=True)


class _Vetting:
    def __init__(self, schema: Any) -> None:
        self._root = schema
        self._nodes: list[_Node] = []
        self._numbers: dict[int, int] = {}
        """Numbers of nodes by the identity of their dict."""
        self._todo: list[tuple[int, dict[str, Any], int]] = []
        self._patterns = 0
        self._alternatives = False

    def run(self) -> Vetted:
        """Walk the schema.

        Raises:
            _TooMuch: It is not for this process.
        """
        try:
            size = len(msgspec.json.encode(self._root))
        except (TypeError, ValueError, OverflowError, RecursionError):
            raise _TooMuch("it cannot be measured") from None
        if size > MAX_SCHEMA_BYTES:
            raise _TooMuch(f"it has more than {MAX_SCHEMA_BYTES} bytes")
        self._number(self._root, 0)
        while self._todo:
            number, members, depth = self._todo.pop()
            self._read(self._nodes[number], members, depth)
        recursive = False
        # Circles come in reverse order: whatever a node refers to is finished before it.
        for circle in _circles(self._nodes):
            is_circle = len(circle) > 1 or any(
                target in circle for _, target, _ in self._nodes[circle[0]].edges
            )
            if is_circle:
                recursive = True
                self._check_circle(circle)
            else:
                self._weigh(self._nodes[circle[0]])
        work = self._nodes[0].peak if self._nodes else 1
        return Vetted("", work, not (recursive or self._alternatives), recursive)

    # --- reading ---

    def _number(self, schema: Any, depth: int) -> int | None:
        """Return the number of the node of a subschema; None if it is no object."""
        if not isinstance(schema, dict):
            return None
        number = self._numbers.get(id(cast("object", schema)))
        if number is None:
            number = self._numbers[id(cast("object", schema))] = len(self._nodes)
            if number >= MAX_SUBSCHEMAS:
                raise _TooMuch(f"it has more than {MAX_SUBSCHEMAS} subschemas")
            if depth > MAX_DEPTH:
                raise _TooMuch(f"it has more than {MAX_DEPTH} schemas in each other")
            self._nodes.append(_Node())
            self._todo.append((number, cast("dict[str, Any]", schema), depth))
        return number

    def _read(self, node: _Node, members: dict[str, Any], depth: int) -> None:
        if depth and any(isinstance(members.get(keyword), str) for keyword in ("$id", "id")):
            raise _TooMuch("a part of it has an `$id`")
        for keyword, how, schema in _applied(members):
            self._alternatives = self._alternatives or keyword in _ALTERNATIVES
            target = self._number(schema, depth + 1)
            if target is None:
                node.size += 1
            else:
                node.edges.append((how, target, keyword))
        reference = members.get("$ref")
        if isinstance(reference, str):
            self._refer(node, reference)
        for keyword in _DYNAMIC:
            if keyword in members:
                raise _TooMuch(f"it has `{keyword}`")
        node.unevaluated = any(keyword in members for keyword in _UNEVALUATED)
        node.cost = node.size + self._own_cost(members)

    def _refer(self, node: _Node, reference: str) -> None:
        document, _, fragment = reference.partition("#")
        root = cast("dict[str, Any]", self._root)
        if document and document != str(root.get("$id", root.get("id", ""))).rstrip("#"):
            raise _TooMuch("it refers to another document")
        found = self._resolve(fragment)
        # Depth counts what is written in each other: a reference begins anew.
        target = self._number(found, 1)
        if target is not None:
            node.edges.append((_How.REFERENCE, target, "$ref"))

    def _resolve(self, fragment: str) -> Any:
        found: Any = self._root
        fragment = unquote(fragment)
        if fragment and not fragment.startswith("/"):
            raise _TooMuch("it refers to an anchor")
        for step in fragment.split("/")[1:]:
            step = step.replace("~1", "/").replace("~0", "~")
            try:
                found = found[int(step) if isinstance(found, list) else step]
            except (KeyError, IndexError, TypeError, ValueError):
                raise _TooMuch("it refers to a part that is not there") from None
        return found

    def _own_cost(self, members: dict[str, Any]) -> int:
        cost = 0
        for keyword in ("enum", "required", "dependentRequired"):
            values = members.get(keyword)
            if isinstance(values, list | dict):
                cost += len(cast("list[Any]", values)) // 8
        pattern = members.get("pattern")
        if isinstance(pattern, str):
            cost += self._weigh_pattern(pattern)
        by_name = members.get("patternProperties")
        if isinstance(by_name, dict):
            cost += sum(map(self._weigh_pattern, cast("dict[str, Any]", by_name)))
        if isinstance(members.get("multipleOf"), float):
            cost += _FRACTION_COST
        return cost

    def _weigh_pattern(self, pattern: str) -> int:
        weight = pattern_weight(pattern)
        if weight is None:
            raise _TooMuch(f"the pattern {_short(pattern)!r} is not linear, or too large")
        self._patterns += weight
        if self._patterns > MAX_ALL_PATTERNS:
            raise _TooMuch("its patterns are too many or too large")
        return weight

    # --- weighing ---

    def _weigh(self, node: _Node) -> None:
        """Add up what a node applies, all of whose subschemas are weighed already."""
        paths, here, below, member, item = node.size, node.cost, 0, 0, 0
        for how, target, _ in node.edges:
            other = self._nodes[target]
            node.meets_circle = node.meets_circle or other.meets_circle
            if how <= _How.REFERENCE:
                paths += other.paths
                here += other.here
                below += other.below
            elif how is _How.BESIDE:
                below += other.peak
            elif how is _How.MEMBER:
                member = max(member, other.peak)
            else:
                item = max(item, other.peak)
        factor = _UNEVALUATED_FACTOR if node.unevaluated else 1
        node.paths = paths * factor
        node.here = here * factor
        node.below = below + max(member, item)
        if node.paths > MAX_PATHS:
            raise _TooMuch(f"more than {MAX_PATHS} subschemas apply to one value")

    def _check_circle(self, circle: list[int]) -> None:
        """Weigh a circle of references; refuse it if it can meet a part of a value twice."""
        nodes, inside = self._nodes, frozenset(circle)
        total = paths = 0
        descends = False
        for number in circle:
            node = nodes[number]
            if node.unevaluated:
                raise _TooMuch("a circle of references leads through `unevaluated*`")
            again = dict.fromkeys(_How, 0)
            exclusive = 0
            total += node.cost
            paths += node.size
            for how, target, keyword in node.edges:
                other = nodes[target]
                if target in inside:
                    if how in (_How.BRANCH, _How.BESIDE) and keyword != "patternProperties":
                        raise _TooMuch(f"a circle of references leads through `{keyword}`")
                    again[how] = again[how] + 1 if how in _MANY_TIMES else 1
                    descends = descends or how is not _How.REFERENCE
                elif other.meets_circle and how not in (_How.MEMBER, _How.ITEM):
                    raise _TooMuch(f"a circle of references leads to another by `{keyword}`")
                elif how in (_How.MEMBER, _How.ITEM):
                    exclusive = max(exclusive, other.peak)
                else:
                    total += other.peak * _OVERLAP_FACTOR
                    paths += other.paths
            total += exclusive
            of_members = again[_How.MEMBER] + again[_How.BESIDE]
            if again[_How.REFERENCE] + max(of_members, again[_How.ITEM]) > 1:
                raise _TooMuch("circles of references meet the same part of a value")
        if not descends:
            raise _TooMuch("a reference leads to itself")
        for number in circle:
            node = nodes[number]
            node.meets_circle = True
            node.paths, node.here, node.below = paths, total, total


_MANY_TIMES = (_How.REFERENCE, _How.BESIDE)
_ALTERNATIVES = ("anyOf", "oneOf")
"""Keywords whose error holds all errors of every alternative."""


def _applied(members: dict[str, Any]) -> Iterator[tuple[str, _How, Any]]:
    """Yield the subschemas that a schema applies, each with its keyword."""
    for keyword, value in members.items():
        if isinstance(value, list):
            if keyword in _LISTS:
                for one in cast("list[object]", value):
                    yield keyword, _LISTS[keyword], one
        elif keyword in _SINGLE:
            yield keyword, _SINGLE[keyword], value
        elif keyword in _MAPS and isinstance(value, dict):
            for one in cast("dict[str, Any]", value).values():
                yield keyword, _MAPS[keyword], one


def _circles(nodes: list[_Node]) -> Iterator[list[int]]:
    """Yield the strongly connected components of the nodes; what they refer to comes first.

    Tarjan's algorithm without recursion: a chain of references can be as long as the schema.
    """
    order: dict[int, int] = {}
    low: dict[int, int] = {}
    open_nodes: list[int] = []
    is_open: set[int] = set()
    for root in range(len(nodes)):
        if root in order:
            continue
        way: list[tuple[int, Iterator[tuple[_How, int, str]]]] = []
        entering: int | None = root
        while entering is not None or way:
            if entering is not None:
                order[entering] = low[entering] = len(order)
                open_nodes.append(entering)
                is_open.add(entering)
                way.append((entering, iter(nodes[entering].edges)))
                entering = None
            node, edges = way[-1]
            for _, target, _ in edges:
                if target not in order:
                    entering = target
                    break
                if target in is_open:
                    low[node] = min(low[node], order[target])
            if entering is not None:
                continue
            way.pop()
            if way:
                parent = way[-1][0]
                low[parent] = min(low[parent], low[node])
            if low[node] == order[node]:
                circle = [open_nodes.pop()]
                while circle[-1] != node:
                    circle.append(open_nodes.pop())
                is_open.difference_update(circle)
                yield circle


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:60]}..."
