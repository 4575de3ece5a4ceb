"""Typed results: `call_tool(returns=T)` validates structured content and converts it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec import UNSET

from mcp_gen.client.tools.result_content import text_of, texts_of
from mcp_gen.core.errors import (
    InvalidResult,
    ProtocolError,
    SchemaNotChecked,
    ToolError,
    UncheckedResult,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_gen.client.requests.session_calls import ClientSessionView
    from mcp_gen.client.tools.output_schema import OutputSchema
    from mcp_wire import common

__all__ = ["TypedResults", "read_as"]

T = TypeVar("T")


class TypedResults:
    """Reads tool results as Python types; keeps the output schemas of the server's tools.

    Args:
        session: The session.
        schema_timeout_s: Seconds that a check in the worker process may take.
        report: Called with the path of each output schema that could not be checked, and why.
    """

    def __init__(
        self,
        session: ClientSessionView,
        *,
        schema_timeout_s: float,
        report: Callable[[str, str], None],
    ) -> None:
        self._session = session
        self._schema_timeout_s = schema_timeout_s
        self._report = report
        self._tools: dict[str, Any] | None = None
        """The tools by name; None until they are listed, and after a list_changed notification."""
        self._schemas: dict[str, OutputSchema] = {}

    def forget(self) -> None:
        """Drop the listed tools and schemas: the tool list has changed."""
        self._tools = None
        self._schemas.clear()

    async def tool(self, name: str) -> Any:
        """Return a listed tool; None if the server does not list it."""
        if self._tools is None:
            self._tools = {one.name: one async for one in self._session.tools()}
        return self._tools.get(name)

    async def read(self, name: str, result: common.CallToolResult, returns: Any) -> Any:
        """Return what a tool gave as a `returns`: its structured content, or its text without one.

        Structured content is validated by the output schema.

        Raises:
            ToolError: The tool failed; the message is the text of the result.
            InvalidResult: There is no data, or it does not fit the output schema or the type.
            UncheckedResult: The output schema takes too long to check.
            ProtocolError: The call was answered with a result of an extension.
        """
        if not hasattr(result, "is_error"):
            kind_of_result = type(result).__name__
            raise ProtocolError(f"{name}: answered with {kind_of_result}; call without `returns`")
        if result.is_error:
            raise ToolError(text_of(result) or f"{name}: the tool failed and does not say how")
        # Loaded with the first typed result: it imports every type that JSON carries.
        from mcp_gen.values.tool_results import (
            is_wrapped,
            value_of_content,
            value_of_data,
            wraps,
        )

        data: Any = getattr(result, "structured_content", UNSET)
        if data is None and self._session.profile.structured_content != "any":
            data = UNSET  # null is data only at revisions that allow any JSON
        if await self._has_valid_data(name, data):
            schema = None
            if is_wrapped(data):
                # Where data must be an object, other values are in one: the schema tells.
                schema = getattr(await self.tool(name), "output_schema", None)
            return value_of_data(name, data, returns, unwrap=wraps(schema))
        return value_of_content(name, texts_of(result), returns, is_empty=not result.content)

    async def _has_valid_data(self, name: str, data: Any) -> bool:
        """Return True if there is valid data, False if there is none and none is required."""
        if self._tools is not None:
            try:
                return await self._check(name, data)
            except UncheckedResult:
                raise
            except InvalidResult:
                # The listed schema may be outdated: list the tools again and recheck.
                self.forget()
        return await self._check(name, data)

    async def _check(self, name: str, data: Any) -> bool:
        tool = await self.tool(name)
        schema_of_tool = getattr(tool, "output_schema", None)
        if schema_of_tool is None:
            return data is not UNSET
        if data is UNSET:
            raise InvalidResult(f"{name}: the tool promised structured content, and gave none")
        # Loaded with the first output schema.
        from mcp_gen.client.tools.output_schema import OutputSchema, OutputSchemaError

        schema = self._schemas.get(name)
        if schema is None:
            schema = self._schemas[name] = OutputSchema(msgspec.to_builtins(schema_of_tool))
        try:
            if not schema.checked(data):
                await schema.check_in_worker(data, self._schema_timeout_s)
        except OutputSchemaError as error:
            raise InvalidResult(f"{name}: not what the tool promised: {error}") from None
        except SchemaNotChecked as error:
            self._report(f"$.tools[{name!r}].outputSchema", str(error))
            raise UncheckedResult(
                f"{name}: the result was not checked by the server's output schema: {error}"
            ) from None
        return True


def read_as(name: str, data: Any, returns: Any) -> Any:
    """Return the result of a custom request, a JSON object, as a type.

    Args:
        name: Name of the method.
        data: The JSON object.
        returns: The type.

    Raises:
        InvalidResult: The object does not fit the type; the message ends in the path.
        UsageError: Nothing reads the type.
    """
    # Loaded with the first typed result: it imports every type that JSON carries.
    from mcp_gen.values.reading import read_value

    try:
        return read_value(data, returns, f"returns={returns!r}")
    except msgspec.ValidationError as error:
        raise InvalidResult(f"{name}: the server's result: {error}") from None
