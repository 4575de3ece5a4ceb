"""Compares two JSON Schemas of a contract: arguments may widen, results may narrow."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from mcp_gen.contracts.subsumption.document import Budget, Document, Json, Part
from mcp_gen.contracts.subsumption.examples import ExampleMaker, SchemaCheck, numbers_in
from mcp_gen.contracts.subsumption.findings import SchemaFinding
from mcp_gen.contracts.subsumption.json_values import Unreadable, key_of
from mcp_gen.contracts.subsumption.judging import Judge
from mcp_gen.schemas.schema import is_schema

if TYPE_CHECKING:
    from mcp_gen.contracts.subsumption.shapes import Conjunction

__all__ = ["CompareLimits", "Direction", "SchemaComparison", "Verdict", "compare_schemas"]

Direction: TypeAlias = Literal["arguments", "results"]
"""Sender of the values: callers send arguments, the server sends results."""
Verdict: TypeAlias = Literal["breaks", "cannot tell", "compatible"]
"""Outcome for callers, the worst first."""

MAX_EXAMPLES = 8
"""Most findings for which an example is searched."""
_NO_ARGUMENTS: Json = {"properties": {}}
"""Names of arguments are declared, also where a schema declares none."""


@dataclass(frozen=True)
class CompareLimits:
    """Limits of the work for one pair of schemas; beyond them the verdict is `cannot tell`.

    Args:
        steps: Most steps; one takes about 10 microseconds.
        depth: Most schemas in each other, references followed.
        alternatives: Most alternatives that one schema may have for each kind of value; `anyOf` in
            `allOf` multiply.
    """

    steps: int = 20_000
    depth: int = 48
    alternatives: int = 200

    def budget(self) -> Budget:
        """Return a budget with these limits."""
        return Budget(self.steps, self.depth, self.alternatives)


@dataclass(frozen=True)
class SchemaComparison:
    """Outcome of a comparison.

    Args:
        verdict: What it means to callers.
        findings: Where the schemas differ to their harm, or may; none if compatible.
    """

    verdict: Verdict
    findings: tuple[SchemaFinding, ...] = ()


def compare_schemas(
    old: Any,
    new: Any,
    direction: Direction,
    limits: CompareLimits | None = None,
    *,
    as_sent: bool = True,
) -> SchemaComparison:
    """Compare two schemas.

    Arguments that were valid have to be valid still; results that are valid now have to have been
    valid before. A sender sends the members that its schema declares: a schema with `properties`
    and without `additionalProperties` means those.

    `format` and the `content*` keywords are annotations that some validators assert: they are
    equal, or the comparison cannot tell.

    Args:
        old: The schema that was promised.
        new: The schema now.
        direction: Who sends the values.
        limits: Limits of the work; None: the defaults.
        as_sent: False: a sender may send members that its schema does not declare, unless it
            forbids them.

    Returns:
        `compatible` if it is proven; `breaks` with an example wherever one was found.
    """
    narrow, wide = (old, new) if direction == "arguments" else (new, old)
    limits = limits or CompareLimits()
    judge = Judge(limits.budget(), as_sent=as_sent)
    some: Conjunction = (Part(document := Document(narrow), document.root),)
    others: Conjunction = (Part(document := Document(wide), document.root),)
    if as_sent and direction == "arguments":
        some = (*some, Part(document := Document(_NO_ARGUMENTS), document.root))
    try:
        if key_of(old) == key_of(new):
            return SchemaComparison("compatible")
        if not (is_schema(old) and is_schema(new)):
            raise Unreadable("not a valid JSON Schema")
        found = judge.compare(some, others)
    except (Unreadable, RecursionError) as error:
        says = str(error) if isinstance(error, Unreadable) else "a schema that is nested too deeply"
        found = [SchemaFinding("not compared", is_certain=False, says=says)]
    if not found:
        return SchemaComparison("compatible")
    found = _with_examples(judge, some, narrow, wide, found, limits)
    breaks = any(one.is_certain for one in found)
    return SchemaComparison("breaks" if breaks else "cannot tell", tuple(found))


def _with_examples(
    judge: Judge,
    schemas: Conjunction,
    narrow: Any,
    wide: Any,
    found: list[SchemaFinding],
    limits: CompareLimits,
) -> list[SchemaFinding]:
    """Search a value for each finding that fits the one schema and not the other."""
    fits, misfits = SchemaCheck(narrow), SchemaCheck(wide)
    if fits.is_valid(None) is None or misfits.is_valid(None) is None:
        return found
    judge.renew(limits.steps)
    maker = ExampleMaker(judge, numbers_in(wide, numbers_in(narrow, [])))
    made: list[SchemaFinding] = []
    for finding in found[:MAX_EXAMPLES]:
        shown = next(
            (
                value
                for value in maker.examples(schemas, finding)
                if fits.is_valid(value) and misfits.is_valid(value) is False
            ),
            judge,
        )
        if shown is not judge:
            finding = replace(finding, is_certain=True, witness=(shown,))
        made.append(finding)
    return made + found[MAX_EXAMPLES:]
