"""The five revisions for the tests: kept schema, generator's model and generated module."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import mcp_wire
from codegen.__main__ import read
from codegen.model import ir
from codegen.model.normalize import Normalized, normalize
from codegen.model.overlay import Overlay
from codegen.schema.load import load
from codegen.verify.as_read import complete, container
from codegen.verify.instances import Choose, instance
from codegen.verify.rows import Rows

SCHEMAS = Path(__file__).parents[2] / "schema"

every_revision = pytest.mark.parametrize("revision", mcp_wire.REVISIONS)


@cache
def overlay_rows(kind: str) -> list[dict[str, Any]]:
    """Return the rows of one kind, as in the overlay."""
    rows: list[dict[str, Any]] = tomllib.loads((SCHEMAS / "overlay.toml").read_text("utf-8"))[kind]
    return rows


@dataclass(frozen=True)
class Kept:
    """Inputs and output of one revision."""

    revision: str

    @property
    def folder(self) -> Path:
        return SCHEMAS / self.revision

    @cached_property
    def facts(self) -> dict[str, Any]:
        return tomllib.loads((self.folder / "facts.toml").read_text("utf-8"))

    @cached_property
    def document(self) -> dict[str, Any]:
        """The kept schema."""
        found: dict[str, Any] = json.loads((self.folder / "schema.json").read_bytes())
        return found

    @cached_property
    def deviations(self) -> Rows:
        """The overlay's rows that say how decoding deviates from the kept schema."""
        return Rows.of(Overlay(SCHEMAS / "overlay.toml"), self.revision)

    @cached_property
    def complete(self) -> dict[str, Any]:
        """The kept schema with the constants of its values, and without keys that are dropped."""
        return complete(self.document, self.deviations)

    @property
    def definitions(self) -> dict[str, Any]:
        """Definitions of the kept schema, with the constants of its values."""
        found: dict[str, Any] = self.complete[container(self.complete)]
        return found

    @property
    def decoded(self) -> list[str]:
        """Names of the definitions that have a decoder."""
        return [name for name in self.definitions if name not in self.types.NOT_DECODED]

    @cached_property
    def model(self) -> ir.Revision:
        return read(self.folder, Overlay(SCHEMAS / "overlay.toml"))

    @cached_property
    def _normalized(self) -> Normalized:
        overlay = Overlay(SCHEMAS / "overlay.toml")
        source = load(self.folder / "schema.json", None, self.revision, self.revision)
        return normalize(source, overlay)

    @property
    def normalized(self) -> dict[str, Any]:
        """Definitions after normalisation, including the types that the overlay names."""
        return self._normalized.definitions

    @property
    def origins(self) -> dict[str, str]:
        """For each of them the path in the kept schema that it was made from."""
        return self._normalized.origins

    @cached_property
    def types(self) -> ModuleType:
        return import_module(f"{mcp_wire.types(self.revision).__name__}.types")

    @cached_property
    def methods(self) -> ModuleType:
        return import_module(f"{mcp_wire.types(self.revision).__name__}.methods")

    def named(self, name: str) -> Any:
        return getattr(self.types, name)

    def listed(self, kind: str) -> set[str]:
        """Return the names in the rows of one kind for this revision."""
        return {name for row in self.rows(kind) for name in row["names"]}

    def instance(self, name: str, choose: Choose) -> Any:
        """Return an instance of a definition of the kept schema."""
        return instance(self.complete, self.definitions[name], choose)

    def minimal(self, name: str) -> Any:
        """Return the smallest instance of any struct or scalar, those of the overlay included."""
        return instance({"$defs": self.normalized}, self.normalized[name], smallest)

    def rows(self, kind: str) -> list[dict[str, Any]]:
        here = self.revision
        return [row for row in overlay_rows(kind) if here in row.get("revisions", [here])]


@cache
def kept(revision: str) -> Kept:
    return Kept(revision)


def smallest(choices: Any) -> Any:
    return choices[0]


def fullest(choices: Any) -> Any:
    return choices[-1]


def text(value: Any) -> str:
    """Return JSON text in one spelling: unlike Python's, its equality tells 1 from 1.0 and true."""
    return json.dumps(value, sort_keys=True)
