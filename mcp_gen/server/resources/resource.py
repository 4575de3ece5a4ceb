"""Definitions of resources and templates: description, checks and reading.

A resource has fixed content or a function. A template has a function of its variables, or a source
that also lists its resources.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, TypeAlias

import msgspec

from mcp_gen.core.checks.finite import check_plain
from mcp_gen.core.errors import UsageError
from mcp_gen.core.mistakes.checks import check_options, check_type
from mcp_gen.server.context.context import Context
from mcp_gen.server.context.options import (
    DescribedResource,
    DescriptionOptions,
    ListedResource,
    Source,
    SourceOf,
)
from mcp_gen.server.functions.signature import Signature
from mcp_gen.server.functions.text_types import Choices, choices, is_collection, is_text_convertible
from mcp_gen.server.listing.cache_hints import CacheHints
from mcp_gen.server.listing.icons import check_icons
from mcp_gen.server.listing.scopes import check_scopes
from mcp_gen.server.listing.tags import check_tags
from mcp_gen.server.resources.contents import BINARY, TEXT, mime_type_of
from mcp_gen.server.resources.uris import check_prefix, check_uri
from mcp_wire import Wire, common, latest

__all__ = [
    "DescribedResource",
    "DescriptionOptions",
    "FixedResource",
    "ListedResource",
    "ResourceSource",
    "Source",
    "TemplatedResource",
]

ResourceSource: TypeAlias = SourceOf[Context]
"""Source of resources, as `Server.add_resources` accepts it."""


class FixedResource:
    """Resource with one URI.

    Args:
        uri: The URI.
        source: Function, or the content itself.
        size: Size in bytes before base64; computed for fixed content.
        **given: Description of the resource; see `DescriptionOptions`.

    Raises:
        UsageError: The URI or the content is not valid, or the function has required parameters.
    """

    def __init__(self, uri: str, source: Source, *, size: int | None = None, **given: Any) -> None:
        check_uri(uri, f"resource {uri!r}")
        if not (callable(source) or _is_content(source)):
            raise UsageError(f"resource {uri!r}: expected a function, str or bytes, got {source!r}")
        self.uri = uri
        self._source = source
        self._signature = None if isinstance(source, str | bytes) else Signature(source)
        _check_given(f"resource {uri!r}", given)
        self.hints = _pop_hints(given)
        self.tags = check_tags(given.pop("tags", None), f"resource {uri!r}: tags")
        self.scopes = check_scopes(given.pop("scopes", None), f"resource {uri!r}: scopes")
        fields: dict[str, Any] = {"name": uri}
        if self._signature is not None:
            self._check(self._signature)
            fields |= _description_from(self._signature)
        if isinstance(source, str | bytes):
            fields["mime_type"] = TEXT if isinstance(source, str) else BINARY
            size = len(source.encode() if isinstance(source, str) else source)
        self.described = latest.Resource(uri=uri, size=size, **{**fields, **_without_none(given)})
        """Description of the resource that clients see."""
        check_plain(self.described.meta, f"resource {uri!r}", "$._meta")
        self.mime_type: str | None = given.get("mime_type")

    def _check(self, signature: Signature) -> None:
        _check_returns(signature, self.uri)
        needed = [one.name for one in signature.parameters if one.required]
        if needed:
            raise UsageError(
                f"resource {self.uri!r} has no variables, but {signature.name} needs "
                f"`{needed[0]}`: write the URI with {{{needed[0]}}}, or give it a default"
            )

    async def read(self, ctx: Context, values: Any) -> Any:
        """Return the content, or the return value of the function.

        Args:
            ctx: Context of the request.
            values: Ignored: the resource has no variables.
        """
        if self._signature is None:
            return self._source
        return await self._signature.call(self._signature.struct(), ctx)


class TemplatedResource:
    """All resources of a URI template.

    Args:
        uri_template: The template.
        function: Reads a resource; its parameters are the variables of the template.
        source: Source that lists resources of the template.
        **given: Description of the template; see `DescriptionOptions`.

    Raises:
        UsageError: The template is not valid, or its variables do not match the parameters.
    """

    def __init__(
        self,
        uri_template: str,
        function: Callable[..., Any],
        *,
        source: ResourceSource | None = None,
        **given: Any,
    ) -> None:
        if not callable(function):
            raise UsageError(
                f"URI template {uri_template!r}: expected a function, got {function!r}"
            )
        self.uri_template = uri_template
        self.source = source
        self.signature = Signature(function)
        _check_given(f"URI template {uri_template!r}", given)
        self.hints = _pop_hints(given)
        what = f"URI template {uri_template!r}"
        self.tags = check_tags(given.pop("tags", None), f"{what}: tags")
        self.scopes = check_scopes(given.pop("scopes", None), f"{what}: scopes")
        self.parameters = {one.name: one for one in self.signature.parameters}
        lists = {one.name for one in self.signature.parameters if is_collection(one.hint)}
        # Loaded with the first template.
        from mcp_gen.server.resources.uri_templates import UriTemplate

        self.template = UriTemplate(uri_template, frozenset(lists))
        self.prefix = self.template.prefix
        """Literal beginning of all URIs of the template."""
        check_prefix(self.prefix, f"URI template {uri_template!r}")
        self._check()
        fields = {**_description_from(self.signature), **_without_none(given)}
        self.described = latest.ResourceTemplate(uri_template=uri_template, **fields)
        """Description of the template that clients see."""
        check_plain(self.described.meta, f"URI template {uri_template!r}", "$._meta")
        self.mime_type: str | None = given.get("mime_type")

    def _check(self) -> None:
        _check_returns(self.signature, self.uri_template)
        what = f"URI template {self.uri_template!r}"
        parameters, function = self.parameters, self.signature.name
        for name in self.template.variables:
            parameter = parameters.get(name)
            if parameter is None:
                raise UsageError(
                    f"{what}: {function} has no parameter `{name}`; add it, or take {{{name}}} out"
                )
            if name in self.template.lists and name not in self.template.exploded:
                raise UsageError(f"{what}: `{name}` of {function} is a list: write {{{name}*}}")
            several = name in self.template.lists
            if not (parameter.by_pydantic or is_text_convertible(parameter.hint, several=several)):
                raise UsageError(
                    f"{what}: the values of `{name}` are text, which {parameter.hint!r} in "
                    f"{function} is not made of: use str, int, float, bool, an Enum, a Literal, "
                    "a date or a UUID"
                )
            if name in self.template.optional and parameter.required:
                raise UsageError(
                    f"{what}: {{{name}}} may be missing in a URI: give `{name}` of {function} a "
                    f"default, or write `{name}={{{name}}}` in the query"
                )
        for name, parameter in parameters.items():
            if parameter.required and name not in self.template.variables:
                raise UsageError(
                    f"{what}: {function} needs `{name}`, which is no variable: add {{{name}}} to "
                    "the template, or give it a default"
                )

    def match(self, uri: str) -> msgspec.Struct | None:
        """Return the function's arguments from a URI, or None if the URI does not match."""
        found = self.template.match(uri)
        if found is None:
            return None
        try:
            made: msgspec.Struct = self.signature.convert(found, strict=False)
            return made
        except msgspec.ValidationError:
            return None

    @cached_property
    def choices(self) -> Choices:
        """Possible values by variable name; empty if any value is possible."""
        return {name: choices(self.parameters[name].hint) for name in self.template.variables}

    def may_complete(self, argument: common.CompletionArgument, chosen: Mapping[str, str]) -> bool:
        """Return True if a URI can have these values.

        Args:
            argument: Variable to complete, and the beginning of its value.
            chosen: Values of other variables.
        """
        template = self.template
        return template.may_begin(argument.name, argument.value) and all(
            template.takes(name, value) for name, value in chosen.items()
        )

    async def read(self, ctx: Context, values: msgspec.Struct) -> Any:
        """Return the return value of the function.

        Args:
            ctx: Context of the request.
            values: Arguments of the function, from `match`.
        """
        return await self.signature.call(values, ctx)


