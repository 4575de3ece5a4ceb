"""JSON Schemas that a server sent: compiled when used, never fetched, and bounded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jsonschema_rs

from mcp_gen.core.errors import ProtocolError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["OutputSchema", "OutputSchemaError"]

MAX_MESSAGE = 250
"""Characters of what is said of a value that does not fit: it may have members of any name."""


class OutputSchemaError(ValueError):
    """A value that does not fit; the message ends in the path."""


class OutputSchema:
    """A schema of dialect 2020-12, or of what its `$schema` says.

    It may refer to itself, but not to other documents: nothing is fetched.

    Raises:
        ProtocolError: it is no schema, or refers to another document.

    Source: https://modelcontextprotocol.io/specification/2026-07-28/basic#json-schema-usage
    """

    def __init__(self, schema: Any) -> None:
        try:
            self._validator = jsonschema_rs.validator_for(
                schema, retriever=_refuse, mask="the value", ignore_unknown_formats=True
            )
        except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
            said = getattr(error, "message", None) or str(error)
            raise ProtocolError(f"the server's schema is none: {_short(said)}") from None

    def check(self, value: Any) -> None:
        """Compare plain JSON with the schema; the first difference is told.

        Raises:
            SchemaError: it does not fit.
        """
        try:
            self._validator.validate(value)
        except jsonschema_rs.ValidationError as error:
            raise OutputSchemaError(
                f"{_short(error.message)} - at `{_short(_path(error.instance_path))}`"
            ) from None


def _refuse(uri: str) -> Any:
    raise ValueError(f"{uri} is another document")


def _short(text: str) -> str:
    return text if len(text) <= MAX_MESSAGE else f"{text[:MAX_MESSAGE]}..."


def _path(steps: Sequence[str | int]) -> str:
    return "$" + "".join(f"[{one}]" if isinstance(one, int) else f".{one}" for one in steps)
