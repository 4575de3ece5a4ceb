"""Schemas from servers: vetted and compiled on first use, self-contained, with bounded messages."""

from __future__ import annotations

from typing import Any

from mcp_gen.core.errors import ProtocolError, SchemaNotChecked
from mcp_gen.schemas.schema import BadSchema, JsonSchema, Misfit, NeedsWorker

__all__ = ["OutputSchema", "OutputSchemaError"]


class OutputSchemaError(ValueError):
    """Value that does not fit a schema; the message ends in the path."""


class OutputSchema:
    """A JSON Schema from a server, of dialect 2020-12 or the one that `$schema` names.

    The schema may refer to its own parts, but not to other documents: nothing is fetched. One that
    could take long to check is checked in a worker process.

    Args:
        schema: The schema as plain JSON.

    Source: https://modelcontextprotocol.io/specification/2026-07-28/basic#json-schema-usage
    """

    def __init__(self, schema: Any) -> None:
        self._schema = JsonSchema(schema)

    def checked(self, value: Any) -> bool:
        """Validate plain JSON in this process; return False if `check_in_worker` is needed.

        Raises:
            OutputSchemaError: The value does not fit.
            ProtocolError: The schema is invalid, or refers to another document.
        """
        try:
            self._schema.check(value)
        except NeedsWorker:
            return False
        except Misfit as error:
            raise OutputSchemaError(error.at()) from None
        except BadSchema as error:
            raise _no_schema(error) from None
        return True

    async def check_in_worker(self, value: Any, timeout_s: float) -> None:
        """Validate plain JSON in the worker process; report the first mismatch.

        Args:
            value: Plain JSON.
            timeout_s: Seconds that the check may take.

        Raises:
            OutputSchemaError: The value does not fit.
            ProtocolError: The schema is invalid, or refers to another document.
            SchemaNotChecked: The check took too long.
        """
        # Most clients need no worker.
        from mcp_gen.schemas.process import check_in_worker

        try:
            await check_in_worker(self._schema, value, timeout_s)
        except Misfit as error:
            raise OutputSchemaError(error.at()) from None
        except BadSchema as error:
            raise _no_schema(error) from None
        except SchemaNotChecked as error:
            raise SchemaNotChecked(f"{error}{self._schema.because}") from None


def _no_schema(error: BadSchema) -> ProtocolError:
    return ProtocolError(f"the server's schema is none: {error}")
