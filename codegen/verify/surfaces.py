"""The two generated surfaces of one revision, behind one face: JSON in, verdict and JSON out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

import msgspec

from codegen.model.names import module
from codegen.schema.json_values import is_array, is_object


@dataclass(frozen=True)
class Outcome:
    """Outcome of one JSON text on one surface."""

    problem: str = ""
    """Reason of the refusal; empty if it was accepted."""
    back: bytes = b""
    """JSON that came back when it was encoded again."""
    crashed: bool = False
    """The problem is another error than the surface documents."""

    def __str__(self) -> str:
        return f"refused: {self.problem}" if self.problem else f"accepted as {self.back.decode()}"


class Surface(Protocol):
    """The types of one revision that read and write JSON."""

    @property
    def name(self) -> str: ...

    def reads(self, definition: str) -> Callable[[bytes], Outcome]:
        """Return a function that decodes and encodes values of a definition.

        Raises:
            AttributeError: there is no such type.
        """
        ...


class WireSurface:
    """The wire types, as `mcp_wire.decode` and `encode` read and write them."""

    name = "msgspec"

    def __init__(self, revision: str) -> None:
        package = import_module("mcp_wire")
        self._decode = package.decode
        self._encode = package.encode
        self.types = import_module(f"mcp_wire.{module(revision)}.types")

    def reads(self, definition: str) -> Callable[[bytes], Outcome]:
        kind, decode, encode = getattr(self.types, definition), self._decode, self._encode

        def read(data: bytes) -> Outcome:
            try:
                return Outcome(back=encode(decode(kind, data)))
            except msgspec.ValidationError as error:
                return Outcome(str(error) or "no reason")
            except Exception as error:
                return Outcome(_crash(error), crashed=True)

        return read


class PydanticSurface:
    """The models; they are encoded by way of the wire types, as `from_pydantic` makes them."""

    name = "pydantic"

    def __init__(self, revision: str) -> None:
        # Imported when a program verifies: only then pydantic has to be there.
        pydantic = import_module("pydantic")
        package = import_module("mcp_wire.pydantic")
        self._adapter = pydantic.TypeAdapter
        self._refusal: type[Exception] = pydantic.ValidationError
        self._model: type[Any] = package.WireModel
        self._from_pydantic: Callable[[Any], Any] = package.from_pydantic
        self._encode: Callable[[Any], bytes] = import_module("mcp_wire").encode
        self._models = import_module(f"mcp_wire.pydantic.{module(revision)}")

    def reads(self, definition: str) -> Callable[[bytes], Outcome]:
        validate = self._adapter(getattr(self._models, definition)).validate_json

        def read(data: bytes) -> Outcome:
            try:
                value = validate(data)
            except self._refusal as error:
                return Outcome(_first_problem(error))
            except Exception as error:
                return Outcome(_crash(error), crashed=True)
            try:
                return Outcome(back=self._encode(self._wired(value)))
            except Exception as error:
                return Outcome(_crash(error), crashed=True)

        return read

    def _wired(self, value: Any) -> Any:
        """Return a value with the wire types of the models in it."""
        if isinstance(value, self._model):
            return self._from_pydantic(value)
        if is_object(value):
            return {key: self._wired(one) for key, one in value.items()}
        return [self._wired(one) for one in value] if is_array(value) else value


def _first_problem(error: Any) -> str:
    """Return kind, message and place of the first error that pydantic names."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = ".".join(map(str, first["loc"]))
    return f"{first['type']}: {first['msg']} - at `{place}`"


def _crash(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
