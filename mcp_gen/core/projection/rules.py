"""The rewrite rules of projection: values that a revision can only represent in another form.

The mechanical part, fields of the same name, is in `project.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import msgspec
from msgspec import Struct

from mcp_gen.core.errors import ProjectionError
from mcp_wire import UNSET, Wire, encode

if TYPE_CHECKING:
    from types import ModuleType

    from mcp_wire.profile import Profile

__all__ = ["RULES", "Apply", "Loss", "Projection", "Rule", "substitute", "wrapped_schema"]


class Loss(NamedTuple):
    """A value that the target revision lacks, or represents in another form.

    Args:
        path: JSON path of the value in the source.
        reason: The reason, beginning with the name of the target revision.
    """

    path: str
    reason: str


class Projection(Protocol):
    """A projection in progress, as the rules use it."""

    to: str
    home: ModuleType

    def restate(self, value: Any, shape: None, path: str) -> Any:
        """Return a value, of any type, at the target revision."""
        ...

    def make(self, target: type[Struct], fields: dict[str, Any], path: str) -> Any:
        """Create a struct of the target. Raises ProjectionError if required fields are missing."""
        ...

    def lose(self, path: str, reason: str = ...) -> None:
        """Report a value as lost. The default reason is that the target has no such field."""
        ...

    def refuse(self, what: str, path: str) -> ProjectionError:
        """Return the error for a value that the target cannot represent."""
        ...


Apply: TypeAlias = Callable[[Projection, Any, dict[str, Any], str], Collection[str]]
"""Changes the target's fields; returns the dropped source fields that it has stored elsewhere."""


class Rule(Struct, frozen=True):
    """The rewrite rule of one type.

    Args:
        of: Returns the rewrite function for a source and a target revision; None if none is needed.
        rewrites: Names of the fields that the function makes fit the target, so that they need no
            check.
    """

    of: Callable[[Profile, Profile], Apply | None]
    rewrites: frozenset[str]


# --- Structured content: absent, an object, or any JSON ---


def _structured(source: Profile, target: Profile) -> Apply | None:
    if source.structured_content == target.structured_content:
        return None
    return {"none": _as_text, "object": _as_object}.get(target.structured_content)


_WRAPPED = "has only objects here: the value is its `result`"


def _as_object(
    projection: Projection, value: Any, fields: dict[str, Any], path: str
) -> Collection[str]:
    content = fields.get("structured_content", UNSET)
    if content is not UNSET and not isinstance(content, dict):
        fields["structured_content"] = {"result": content}
        projection.lose(f"{path}.structuredContent", _WRAPPED)
    return ()


def _as_text(
    projection: Projection, value: Any, fields: dict[str, Any], path: str
) -> Collection[str]:
    """Add structured content as a text block, for clients that cannot read it."""
    if _absent(value, "structured_content"):
        return ()
    # Compare the JSON form: a tool may have returned a struct or a dataclass.
    content = msgspec.json.decode(encode(value.structured_content))
    blocks: list[Any] = fields["content"]
    if not any(_has_text(block, content) for block in blocks):
        text = projection.home.TextContent(text=encode(content).decode())
        fields["content"] = [*blocks, text]
    return ()


def _absent(value: Wire, name: str) -> bool:
    fields = {field.name: field.default for field in msgspec.structs.fields(value)}
    return name not in fields or getattr(value, name) is fields[name]


def _has_text(block: Any, content: Any) -> bool:
    text: Any = getattr(block, "text", None)
    if not isinstance(text, str):
        return False
    try:
        return bool(text == content or msgspec.json.decode(text) == content)
    except msgspec.DecodeError:
        return False


# --- Tools: titles, and schemas of what is wrapped ---


def _tool(source: Profile, target: Profile) -> Apply | None:
    if source.structured_content == target.structured_content:
        return None
    return {"none": _title_to_annotations, "object": _schema_of_object}.get(
        target.structured_content
    )


def _schema_of_object(
    projection: Projection, value: Any, fields: dict[str, Any], path: str
) -> Collection[str]:
    schema: dict[str, Any] | None = fields.get("output_schema")
    if schema is not None and schema.get("type") != "object":
        fields["output_schema"] = wrapped_schema(schema)
        projection.lose(f"{path}.outputSchema", _WRAPPED)
    return ()


