"""Smallest schema, with one request, in a folder of its own; tests change it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from codegen.__main__ import generate
from codegen.errors import CodegenError

REVISION = "2030-01-01"

CAPABILITY = """
[[capability]]
method = "echo"
path = "echo"
reason = "a test"
"""

FACTS = f'revision = "{REVISION}"\nspec = "https://example.com/{REVISION}"\n'


def ref(name: str) -> dict[str, Any]:
    """Return a reference to a definition."""
    return {"$ref": f"#/$defs/{name}"}


def union(*names: str) -> dict[str, Any]:
    """Return the union of these definitions."""
    return {"anyOf": [ref(name) for name in names]}


def const(value: str) -> dict[str, Any]:
    """Return the schema of a constant string."""
    return {"const": value, "type": "string"}


def struct(**properties: Any) -> dict[str, Any]:
    """Return an object with these properties, all of them required."""
    return {"type": "object", "properties": properties, "required": sorted(properties)}


STRING = {"type": "string"}

DEFINITIONS = {
    "ClientRequest": union("EchoRequest"),
    "EchoRequest": struct(method=const("echo"), params=ref("EchoRequestParams")),
    "EchoRequestParams": struct(text=STRING),
    "EchoResult": struct(text=STRING),
    "ServerCapabilities": struct(echo={"type": "object"}),
}


def checkout(
    folder: Path,
    definitions: dict[str, Any] | None = None,
    *,
    overlay: str = CAPABILITY,
    facts: str | None = None,
    revision: str = REVISION,
) -> Path:
    """Write `schema/`: the tiny schema with these definitions; None leaves one out."""
    there = {**DEFINITIONS, **(definitions or {})}
    schema = {"$defs": {name: value for name, value in there.items() if value is not None}}
    (folder / "schema" / revision).mkdir(parents=True, exist_ok=True)
    (folder / "schema" / revision / "schema.json").write_text(json.dumps(schema))
    given = FACTS.replace(REVISION, revision) if facts is None else facts
    (folder / "schema" / revision / "facts.toml").write_text(given)
    (folder / "schema" / "overlay.toml").write_text(overlay)
    return folder


def stopped(root: Path) -> str:
    """Return the message with which the generator stops."""
    with pytest.raises(CodegenError) as caught:
        generate(root)
    return str(caught.value)
