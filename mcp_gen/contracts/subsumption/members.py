"""Members and items of shapes: which schemas apply to each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_gen.contracts.subsumption.json_values import Unreadable
from mcp_gen.schemas.patterns import pattern_weight
from mcp_gen.schemas.schema import compile_schema

if TYPE_CHECKING:
    from jsonschema_rs import Validator

    from mcp_gen.contracts.subsumption.document import Part
    from mcp_gen.contracts.subsumption.shapes import Conjunction, MemberRule, Shape

__all__ = ["Patterns", "is_closed", "item", "member", "other_members"]


class Patterns:
    """Matches patterns in linear time; each is compiled once."""

    def __init__(self) -> None:
        self._compiled: dict[str, Validator] = {}

    def matches(self, pattern: str, text: str) -> bool:
        """Return True if a text has a match.

        Raises:
            Unreadable: the pattern is not linear, too large, or not valid.
        """
        found = self._compiled.get(pattern)
        if found is None:
            if pattern_weight(pattern) is None:
                raise Unreadable(f"the pattern {pattern[:60]!r}, which is not linear")
            try:
                found = compile_schema({"pattern": pattern}, linear=True)
            except ValueError:
                raise Unreadable(f"the pattern {pattern[:60]!r}, which is not valid") from None
            self._compiled[pattern] = found
        return found.is_valid(text)


def is_closed(shape: Shape) -> bool:
    """Return True if a peer that knows the schema sends no members beside those it declares.

    A schema that names members and says nothing of others means those; one that names none means
    any.
    """
    says_others = any(one.others is not None or one.matching for one in shape.members)
    return not says_others and any(one.named is not None for one in shape.members)


def member(shape: Shape, name: str, patterns: Patterns, *, as_sent: bool) -> Conjunction | None:
    """Return the schemas of a member; None if it is not there.

    Args:
        shape: The shape of the object.
        name: The name of the member.
        patterns: Matches patterns of names.
        as_sent: True if members that are not declared are not there; see `is_closed`.

    Raises:
        Unreadable: a pattern of names cannot be matched.
    """
    found: list[Part] = []
    is_declared = name in shape.required
    for rule in shape.members:
        applied = _by_name(rule, name, patterns)
        is_declared = is_declared or bool(applied)
        if not applied and rule.others is not None:
            applied = [rule.others]
        found += applied
    if as_sent and not is_declared and is_closed(shape):
        return None
    return None if any(one.schema is False for one in found) else tuple(found)


def _by_name(rule: MemberRule, name: str, patterns: Patterns) -> list[Part]:
    found = [rule.named[name]] if rule.named and name in rule.named else []
    return found + [part for one, part in rule.matching.items() if patterns.matches(one, name)]


def other_members(shape: Shape, *, as_sent: bool) -> Conjunction | None:
    """Return the schemas of members that neither a name nor a pattern declares; None for none."""
    found = tuple(one.others for one in shape.members if one.others is not None)
    if as_sent and is_closed(shape):
        return None
    return None if any(one.schema is False for one in found) else found


def item(shape: Shape, index: int) -> Conjunction | None:
    """Return the schemas of one item of an array; None if it is not there."""
    if shape.size.high is not None and index >= shape.size.high:
        return None
    found = tuple(one for rule in shape.items if (one := rule.at(index)) is not None)
    return None if any(one.schema is False for one in found) else found
