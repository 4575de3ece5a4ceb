"""Reads one revision's inputs: the stored schema with its hash, and its facts."""

import hashlib
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, TypeGuard

from codegen.errors import CodegenError
from codegen.schema.structure import definitions, parse_schema, without_prose

Object: TypeAlias = dict[str, Any]
"""A JSON object: a schema, or a table of schemas or facts."""


@dataclass(frozen=True)
class Source:
    """One revision's inputs: definitions, facts and origin."""

    revision: str
    label: str
    sha256: str
    definitions: Object
    facts: Object


def is_object(value: Any) -> TypeGuard[Object]:
    return isinstance(value, dict)


def is_array(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def read_toml(path: Path) -> Object:
    """Read and parse a TOML file.

    Raises:
        CodegenError: there is no such file, or it is not TOML.
    """
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError as error:
        raise CodegenError(f"{path}: no such file; write it after another revision's") from error
    except tomllib.TOMLDecodeError as error:
        raise CodegenError(f"{path}: {error}") from error


def load(schema: Path, facts: Path | None, revision: str, label: str) -> Source:
    """Read and check one schema file and its facts.

    Raises:
        CodegenError: not JSON, no definitions, or a JSON Schema keyword nobody has taught us.
    """
    try:
        data = schema.read_bytes()
    except OSError as error:
        raise CodegenError(f"{label}: cannot read it ({error}); give the schema.json") from error
    try:
        document: Any = without_prose(parse_schema(data))
    except CodegenError as error:
        raise CodegenError(f"{label}: {error}") from error
    stated = read_toml(facts) if facts else {}
    sha256 = hashlib.sha256(data).hexdigest()
    return Source(revision, label, sha256, definitions(document), stated)
