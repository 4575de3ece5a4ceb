"""Schema documents: dialect, references, budget of work, and the meaning of a part as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias, cast
from urllib.parse import unquote

from mcp_gen.contracts.subsumption.json_values import Unreadable, key_of

__all__ = [
    "ARRAYS_OF_SCHEMAS",
    "ASSERTIONS",
    "MAPS_OF_SCHEMAS",
    "SINGLE_SCHEMAS",
    "Budget",
    "Document",
    "Json",
    "Part",
    "TooMuchWork",
    "meaning",
]

Json: TypeAlias = dict[str, Any]

SINGLE_SCHEMAS = frozenset(
    {
        "additionalItems",
        "additionalProperties",
        "contains",
        "contentSchema",
        "else",
        "if",
        "items",
        "not",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)
ARRAYS_OF_SCHEMAS = frozenset({"allOf", "anyOf", "items", "oneOf", "prefixItems"})
MAPS_OF_SCHEMAS = frozenset({"dependencies", "dependentSchemas", "patternProperties", "properties"})
ASSERTIONS = frozenset(
    {
        "$dynamicRef",
        "$recursiveRef",
        "$ref",
        "const",
        "contentEncoding",
        "contentMediaType",
        "dependentRequired",
        "enum",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "format",
        "maxContains",
        "maxItems",
        "maxLength",
        "maxProperties",
        "maximum",
        "minContains",
        "minItems",
        "minLength",
        "minProperties",
        "minimum",
        "multipleOf",
        "pattern",
        "required",
        "type",
        "uniqueItems",
    }
)
"""Keywords that say which values are valid, beside those that hold schemas."""
UNORDERED = frozenset({"enum", "required", "type"})
"""Keywords whose arrays are sets."""

_DEFAULT_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_DIALECTS: Mapping[str, bool] = {
    "json-schema.org/draft/2020-12/schema": True,
    "json-schema.org/draft/2019-09/schema": True,
    "json-schema.org/draft-07/schema": False,
    "json-schema.org/draft-06/schema": False,
}
"""Dialects that are compared; True if keywords beside a `$ref` count."""


class TooMuchWork(Unreadable):
    """The comparison has used up its budget."""


class Budget:
    """Limits of the work for one pair of schemas.

    Args:
        steps: Most steps: a step is one schema read, or one pair compared.
        depth: Most schemas in each other.
        alternatives: Most alternatives that one schema may have, `anyOf` in `allOf` multiplied.
    """

    def __init__(self, steps: int, depth: int, alternatives: int) -> None:
        self.left = steps
        self.depth = depth
        self.alternatives = alternatives

    def spend(self, steps: int = 1) -> None:
        """Count steps.

        Raises:
            TooMuchWork: there were too many.
        """
        self.left -= steps
        if self.left < 0:
            raise TooMuchWork("the schemas take too much work to compare")

    def check_depth(self, depth: int) -> None:
        """Raise TooMuchWork if schemas stand in each other too deeply."""
        if depth > self.depth:
            raise TooMuchWork(f"the schemas are nested more than {self.depth} deep")


class Document:
    """One schema as a whole: what references of its parts refer to.

    Args:
        root: The schema as plain JSON; must not be changed afterwards.
    """

    def __init__(self, root: Any) -> None:
        self.root = root
        members = _members(root)
        self.id = str(members.get("$id", ""))
        self.dialect = str(members.get("$schema", _DEFAULT_DIALECT)).rstrip("#").partition("://")[2]
        siblings = _DIALECTS.get(self.dialect)
        self.is_known = siblings is not None
        """True if the dialect can be compared."""
        self.reads_siblings = bool(siblings)
        """True if keywords beside a `$ref` count."""

    def resolve(self, reference: str) -> Any:
        """Return the part that a reference leads to.

        Raises:
            Unreadable: another document, an anchor, or a part that is not there.
        """
        document, _, fragment = reference.partition("#")
        if document and document != self.id.rstrip("#"):
            raise Unreadable(f"`$ref` to another document: {reference[:100]}")
        if fragment and not fragment.startswith("/"):
            raise Unreadable(f"`$ref` to an anchor: {reference[:100]}")
        found: Any = self.root
        for step in unquote(fragment).split("/")[1:]:
            step = step.replace("~1", "/").replace("~0", "~")
            try:
                found = found[int(step) if isinstance(found, list) else step]
            except (KeyError, IndexError, TypeError, ValueError):
                raise Unreadable(f"`$ref` to a part that is not there: {reference[:100]}") from None
        return found


class Part(NamedTuple):
    """A schema in its document.

    Args:
        document: The document.
        schema: The schema: a boolean, or an object of keywords.
    """

    document: Document
    schema: Any

    @property
    def key(self) -> tuple[int, int]:
        """Identity of the part, while its document is alive."""
        return id(self.document), id(self.schema)

    def at(self, schema: Any) -> Part:
        """Return another part of the same document."""
        return Part(self.document, schema)


def meaning(part: Part, budget: Budget) -> str:
    """Return a text that two parts have in common only if the same values fit them.

    Descriptions and other annotations are not in it; what it refers to is.

    Raises:
        Unreadable: it cannot be read, or refers to another document.
    """
    references: dict[str, Any] = {}
    found: Any = _stripped(part.schema, references, budget, 0)
    targets: dict[str, Any] = {}
    while open_ := references.keys() - targets.keys():
        for reference in open_:
            target = part.document.resolve(reference) if reference else part.document.root
            targets[reference] = _stripped(target, references, budget, 0)
    document = part.document
    dialect = document.reads_siblings if document.is_known else document.dialect
    return key_of([dialect, found, targets])


def _stripped(schema: Any, references: dict[str, Any], budget: Budget, depth: int) -> Any:
    """Return a schema without annotations; note what it refers to."""
    budget.spend()
    budget.check_depth(depth)
    if schema.__class__ is not dict:
        return schema
    made: Json = {}
    for keyword, value in cast("Json", schema).items():
        if value.__class__ is list and keyword in ARRAYS_OF_SCHEMAS:
            made[keyword] = [_stripped(one, references, budget, depth + 1) for one in value]
        elif keyword in SINGLE_SCHEMAS:
            made[keyword] = _stripped(value, references, budget, depth + 1)
        elif value.__class__ is dict and keyword in MAPS_OF_SCHEMAS:
            made[keyword] = {
                name: _stripped(one, references, budget, depth + 1) for name, one in value.items()
            }
        elif keyword in ASSERTIONS:
            is_set = keyword in UNORDERED and value.__class__ is list
            made[keyword] = sorted(map(key_of, value)) if is_set else value
        if keyword == "$ref" and isinstance(value, str):
            references[value] = True
        elif keyword in ("$dynamicRef", "$recursiveRef"):
            references[""] = True
    if made.get("required") == []:
        del made["required"]
    return made


def _members(schema: Any) -> Json:
    return schema if schema.__class__ is dict else {}
