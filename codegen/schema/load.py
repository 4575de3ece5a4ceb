"""Reads one revision's inputs: the stored schema with its hash, and its facts."""

import hashlib
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from codegen.errors import CodegenError, Stop, Stops
from codegen.schema.json_values import Object
from codegen.schema.keywords import KEYWORDS, Role
from codegen.schema.structure import container, definitions, parse_schema, structure


@dataclass(frozen=True)
class Source:
    """One revision's inputs: definitions, facts and origin."""

    revision: str
    label: str
    sha256: str
    definitions: Object
    facts: Object
    container: str = "$defs"
    """Keyword under which the file has its definitions."""
    stops: Stops = field(default_factory=Stops, compare=False)
    """Stops of all stages."""


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
        CodegenError: not JSON, or no definitions.
    """
    try:
        data = schema.read_bytes()
    except OSError as error:
        raise CodegenError(f"{label}: cannot read it ({error}); give the schema.json") from error
    return source_of(data, read_toml(facts) if facts else {}, revision, label)


def source_of(data: bytes, facts: Object, revision: str, label: str) -> Source:
    """Check the text of a schema and return it with its facts.

    Raises:
        CodegenError: not JSON, or no definitions.
    """
    try:
        document = structure(parse_schema(data))
    except CodegenError as error:
        raise CodegenError(f"{label}: {error}") from error
    sha256 = hashlib.sha256(data).hexdigest()
    source = Source(revision, label, sha256, definitions(document), facts, container(document))
    source.stops.add(_beside_definitions(document, revision))
    return source


def _beside_definitions(document: Object, revision: str) -> Iterator[Stop]:
    """Yield what stands at the root beside the definitions and says what is valid."""
    for word in document:
        known = KEYWORDS.get(word)
        if known is None or known.role not in (Role.ROOT, Role.NOTE):
            yield Stop(
                revision,
                "#",
                f"`{word}` beside the definitions",
                "move it to a definition of its own",
            )
    if "$defs" in document and "definitions" in document:
        yield Stop(revision, "#/definitions", "definitions beside `$defs`", "move them to `$defs`")