def _is_content(value: object) -> bool:
    return isinstance(value, str | bytes)


def _check_given(what: str, given: Mapping[str, Any]) -> None:
    """Check the options of a list entry.

    Raises:
        UsageError: An option is not known, or it has a wrong type.
    """
    if given:
        check_options(what, "resource", given, DescribedResource.__annotations__.keys())
        check_icons(what, given.get("icons"))
        check_type(f"{what}: meta", given.get("meta"), dict, 'meta={"example.com/key": 1}')
        example = "annotations=Annotations(priority=0.5)"
        check_type(f"{what}: annotations", given.get("annotations"), Wire, example)


def _pop_hints(described: dict[str, Any]) -> Mapping[str, Any]:
    """Remove the cache hints from a description, and return them.

    Raises:
        UsageError: A hint is not valid.
    """
    given = {key: described.pop(key, None) for key in ("ttl_ms", "cache_scope")}
    given = {key: value for key, value in given.items() if value is not None}
    CacheHints(**given)
    return given


def _description_from(signature: Signature) -> dict[str, Any]:
    summary = (signature.doc or "").strip().partition("\n\n")[0]
    text = " ".join(line.strip() for line in summary.splitlines())
    mime_type = mime_type_of(signature.returns)
    return {"name": signature.name, "description": text or None, "mime_type": mime_type}


def _without_none(given: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in given.items() if value is not None}


def _check_returns(signature: Signature, uri: str) -> None:
    if signature.returns in (None, type(None)):
        raise UsageError(
            f"resource {uri!r}: {signature.name} returns None; what is read is what it returns"
        )
