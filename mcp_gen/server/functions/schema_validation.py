"""User-written JSON Schemas: checked and vetted at definition, compiled at first use."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache
from typing import Any, cast
from urllib.parse import unquote, urldefrag, urljoin

from mcp_gen.core.checks.finite import check_plain
from mcp_gen.core.errors import SchemaNotChecked, UsageError
from mcp_gen.schemas.doubts import is_doubtful
from mcp_gen.schemas.schema import BadSchema, JsonSchema, Misfit, NeedsWorker
from mcp_gen.server.functions.pending_checks import outcome_of
from mcp_gen.values.pydantic_types import InvalidValue

__all__ = ["MAX_DEPTH", "MAX_SUBSCHEMAS", "CompiledSchema"]

MAX_DEPTH = 64
"""Maximum nesting depth of a schema."""
MAX_SUBSCHEMAS = 10_000
"""Maximum number of subschemas in a schema."""

_log = logging.getLogger("mcp_gen.server")

DIALECTS = frozenset(
    {
        "http://json-schema.org/draft-04/schema",
        "http://json-schema.org/draft-06/schema",
        "http://json-schema.org/draft-07/schema",
        "https://json-schema.org/draft/2019-09/schema",
        "https://json-schema.org/draft/2020-12/schema",
    }
)
"""Supported values of `$schema`. The default is 2020-12."""

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
_RELOCATED = ("/$defs/", "/definitions/")
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")


class CompiledSchema:
    """JSON Schema written by the user, kept unchanged.

    The dialect is 2020-12 unless `$schema` names another supported one. No document is fetched:
    references may point into the schema itself, not to other documents.

    Args:
        schema: The schema, a dict.
        what: Beginning of each error message.
        moves: The schema is embedded in another schema at revisions that require
            `"type": "object"` at the root. Pointers of a schema with another root type must then
            lead into `$defs` or `definitions`.

    Raises:
        UsageError: The value is not a schema, its dialect is not supported, it is too large, or
            it refers to another document or to a missing part.

    Source: https://modelcontextprotocol.io/specification/2026-07-28/basic#json-schema-usage
    """

    def __init__(self, schema: Any, what: str, *, moves: bool = False) -> None:
        self.schema: dict[str, Any] = schema
        self.what = what
        if not isinstance(schema, dict):
            raise UsageError(f"{what}: expected a dict, got {type(schema).__name__}")
        _SchemaCheck(self, moves=moves and self.schema.get("type") != "object").run()
        # Vetted now: the log names slow schemas before a call is slow.
        _ = self._compiled

    @cached_property
    def _compiled(self) -> JsonSchema:
        made = JsonSchema(self.schema)
        if made.slow:
            _warn_once(f"{self.what}: checked in a process of its own, as {made.slow}")
        return made

    def compile(self) -> None:
        """Compile the schema now instead of at first use.

        Raises:
            UsageError: The schema is not valid.
        """
        try:
            self._compiled.compile()
        except BadSchema as error:
            raise self._no_schema(error) from None

    def check_schema(self) -> None:
        """Check the schema itself. It is compiled now if its keywords leave any doubt.

        Raises:
            UsageError: The schema is not valid.
        """
        check_plain(self.schema, self.what)
        if is_doubtful(self.schema):
            self.compile()

    def check(self, value: Any, path: str = "$") -> None:
        """Validate plain JSON against the schema.

        Only the first mismatch is reported: collecting all of them can be expensive.

        Args:
            value: Plain JSON.
            path: JSON path of the value, for the error message.

        Raises:
            InvalidValue: The value does not match; the message ends in the path.
            PendingCheck: The worker has to check the value; see `settled`.
            SchemaNotChecked: The worker was asked, and the check took too long.
            UsageError: The schema is not valid.
        """
        try:
            self._compiled.check(value)
        except Misfit as error:
            raise InvalidValue(error.at(path)) from None
        except NeedsWorker:
            outcome_of(self, value, path)
        except BadSchema as error:
            raise self._no_schema(error) from None

    async def outcome(self, value: Any, path: str, timeout_s: float) -> Exception | None:
        """Have the worker validate plain JSON; return the error that `check` raises, or None.

        Args:
            value: Plain JSON.
            path: JSON path of the value, for the error message.
            timeout_s: Seconds that the check may take.
        """
        # Most servers need no worker.
        from mcp_gen.schemas.process import check_in_worker

        try:
            await check_in_worker(self._compiled, value, timeout_s)
        except Misfit as error:
            return InvalidValue(error.at(path))
        except BadSchema as error:
            return self._no_schema(error)
        except SchemaNotChecked as error:
            text = f"{self.what}: the value was not checked: {error}{self._compiled.because}"
            _warn_once(text)
            return SchemaNotChecked(text)
        return None

    def _no_schema(self, error: BadSchema) -> UsageError:
        return UsageError(f"{self.what}: no valid schema: {error}")


@lru_cache(maxsize=1_000)
def _warn_once(text: str) -> None:
    _log.warning("%s", text)


class _SchemaCheck:
    """Bounded walk over a schema. It descends only into subschemas, never into plain data."""

    def __init__(self, raw: CompiledSchema, *, moves: bool) -> None:
        self._raw = raw
        self._moves = moves
        self._count = 0
        self._known: set[str] = set()
        """Reference targets: identifiers, and identifiers with anchors."""
        self._references: list[tuple[str, str]] = []
        """Pairs of base URI and reference."""

    def run(self) -> None:
        """Check the schema and its references.

        Raises:
            UsageError: For the first fault.
        """
        self._walk(self._raw.schema, "", 0)
        for base, reference in self._references:
            whole = urljoin(base, reference)
            document, fragment = urldefrag(whole)
            if document.rstrip("#") in DIALECTS:
                continue
            if document and document not in self._known:
                raise self._error(
                    f"`{reference}` is another document, and none is fetched: copy what you "
                    "need of it under `$defs`"
                )
            stays = fragment.startswith("/") or not fragment
            if self._moves and not document and stays and not fragment.startswith(_RELOCATED):
                raise self._error(f"put what `{reference}` refers to under `$defs`")
            if fragment.startswith("/") and not document:
                self._resolve_pointer(reference, fragment)
            elif fragment and not fragment.startswith("/") and whole not in self._known:
                raise self._error(f"`{reference}` refers to an anchor that is not there")

    def _resolve_pointer(self, reference: str, pointer: str) -> None:
        found: Any = self._raw.schema
        for step in unquote(pointer).split("/")[1:]:
            step = step.replace("~1", "/").replace("~0", "~")
            try:
                found = found[int(step) if type(found) is list else step]
            except (KeyError, IndexError, TypeError, ValueError):
                raise self._error(f"`{reference}` refers to what is not there") from None

    def _walk(self, schema: Any, base: str, depth: int) -> None:
        if isinstance(schema, bool):
            return
        if not isinstance(schema, dict):
            raise self._error(f"expected a schema, got {type(schema).__name__}")
        self._count += 1
        if depth > MAX_DEPTH or self._count > MAX_SUBSCHEMAS:
            raise self._error(
                f"more than {MAX_DEPTH} schemas in each other, or {MAX_SUBSCHEMAS} in all"
            )
        members = cast("dict[str, Any]", schema)
        base = self._register_identifiers(members, base)
        for keyword in _REFERENCES:
            reference = members.get(keyword)
            if isinstance(reference, str):
                self._references.append((base, reference))
        for subschema in self._subschemas(members):
            self._walk(subschema, base, depth + 1)

    def _register_identifiers(self, schema: Mapping[str, Any], base: str) -> str:
        dialect = schema.get("$schema")
        if dialect is not None and str(dialect).rstrip("#") not in DIALECTS:
            raise self._error(
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

    def _subschemas(self, schema: Mapping[str, Any]) -> Iterator[Any]:
        for keyword, value in schema.items():
            if keyword in _MAP:
                if not isinstance(value, dict):
                    raise self._error(f"`{keyword}`: expected an object of schemas")
                members = cast("dict[str, Any]", value)
                # In old drafts a dependency can be a list of names.
                yield from (one for one in members.values() if not isinstance(one, list))
            elif keyword in _LIST and isinstance(value, list):
                yield from value
            elif keyword in _SCHEMA:
                yield value
            elif keyword in _LIST:
                raise self._error(f"`{keyword}`: expected a list of schemas")

    def _error(self, what: str) -> UsageError:
        return UsageError(f"{self._raw.what}: {what}")