def wrapped_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of `{"result": value}`, where structured content must be an object."""
    # A schema with `$id` is a document of its own: its references resolve within it at any place.
    to_root = () if "$id" in schema else ("$schema", "$defs", "definitions")
    shared = {key: schema[key] for key in to_root if key in schema}
    inner = {key: value for key, value in schema.items() if key not in shared}
    return {"type": "object", "properties": {"result": inner}, "required": ["result"], **shared}


def _title_to_annotations(
    projection: Projection, value: Any, fields: dict[str, Any], path: str
) -> Collection[str]:
    title: str | None = getattr(value, "title", None)
    target = projection.home.Tool
    if title is None or "annotations" not in target.__struct_fields__:
        return ()
    annotations = fields.get("annotations") or projection.home.ToolAnnotations()
    if annotations.title not in (None, title):
        projection.lose(
            f"{path}.annotations.title", "has one title: that of the tool is in its place"
        )
    fields["annotations"] = msgspec.structs.replace(annotations, title=title)
    return ("title",)


RULES: dict[str, Rule] = {
    "CallToolResult": Rule(_structured, frozenset({"structured_content"})),
    "ToolResultContent": Rule(_structured, frozenset({"structured_content"})),
    "Tool": Rule(_tool, frozenset({"output_schema"})),
}


# --- Types that the target lacks ---


def substitute(projection: Projection, value: Wire, path: str) -> Any:
    """Return the substitute for a struct whose type the target lacks.

    Raises:
        ProjectionError: There is no substitute; the message ends with the path.
    """
    name = type(value).__name__
    substitute = _SUBSTITUTES.get(name)
    if substitute is None:
        raise projection.refuse(f"has no {name}", path)
    return substitute(projection, value, path)


def _audio(projection: Projection, value: Any, path: str) -> Any:
    # Loaded with the first audio: OpenSSL's bindings take a while to import.
    import hashlib

    digest = hashlib.sha256(value.data.encode()).hexdigest()[:32]
    home = projection.home
    blob = home.BlobResourceContents(
        uri=f"audio://{digest}", blob=value.data, mime_type=value.mime_type
    )
    projection.lose(path, "has no audio: it is an embedded resource there")
    annotations = projection.restate(value.annotations, None, f"{path}.annotations")
    return projection.make(
        home.EmbeddedResource, {"resource": blob, "annotations": annotations}, path
    )


def _link(projection: Projection, value: Any, path: str) -> Any:
    projection.lose(path, "has no resource links: it is text there")
    annotations = projection.restate(value.annotations, None, f"{path}.annotations")
    text = f"{value.name}: {value.uri}"
    return projection.make(
        projection.home.TextContent, {"text": text, "annotations": annotations}, path
    )


def _titled_enum(projection: Projection, value: Any, path: str) -> Any:
    options = {
        "enum": [option.const for option in value.one_of],
        "enum_names": [option.title for option in value.one_of],
    }
    return _enum(projection, value, path, options)


def _plain_enum(projection: Projection, value: Any, path: str) -> Any:
    names: list[str] | None = getattr(value, "enum_names", None)
    return _enum(projection, value, path, {"enum": value.enum, "enum_names": names})


def _enum(projection: Projection, value: Any, path: str, options: dict[str, Any]) -> Any:
    target = getattr(projection.home, "EnumSchema", None)
    if not isinstance(target, type):
        titled = options["enum_names"] is not None
        name = "LegacyTitledEnumSchema" if titled else "UntitledSingleSelectEnumSchema"
        target = getattr(projection.home, name, None)
        options = options if titled else {"enum": options["enum"]}
    if target is None:
        raise projection.refuse(f"has no {type(value).__name__}", path)
    if getattr(value, "default", None) is not None:
        projection.lose(f"{path}.default")
    fields = {**options, "title": value.title, "description": value.description}
    return projection.make(target, fields, path)


def _multi_select(projection: Projection, value: Any, path: str) -> Any:
    raise projection.refuse("cannot ask for several values at once", path)


_SUBSTITUTES: dict[str, Callable[[Projection, Any, str], Any]] = {
    "AudioContent": _audio,
    "EnumSchema": _plain_enum,
    "LegacyTitledEnumSchema": _plain_enum,
    "ResourceLink": _link,
    "TitledMultiSelectEnumSchema": _multi_select,
    "TitledSingleSelectEnumSchema": _titled_enum,
    "UntitledMultiSelectEnumSchema": _multi_select,
    "UntitledSingleSelectEnumSchema": _plain_enum,
}
