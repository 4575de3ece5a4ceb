"""Examples of values: made from shapes, to show what one schema takes and another does not."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

from mcp_gen.contracts.subsumption.document import TooMuchWork
from mcp_gen.contracts.subsumption.findings import ITEM, OTHERS, Step
from mcp_gen.contracts.subsumption.json_values import Unreadable
from mcp_gen.contracts.subsumption.members import is_closed, item, member, other_members
from mcp_gen.contracts.subsumption.plain_facets import MAX_TEXT, some_texts
from mcp_gen.contracts.subsumption.shapes import Range
from mcp_gen.core.errors import McpGenError
from mcp_gen.schemas.schema import compile_schema
from mcp_gen.schemas.vetting import vet

if TYPE_CHECKING:
    from jsonschema_rs import Validator

    from mcp_gen.contracts.subsumption.findings import SchemaFinding
    from mcp_gen.contracts.subsumption.judging import Judge
    from mcp_gen.contracts.subsumption.shapes import Conjunction, Shape

__all__ = ["ExampleMaker", "SchemaCheck", "numbers_in"]

MAX_TRIES = 300
"""Most values that are tried for one finding."""
MAX_EACH = 12
"""Most values that are made of one schema, at one place."""
MAX_BASES = 3
"""Most objects that a value is put into, one after the other."""
MAX_DEPTH = 6
"""Most levels of members that are filled in."""
MAX_ITEMS = 64
"""Most items of an array that is made."""
_OTHER_NAMES = ("other", "x-other", "a", "_a", "0", "A1")
_NUMBERS = (0, 1, -1, 2, 0.5, 1000000, -1000000, 0.001)


class SchemaCheck:
    """Checks values against a schema, if that is certain to be cheap. Formats are not checked.

    Args:
        schema: The schema.
    """

    def __init__(self, schema: Any) -> None:
        self._validator: Validator | None = None
        try:
            if not vet(schema).reason:
                self._validator = compile_schema(schema, linear=True, formats=False)
        except (ValueError, McpGenError, RecursionError):
            self._validator = None

    def is_valid(self, value: Any) -> bool | None:
        """Return True if a value fits, False if not, None if it is not checked."""
        if self._validator is None:
            return None
        try:
            return self._validator.is_valid(value)
        except (ValueError, OverflowError):
            return None


class ExampleMaker:
    """Makes values of schemas, with something particular at one place.

    Args:
        judge: Has read the schemas.
        numbers: Numbers of the schemas: values next to them are tried.
    """

    def __init__(self, judge: Judge, numbers: list[Any]) -> None:
        self._judge = judge
        self._only = ""
        """Kind of the value that shows the finding; empty for any."""
        near = [number + step for number in numbers[:40] for step in (0, 1, -1, 0.5, 2)]
        self._numbers = list(dict.fromkeys([*near, *_NUMBERS]))
        self._sizes = sorted({int(one) for one in near if 0 <= one <= MAX_TEXT and int(one) == one})

    def examples(self, schemas: Conjunction, finding: SchemaFinding) -> Iterator[Any]:
        """Yield values that may show a finding; at most `MAX_TRIES`.

        Args:
            schemas: The narrow schemas.
            finding: What differs.
        """
        path = finding.path[:-1] if finding.kind == "required" else finding.path
        try:
            self._only = finding.says if finding.kind == "kind" else ""
            yield from islice(self._at(schemas, path, finding.example, 0), MAX_TRIES)
        except (TooMuchWork, RecursionError):
            return

    def _at(
        self, schemas: Conjunction, path: tuple[Step, ...], leaves: tuple[Any, ...], depth: int
    ) -> Iterator[Any]:
        if not path:
            yield from leaves
            yield from self._values(schemas, depth, self._only)
            return
        step, rest = path[0], path[1:]
        for shape in self._shapes(schemas):
            if shape.kind == "object" and isinstance(step, str) and step != ITEM:
                for name in _OTHER_NAMES if step == OTHERS else (step,):
                    parts = self._member(shape, name)
                    if parts is None:
                        continue
                    for value in islice(self._at(parts, rest, leaves, depth + 1), 60):
                        for base in islice(self._objects(shape, depth), MAX_BASES):
                            yield {**base, name: value}
            elif shape.kind == "array" and (isinstance(step, int) or step == ITEM):
                first = max((len(rule.first) for rule in shape.items), default=0)
                place = step if isinstance(step, int) else first
                parts = item(shape, place)
                before = [self._first(item(shape, index), depth) for index in range(place)]
                if parts is None:
                    continue
                for value in islice(self._at(parts, rest, leaves, depth + 1), 60):
                    least = max(0, int(shape.size.low or 0) - place - 1)
                    yield [*before, value, *[value] * min(least, MAX_ITEMS)]

    def _shapes(self, schemas: Conjunction) -> list[Shape]:
        judge = self._judge
        try:
            return [
                one for one in judge.reader.shapes(schemas) if not judge.emptiness.is_empty(one)
            ]
        except TooMuchWork:
            raise
        except Unreadable:
            return []

    def _member(self, shape: Shape, name: str) -> Conjunction | None:
        try:
            return member(shape, name, self._judge.patterns, as_sent=self._judge.as_sent)
        except Unreadable:
            return None

    def _first(self, schemas: Conjunction | None, depth: int) -> Any:
        return next(self._values(schemas or (), depth + 1), None)

    def _values(self, schemas: Conjunction, depth: int, only: str = "") -> Iterator[Any]:
        if depth > MAX_DEPTH:
            return
        for shape in self._shapes(schemas):
            if only not in ("", shape.kind) and (only, shape.kind) != ("integer", "number"):
                continue
            if shape.values is not None:
                yield from islice(shape.values.values(), MAX_EACH)
                continue
            yield from islice(self._of_kind(shape, depth), 4 * MAX_EACH)

    def _of_kind(self, shape: Shape, depth: int) -> Iterator[Any]:
        if shape.kind == "null":
            yield None
        elif shape.kind == "boolean":
            yield from (True, False)
        elif shape.kind == "number":
            yield from filter(lambda one: self._has(shape, one), self._numbers)
        elif shape.kind == "string":
            yield from filter(lambda one: self._has(shape, one), self._texts(shape.size))
        elif shape.kind == "array":
            yield from self._arrays(shape, depth)
        else:
            yield from self._objects(shape, depth)

    def _has(self, shape: Shape, value: Any) -> bool:
        try:
            return self._judge.membership.holds(shape, value) is not False
        except TooMuchWork:
            raise
        except Unreadable:
            return True

    def _texts(self, size: Range) -> Iterator[str]:
        yield from some_texts(size)
        yield from ("a" * length for length in self._sizes)

    def _arrays(self, shape: Shape, depth: int) -> Iterator[list[Any]]:
        low = int(shape.size.low or 0)
        lengths = dict.fromkeys((low, low + 1, 2, *self._sizes))
        for length in lengths:
            if not low <= length <= MAX_ITEMS:
                continue
            if shape.size.high is not None and length > shape.size.high:
                continue
            yield [self._first(item(shape, index), depth) for index in range(length)]
            pool = list(islice(self._values(item(shape, 0) or (), depth + 1), length))
            if len(pool) == length > 1:
                yield pool

    def _objects(self, shape: Shape, depth: int) -> Iterator[dict[str, Any]]:
        judge = self._judge
        base = {
            name: self._first(self._member(shape, name), depth) for name in sorted(shape.required)
        }
        yield base
        names = sorted({name for rule in shape.members for name in rule.named or ()} - base.keys())
        extra: dict[str, Any] = {}
        for name in names[:MAX_EACH]:
            parts = self._member(shape, name)
            if parts is not None:
                extra[name] = self._first(parts, depth)
                yield {**base, name: extra[name]}
        if len(extra) > 1:
            yield {**base, **extra}
        closed = judge.as_sent and is_closed(shape)
        if not closed and other_members(shape, as_sent=judge.as_sent) is not None:
            made = dict(base)
            for number, name in enumerate((*_OTHER_NAMES, *self._other_names())):
                if number > MAX_ITEMS:
                    break
                parts = self._member(shape, name)
                if parts is not None:
                    made = {**made, name: self._first(parts, depth)}
                    yield made

    def _other_names(self) -> Iterator[str]:
        longest = max(self._sizes, default=0)
        return (f"member{number}" for number in range(min(longest, MAX_ITEMS)))


def numbers_in(schema: Any, found: list[Any]) -> list[Any]:
    """Collect the numbers of a schema: bounds and sizes among them."""
    waiting = [schema]
    while waiting and len(found) < 40:
        one = waiting.pop()
        if one.__class__ in (int, float) and abs(one) < 1e15:
            found.append(one)
        elif one.__class__ is list:
            waiting += one
        elif one.__class__ is dict:
            waiting += cast("dict[str, Any]", one).values()
    return found
