"""Output schemas from servers: compiled on first use, self-contained, with bounded messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jsonschema_rs

from mcp_gen.core.errors import ProtocolError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["OutputSchema", "OutputSchemaError"]

MAX_MESSAGE = 250
"""Maximum number of characters of a message about a value: its keys may be of any length."""


class OutputSchemaError(ValueError):
    """Value that does not fit a schema; the message ends in the path."""


class OutputSchema:
    """A JSON Schema from a server, of dialect 2020-12 or the one that `$schema` names.

    The schema may refer to its own parts, but not to other documents: nothing is fetched.

    Args:
        schema: The schema as plain JSON.

    Raises:
        ProtocolError: The schema is invalid, or refers to another document.

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
        """Validate plain JSON against the schema; report the first mismatch.

        Raises:
            OutputSchemaError: The value does not fit.
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
