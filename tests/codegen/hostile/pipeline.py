"""The generator on bare definitions, in memory: model, wire types and pydantic models."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pydantic

from codegen.emit.pydantic_models import models
from codegen.emit.python_text import picked
from codegen.emit.renderer import Renderer, names
from codegen.model import ir
from codegen.model.build import build
from codegen.model.docs import NO_DOCS
from codegen.model.normalize import normalize
from codegen.model.overlay import Overlay
from codegen.schema.load import Source, source_of
from mcp_wire.base import arm_pickers, arm_readers, decode, encode

_HEADER = "# of a test"
_numbers = count(1)


def source(document: bytes) -> Source:
    """Return the source of a revision of its own name; each call has another one."""
    return source_of(document, {}, f"hostile-{next(_numbers)}", "schema.json")


def model(document: bytes, overlay: Path) -> ir.Revision:
    """Return the model of a schema's text.

    Raises:
        CodegenError: what stopped, all of it.
    """
    read = source(document)
    rows = Overlay(overlay)
    made = build(read, normalize(read, rows), rows)
    read.stops.check()
    return made


@cache
def _renderer() -> Renderer:
    return Renderer(NO_DOCS)


@dataclass(frozen=True)
class Surfaces:
    """The generated modules of one schema, imported."""

    types: ModuleType
    models: ModuleType | None

    def decodes(self, name: str, data: bytes) -> bool:
        """Return True if the wire type takes the JSON; any error but its own is raised."""
        try:
            decode(getattr(self.types, name), data)
        except msgspec.ValidationError:
            return False
        return True

    def round_trip(self, name: str, data: bytes) -> Any:
        """Return the JSON that is made of what the wire type decodes.

        Raises:
            msgspec.ValidationError: the JSON is not of this type.
        """
        return msgspec.json.decode(encode(decode(getattr(self.types, name), data)))

    def validates(self, name: str, data: bytes) -> bool:
        """Return True if the pydantic model takes the JSON."""
        adapter = pydantic.TypeAdapter[Any](getattr(self.models, name))
        try:
            adapter.validate_json(data, by_alias=True, by_name=False)
        except pydantic.ValidationError:
            return False
        return True


@contextmanager
def surfaces(made: ir.Revision, *, pydantic: bool = True) -> Generator[Surfaces]:
    """Import the generated modules of a model; they are gone after the block."""
    home = f"mcp_wire.{made.module}"
    there = ModuleType(home)
    sys.modules[home] = there
    try:
        values = {"header": _HEADER, "r": made, "names": names(made)}
        types = _imported(f"{home}.types", _renderer()("types", values))
        vars(there)["types"] = types
        if picked(made):
            _imported(f"{home}.untagged", _renderer()("untagged", values)).register()
        _imported(f"{home}.methods", _renderer()("methods", values))
        text = models(made, {}, _renderer()) if pydantic else ""
        validating = _imported(f"mcp_wire.pydantic.{made.module}", text) if pydantic else None
        yield Surfaces(types, validating)
    finally:
        for name in [one for one in sys.modules if one.rpartition(".")[2] == made.module]:
            del sys.modules[name]
        for part in ("types", "methods", "untagged"):
            sys.modules.pop(f"{home}.{part}", None)
        arm_readers.pop(f"{home}.types", None)
        arm_pickers.pop(f"{home}.types", None)


def _imported(name: str, text: str) -> ModuleType:
    module = ModuleType(name)
    sys.modules[name] = module
    # Compiled without the formatter, so that what it would refuse shows.
    exec(compile(text, f"{name}.py", "exec"), vars(module))
    return module
