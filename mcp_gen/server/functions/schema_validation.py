"""JSON Schemas that a program wrote itself: looked over when defined, compiled when first used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import unquote, urldefrag, urljoin

from mcp_gen.core.errors import UsageError
from mcp_gen.server.functions.pydantic_types import InvalidValue

if TYPE_CHECKING:
    from jsonschema_rs import Validator

__all__ = ["MAX_DEPTH", "MAX_SUBSCHEMAS", "CompiledSchema"]

MAX_DEPTH = 64
MAX_SUBSCHEMAS = 10_000
MAX_MESSAGE = 250
"""Characters of what is said of a value that does not fit: it may have members of any name."""

DIALECTS = frozenset(
    {
        "http://json-schema.org/draft-04/schema",
        "http://json-schema.org/draft-06/schema",
        "http://json-schema.org/draft-07/schema",
        "https://json-schema.org/draft/2019-09/schema",
        "https://json-schema.org/draft/2020-12/schema",
    }
)
"""What `$schema` may be. Without it, a schema is of the last of them."""

_SCHEMA = frozenset(
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
_LIST = frozenset({"allOf", "anyOf", "items", "oneOf", "prefixItems"})
_MAP = frozenset(
    {"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"}
)
_MOVE_ALONG = ("/$defs/", "/definitions/")
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")


class CompiledSchema:
    """A JSON Schema as it was written; not a letter of it is changed.

    Its dialect is 2020-12, or what `$schema` says. Nothing is fetched: it may refer to itself, but
    not to other documents. `what` stands before each message. One that `moves` becomes part of
    another at revisions where it must describe an object, unless it does.

    Raises:
        UsageError: no schema, one of another dialect, one too large, or a reference to elsewhere.

    Source: https://modelcontextprotocol.io/specification/2026-07-28/basic#json-schema-usage
    """

    def __init__(self, schema: Any, what: str, *, moves: bool = False) -> None:
        self.schema: dict[str, Any] = schema
        self.what = what
        if not isinstance(schema, dict):
            raise UsageError(f"{what}: expected a dict, got {type(schema).__name__}")
        _LookingOver(self, moves=moves and self.schema.get("type") != "object").all()

    @cached_property
    def _validator(self) -> Validator:
        import jsonschema_rs

        try:
            return jsonschema_rs.validator_for(
                self.schema, retriever=_refuse, mask="the value", ignore_unknown_formats=True
            )
        except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
            said = getattr(error, "message", None) or str(error)
            raise UsageError(f"{self.what}: no valid schema: {said}") from None

    def compile(self) -> None:
        """Find out at once what else would be found when first used.

        Raises:
            UsageError: no valid schema.
        """
        _ = self._validator

    def check(self, value: Any, path: str = "$") -> None:
        """Compare plain JSON with the schema.

        Only the first difference is told: finding all can take longer than the value is worth.

        Raises:
            BadValue: it does not fit; the message ends in the path.
            UsageError: the schema is none.
        """
        validator = self._validator
        if validator.is_valid(value):
            return
        import jsonschema_rs

        try:
            validator.validate(value)
        except jsonschema_rs.ValidationError as error:
            said, where = _short(error.message), _short(_path(path, error.instance_path))
            raise InvalidValue(f"{said} - at `{where}`") from None


def _refuse(uri: str) -> Any:
    raise ValueError(f"{uri} is another document")


def _short(text: str) -> str:
    return text if len(text) <= MAX_MESSAGE else f"{text[:MAX_MESSAGE]}..."


def _path(root: str, steps: list[str | int]) -> str:
    below = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
    return root + "".join(below)


class _LookingOver:
    """One walk over a schema: bounded, and blind to what only looks like a keyword."""

    def __init__(self, raw: CompiledSchema, *, moves: bool) -> None:
        self._raw = raw
        self._moves = moves
        self._count = 0
        self._known: set[str] = set()
        """What may be referred to: identifiers, and identifiers with anchors."""
        self._references: list[tuple[str, str]] = []
        """Base and reference of each."""

    def all(self) -> None:
        """Raise UsageError for the first thing that is wrong."""
        self._walk(self._raw.schema, "", 0)
        for base, reference in self._references:
            whole = urljoin(base, reference)
            document, fragment = urldefrag(whole)
            if document.rstrip("#") in DIALECTS:
                continue
            if document and document not in self._known:
                raise self._wrong(
                    f"`{reference}` is another document, and none is fetched: copy what you "
                    "need of it under `$defs`"
                )
            stays = fragment.startswith("/") or not fragment
            if self._moves and not document and stays and not fragment.startswith(_MOVE_ALONG):
                raise self._wrong(f"put what `{reference}` refers to under `$defs`")
            if fragment.startswith("/") and not document:
                self._follow(reference, fragment)
            elif fragment and not fragment.startswith("/") and whole not in self._known:
                raise self._wrong(f"`{reference}` refers to an anchor that is not there")

    def _follow(self, reference: str, pointer: str) -> None:
        found: Any = self._raw.schema
        for step in unquote(pointer).split("/")[1:]:
            step = step.replace("~1", "/").replace("~0", "~")
            try:
                found = found[int(step) if type(found) is list else step]
            except (KeyError, IndexError, TypeError, ValueError):
                raise self._wrong(f"`{reference}` refers to what is not there") from None

    def _walk(self, schema: Any, base: str, depth: int) -> None:
        if isinstance(schema, bool):
            return
        if not isinstance(schema, dict):
            raise self._wrong(f"expected a schema, got {type(schema).__name__}")
        self._count += 1
        if depth > MAX_DEPTH or self._count > MAX_SUBSCHEMAS:
            raise self._wrong(
                f"more than {MAX_DEPTH} schemas in each other, or {MAX_SUBSCHEMAS} in all"
            )
        known = cast("dict[str, Any]", schema)
        base = self._identified(known, base)
        for keyword in _REFERENCES:
            reference = known.get(keyword)
            if isinstance(reference, str):
                self._references.append((base, reference))
        for below in self._below(known):
            self._walk(below, base, depth + 1)

    def _identified(self, schema: Mapping[str, Any], base: str) -> str:
        dialect = schema.get("$schema")
        if dialect is not None and str(dialect).rstrip("#") not in DIALECTS:
            raise self._wrong(
                f"`$schema`: expected one of {', '.join(sorted(DIALECTS))}; got {dialect!r}"
            )
        for keyword in ("$id", "id"):
            identifier = schema.get(keyword)
            if isinstance(identifier, str):
                whole = urljoin(base, identifier)
                self._known.add(whole)
                base = urldefrag(whole).url
                self._known.add(base)
        for keyword in ("$anchor", "$dynamicAnchor"):
            if keyword in schema:
                self._known.add(f"{base}#{schema[keyword]}")
        return base

    def _below(self, schema: Mapping[str, Any]) -> Iterator[Any]:
        for keyword, value in schema.items():
            if keyword in _MAP:
                if not isinstance(value, dict):
                    raise self._wrong(f"`{keyword}`: expected an object of schemas")
                known = cast("dict[str, Any]", value)
                # In old drafts a dependency may be a list of names.
                yield from (one for one in known.values() if not isinstance(one, list))
            elif keyword in _LIST and isinstance(value, list):
                yield from value
            elif keyword in _SCHEMA:
                yield value
            elif keyword in _LIST:
                raise self._wrong(f"`{keyword}`: expected a list of schemas")

    def _wrong(self, what: str) -> UsageError:
        return UsageError(f"{self._raw.what}: {what}")
