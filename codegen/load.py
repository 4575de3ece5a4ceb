"""Reads one revision's inputs: the kept schema with its hash, and the facts its prose states."""

import hashlib
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from codegen.errors import CodegenError
from codegen.structure import definitions, parse_schema, without_prose

Json = dict[str, Any]


@dataclass(frozen=True)
class Source:
    """One revision as it lies in `schema/`: definitions, facts, and where they came from."""

    revision: str
    label: str
    sha256: str
    definitions: Json
    facts: Json


def load(schema: Path, facts: Path | None, revision: str, label: str) -> Source:
    """Read and check one schema file and its facts.

    Raises:
        CodegenError: not JSON, no definitions, or a JSON Schema keyword nobody has taught us.
    """
    data = schema.read_bytes()
    try:
        document = cast("dict[str, Any]", without_prose(cast("Any", parse_schema(data))))
    except CodegenError as error:
        raise CodegenError(f"{label}: {error}") from error
    stated = tomllib.loads(facts.read_text("utf-8")) if facts else {}
    sha256 = hashlib.sha256(data).hexdigest()
    return Source(revision, label, sha256, definitions(document), stated)
