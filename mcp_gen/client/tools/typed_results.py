"""What a tool returned, as a type of the program's own: compared with its schema first."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TypeVar, cast

import msgspec
from msgspec import UNSET

from mcp_gen.client.tools.result_content import text_of
from mcp_gen.core.errors import InvalidParams, ProtocolError, ToolError, UsageError

if TYPE_CHECKING:
    from mcp_gen.client.requests.session_calls import ClientSessionView
    from mcp_gen.client.tools.output_schema import OutputSchema
    from mcp_wire import common

__all__ = ["TypedResults"]

T = TypeVar("T")

_WRAPPED = "result"
"""The key under which servers put data that is no object, where data must be one."""


class TypedResults:
    """The output schemas of one server's tools, and results read by them."""

    def __init__(self, session: ClientSessionView) -> None:
        self._session = session
        self._tools: dict[str, Any] | None = None
        """The tools by name, once the list was read; None when there are others now."""
        self._schemas: dict[str, OutputSchema] = {}

    def forget(self) -> None:
        """There are other tools now."""
        self._tools = None
        self._schemas.clear()

    async def tool(self, name: str) -> Any:
        """A tool as it was listed; None if it was not."""
        if self._tools is None:
            self._tools = {one.name: one async for one in self._session.tools()}
        return self._tools.get(name)

    async def read(self, name: str, result: common.CallToolResult, kind: type[T]) -> T:
        """What the tool returned, as a `kind`.

        Raises:
            ToolError: the tool failed; the message is what it says about it.
            InvalidParams: no data, data that does not fit the tool's schema, or no `kind`.
            ProtocolError: the call was answered with a result of an extension.
        """
        if not hasattr(result, "is_error"):
            kind_of_result = type(result).__name__
            raise ProtocolError(f"{name}: answered with {kind_of_result}; call without `returns`")
        if result.is_error:
            raise ToolError(text_of(result) or f"{name}: the tool failed and does not say how")
        data: Any = getattr(result, "structured_content", UNSET)
        if data is None and not hasattr(type(result), "result_type"):
            data = UNSET  # JSON's null is data only where any JSON may be
        if await self._fits(name, data):
            return _converted(name, data, kind)
        return _from_text(name, text_of(result), kind)

    async def _fits(self, name: str, data: Any) -> bool:
        """Whether there is data, and it is what was promised; False if there is none."""
        if self._tools is not None:
            try:
                return await self._check(name, data)
            except InvalidParams:
                # The server may have another version of the tool by now.
                self.forget()
        return await self._check(name, data)

    async def _check(self, name: str, data: Any) -> bool:
        tool = await self.tool(name)
        promised = getattr(tool, "output_schema", None)
        if promised is None:
            return data is not UNSET
        if data is UNSET:
            raise InvalidParams(f"{name}: the tool promised structured content, and gave none")
        # The validator is loaded with the first output schema.
        from mcp_gen.client.tools.output_schema import OutputSchema, OutputSchemaError

        schema = self._schemas.get(name)
        if schema is None:
            schema = self._schemas[name] = OutputSchema(msgspec.to_builtins(promised))
        try:
            schema.check(data)
        except OutputSchemaError as error:
            raise InvalidParams(f"{name}: not what the tool promised: {error}") from None
        return True


def _converted(name: str, data: Any, kind: type[T]) -> T:
    """The data as a `kind`; or what it holds as its only member, where it has to be an object."""
    try:
        return _convert(data, kind)
    except msgspec.ValidationError as error:
        said = str(error)
    if data.__class__ is dict and data.keys() == {_WRAPPED}:
        try:
            return _convert(data[_WRAPPED], kind)
        except msgspec.ValidationError as error:
            said = str(error)
    raise InvalidParams(f"{name}: {said}")


def _from_text(name: str, text: str, kind: type[T]) -> T:
    """The text as a `kind`: servers of revisions without structured content write JSON."""
    if kind is str:
        return cast("T", text)
    try:
        return _converted(name, msgspec.json.decode(text), kind)
    except msgspec.DecodeError:
        raise InvalidParams(f"{name}: expected data, got text that is no JSON") from None


def _convert(data: Any, kind: type[T]) -> T:
    try:
        return msgspec.convert(data, kind, dec_hook=_by_pydantic)
    except TypeError as error:
        raise UsageError(f"returns={kind!r}: {error}") from None


def _by_pydantic(kind: type[Any], data: Any) -> Any:
    pydantic: Any = sys.modules.get("pydantic")
    if pydantic is None:
        raise UsageError(f"returns: nothing reads {kind.__name__}")
    try:
        return pydantic.TypeAdapter(kind).validate_python(data)
    except pydantic.errors.PydanticUserError:
        raise UsageError(f"returns: nothing reads {kind.__name__}") from None
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        below = "".join(f"[{one}]" if isinstance(one, int) else f".{one}" for one in first["loc"])
        raise ValueError(f"{first['msg']} - at `${below}`") from None
