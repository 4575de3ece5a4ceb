"""Handwritten structs for the messages of `bench.codec`."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

__all__ = ["CallParams", "CallResult", "TaggedCallResult", "ToolList"]


class Base(Struct, rename="camel", omit_defaults=True):
    """Base of the structs: camel case on the wire, absent when None."""


class Annotations(Base):
    audience: list[str] | None = None
    priority: float | None = None
    last_modified: str | None = None


class Block(Base, tag_field="type"):
    """Fields that all content blocks have."""


class Text(Block, tag="text"):
    text: str
    annotations: Annotations | None = None
    meta: dict[str, Any] | None = field(name="_meta", default=None)


class Image(Block, tag="image"):
    data: str
    mime_type: str
    annotations: Annotations | None = None
    meta: dict[str, Any] | None = field(name="_meta", default=None)


class Audio(Block, tag="audio"):
    data: str
    mime_type: str
    annotations: Annotations | None = None
    meta: dict[str, Any] | None = field(name="_meta", default=None)


class Link(Block, tag="resource_link"):
    name: str
    uri: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    size: int | None = None
    annotations: Annotations | None = None
    meta: dict[str, Any] | None = field(name="_meta", default=None)


class Contents(Base):
    """Text or a blob in one struct, because msgspec has no untagged unions of structs."""

    uri: str
    text: str | None = None
    blob: str | None = None
    mime_type: str | None = None
    meta: dict[str, Any] | None = field(name="_meta", default=None)


class Embedded(Block, tag="resource"):
    resource: Contents
    annotations: Annotations | None = None
    meta: dict[str, Any] | None = field(name="_meta", default=None)


class CallParams(Base):
    name: str
    arguments: dict[str, Any] | None = None
    meta: dict[str, Any] | None = field(name="_meta", default=None)


class CallResult(Base):
    content: list[Text | Image | Audio | Link | Embedded]
    structured_content: dict[str, Any] | None = None
    is_error: bool | None = None
    meta: dict[str, Any] | None = field(name="_meta", default=None)


class TaggedCallResult(CallResult, tag_field="resultType", tag="complete"):
    """A call result with a `resultType` tag."""


class ToolHints(Base):
    title: str | None = None
    read_only_hint: bool | None = None
    destructive_hint: bool | None = None
    idempotent_hint: bool | None = None
    open_world_hint: bool | None = None


class Tool(Base):
    name: str
    input_schema: dict[str, Any]
    title: str | None = None
    description: str | None = None
    output_schema: dict[str, Any] | None = None
    annotations: ToolHints | None = None
    meta: dict[str, Any] | None = field(name="_meta", default=None)


class ToolList(Base):
    tools: list[Tool]
    next_cursor: str | None = None
    meta: dict[str, Any] | None = field(name="_meta", default=None)
