"""Validates frames against the published schema of their revision; does not check closedness."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs

import mcp_wire

__all__ = ["Published", "published"]

SCHEMAS = Path(__file__).parents[3] / "schema"


class Published:
    """Schema of one revision. Each check returns an error text, or nothing for a valid frame."""

    def __init__(self, revision: str) -> None:
        document = json.loads((SCHEMAS / revision / "schema.json").read_bytes())
        self._root = "$defs" if "$defs" in document else "definitions"
        self._document = document
        self._definitions: dict[str, Any] = document[self._root]
        self._methods = mcp_wire.profile(revision).methods
        self._messages: dict[str, list[str]] = {}
        self._errors: dict[int, str] = {}
        self._failures: dict[int, str] = {}
        for name, schema in self._definitions.items():
            method = _const(schema, "method")
            if method:
                self._messages.setdefault(method, []).append(name)
            self._errors |= dict.fromkeys(_codes(schema), name)
            error = schema.get("properties", {}).get("error", {})
            self._failures |= dict.fromkeys(_codes(error), name)

    def prepare(self) -> None:
        """Make all validators that messages of a server can need, which else are made on demand."""
        names = {*self._errors.values(), *self._failures.values()}
        for method in self._methods.values():
            names |= {getattr(kind, "__name__", "") for kind in method.results}
            names.update(self._messages.get(method.name, ()))
        for name in sorted(names & self._definitions.keys()):
            self._validator(name)

    def message(self, frame: dict[str, Any]) -> list[str]:
        """Check a request or a notification."""
        return self._any_of(self._messages.get(frame["method"], []), frame)

    def result(self, method: str, result: Any) -> list[str]:
        """Check the result of a method."""
        known = self._methods.get(method)
        kinds = known.results if known else ()
        names = [getattr(kind, "__name__", "") for kind in kinds]
        asks = isinstance(result, dict) and result.get("resultType") == "input_required"
        return self._any_of(
            # Results are open: a list would be a valid request for input.
            [n for n in names if n in self._definitions and (n == "InputRequiredResult") == asks],
            result,
        )

    def error(self, frame: dict[str, Any]) -> list[str]:
        """Check an error response. Until 2025-06-18 the schema defines none without an id."""
        whole = next(n for n in ("JSONRPCErrorResponse", "JSONRPCError") if n in self._definitions)
        code = frame["error"].get("code")
        found = self._any_of([self._errors[code]], frame["error"]) if code in self._errors else []
        if "id" in frame:
            found += self._any_of([self._failures.get(code, whole)], frame)
        return found

    def _any_of(self, names: Iterable[str], value: Any) -> list[str]:
        """Return the errors of the first definition, if the value fits none of them."""
        wrong: list[list[str]] = []
        for name in names:
            found = [
                f"{name}: {error.message} - at {'/'.join(map(str, error.instance_path))}"
                for error in self._validator(name).iter_errors(value)
            ]
            if not found:
                return []
            wrong.append(found)
        return wrong[0] if wrong else []

    @cache  # noqa: B019 - there is one of these per revision, for as long as the tests run
    def _validator(self, name: str) -> Any:
        whole = {**self._document, "$ref": f"#/{self._root}/{name}"}
        return jsonschema_rs.validator_for(
            whole, validate_formats=True, formats={"byte": _is_base64}
        )


def _const(schema: dict[str, Any], key: str) -> Any:
    return schema.get("properties", {}).get(key, {}).get("const")


def _codes(schema: dict[str, Any]) -> Iterator[int]:
    """Return the error code of a schema."""
    for part in [schema, *schema.get("allOf", ())]:
        code = _const(part, "code")
        if code is not None:
            yield code


def _is_base64(text: str) -> bool:
    try:
        base64.b64decode(text, validate=True)
    except binascii.Error:
        return False
    return True


@cache
def published(revision: str) -> Published:
    """Return the schema of a revision, which is read once."""
    return Published(revision)
