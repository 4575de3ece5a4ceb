"""Registry of protocol extensions and their effect on method rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import msgspec
from msgspec import Struct

import mcp_wire
from mcp_gen.core.errors import InvalidRequest, MissingCapability, UsageError
from mcp_gen.core.extensions.names import check_identifier
from mcp_gen.core.revisions import find_revision
from mcp_wire.base import OpenWire
from mcp_wire.extension import Extension
from mcp_wire.method import Method

if TYPE_CHECKING:
    from mcp_wire.profile import Profile

__all__ = [
    "CLIENT",
    "SERVER",
    "ExtensionArg",
    "Extensions",
    "declared",
    "exists_at",
    "filter_of",
    "missing",
    "owner_of",
    "settings_in",
    "with_fields",
]

ExtensionArg: TypeAlias = "Extension | tuple[Extension, Any]"
"""An extension, or a pair of an extension and its settings."""

CLIENT, SERVER = "ClientCapabilities", "ServerCapabilities"
"""Names of the types in which client and server declare their capabilities."""
_FIELD, _OLDER_FIELD = "extensions", "experimental"
"""Capability fields that declare extensions; the second at revisions that lack the first."""


class Extensions:
    """Registry of the extensions that a server or a client supports; false while it is empty.

    Args:
        given: Extensions, or pairs of an extension and its settings.
    """

    def __init__(self, given: Iterable[ExtensionArg] = ()) -> None:
        self._settings: dict[Extension, dict[str, Any]] = {}
        self._rows: dict[tuple[str, str], dict[str, Method[Any, Any]]] = {}
        self.arms: dict[type[Any], Extension] = {}
        """Extension of each additional result type of the protocol's own requests."""
        self.owners: dict[str, Extension] = {}
        """Extension of each method, by method name."""
        for one in given:
            self.add(*(one if isinstance(one, tuple) else (one,)))

    def __bool__(self) -> bool:
        return bool(self._settings)

    def __contains__(self, extension: object) -> bool:
        return extension in self._settings

    def copy(self) -> Extensions:
        """Return an independent copy."""
        return Extensions(self._settings.items())

    def add(self, extension: Extension, settings: Any = None) -> None:
        """Add an extension.

        Args:
            extension: The `EXTENSION` of a generated extension package.
            settings: The settings to declare beside its identifier; None for empty ones.

        Raises:
            UsageError: Its identifier or one of its methods is registered already, or the settings
                do not fit the extension; see `check`.
        """
        self.check(extension)
        self._settings[extension] = _checked_settings(extension, settings)
        self._rows.clear()
        for kinds in extension.arms.values():
            self.arms.update(dict.fromkeys(kinds, extension))
        self.owners.update(dict.fromkeys(extension.methods, extension))

    def check(self, extension: Extension) -> None:
        """Check that an extension can be added.

        Raises:
            UsageError: It is no extension, its identifier is malformed, or its identifier, one of
                its methods or one of its tagged results is registered already.
        """
        if not isinstance(cast("Any", extension), Extension):
            raise UsageError(f"extensions: expected the EXTENSION of a package, got {extension!r}")
        name = extension.identifier
        check_identifier(name)
        if any(one.identifier == name for one in self._settings):
            raise UsageError(f"the extension {name} is there already; add it once")
        for method in extension.methods.keys() & self.owners.keys():
            raise UsageError(f"{name}: {self.owners[method].identifier} has `{method}` already")
        for one in self._settings:
            for method in extension.arms.keys() & one.arms.keys():
                for tag in _tags(extension.arms[method]) & _tags(one.arms[method]):
                    raise UsageError(
                        f"{name}: {one.identifier} answers {method} with `{tag}` already"
                    )

    def at(self, profile: Profile) -> list[Extension]:
        """Return the extensions that exist at a revision."""
        return [one for one in self._settings if exists_at(one, profile)]

    def capabilities(self, kind: str, profile: Profile) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the extensions to declare at a revision.

        Args:
            kind: Name of the type that declares them: `CLIENT` or `SERVER`.
            profile: Profile of the revision.

        Returns:
            Settings by identifier: for the field `extensions`, and for the field `experimental`.
        """
        by_identifier = {one.identifier: self._settings[one] for one in self.at(profile)}
        return (by_identifier, {}) if _has_field(kind, profile.revision) else ({}, by_identifier)

    def rows(
        self, spoken: Profile, read_at: Profile | None = None
    ) -> Mapping[str, Method[Any, Any]]:
        """Return the method rows that the extensions add or change at a revision.

        Args:
            spoken: Profile of the revision of the connection.
            read_at: Profile of the revision whose types read the results of the protocol's own
                requests; None for that of `spoken`.

        Returns:
            Method rows by method name.
        """
        if not self._settings:
            return {}
        reader = read_at or spoken
        key = spoken.revision, reader.revision
        found = self._rows.get(key)
        if found is None:
            found = self._rows[key] = self._build_rows(spoken, reader)
        return found

    def _build_rows(self, spoken: Profile, reader: Profile) -> dict[str, Method[Any, Any]]:
        found, base = self.at(spoken), reader.methods
        if not found:
            return {}
        rows: dict[str, Method[Any, Any]] = {}
        for extension in found:
            rows |= extension.methods
            for name, kinds in extension.arms.items():
                if _is_tagged(spoken.methods.get(name)):
                    rows[name] = _with_arms(rows.get(name) or base[name], kinds)
        rows |= _listen_rows(spoken, [one for one in found if one.wanted is not None])
        for method in rows.values():
            # Build the decoder now: an unusable params type fails here, not with the first message.
            mcp_wire.decoder(method.params)
        return rows

    def name_params(self, profile: Profile) -> dict[str, tuple[str, str]]:
        """Return the parameter that the name header repeats, of each method that has one.

        Returns:
            Its Python name and its JSON name, by method name: methods of the protocol and of the
            extensions at this revision. No other method has the header.
        """
        rows, named = dict(profile.methods), dict(profile.name_params)
        for extension in self.at(profile):
            rows |= extension.methods
            named |= extension.name_params
        return {name: _name_param_of(rows[name].params, wire) for name, wire in named.items()}


def exists_at(extension: Extension, profile: Profile) -> bool:
    """Return True if an extension exists at a revision."""
    return find_revision(profile.revision, extension.revisions) is not None


def declared(
    extension: Extension, capabilities: Any, profile: Profile, kind: str
) -> dict[str, Any] | None:
    """Return the settings with which a peer declared an extension; None if it did not.

    At revisions without the field `extensions`, peers use either field, so both are read.

    Args:
        extension: The extension.
        capabilities: The peer's capabilities, as a wire type or as plain JSON.
        profile: Profile of the revision.
        kind: Name of the type of `capabilities`: `CLIENT` or `SERVER`.
    """
    if not exists_at(extension, profile):
        return None
    found = settings_in(capabilities, _FIELD, extension.identifier)
    if found is None and not _has_field(kind, profile.revision):
        found = settings_in(capabilities, _OLDER_FIELD, extension.identifier)
    return found


def owner_of(extensions: Extensions, method: Method[Any, Any]) -> Extension:
    """Return the extension that a method belongs to.

    Raises:
        UsageError: No registered extension has this method.
    """
    owner = extensions.owners.get(method.name)
    if owner is None:
        raise UsageError(f"{method.name} is of no extension here; add the one that has it")
    return owner


def settings_in(capabilities: Any, place: str, identifier: str) -> dict[str, Any] | None:
    """Return an identifier's settings in one capability field; None if they are no object."""
    if isinstance(capabilities, dict):
        by_identifier: Any = cast("dict[str, Any]", capabilities).get(place)
    else:
        extra = capabilities.extra if isinstance(capabilities, OpenWire) else {}
        by_identifier = getattr(capabilities, place, extra.get(place))
    found: Any = (
        cast("dict[str, Any]", by_identifier).get(identifier)
        if isinstance(by_identifier, dict)
        else None
    )
    return cast("dict[str, Any]", found) if isinstance(found, dict) else None


def missing(extension: Extension, profile: Profile) -> MissingCapability:
    """Return the error for a client that uses an extension without having declared it."""
    code = profile.errors.missing_required_client_capability
    place = _FIELD if _has_field(CLIENT, profile.revision) else _OLDER_FIELD
    path = (place, extension.identifier)
    return MissingCapability(".".join(path), code or InvalidRequest.code, path)


@cache
def with_fields(base: type[Struct], *more: type[Struct]) -> type[Struct]:
    """Return a wire type extended by the fields of other types.

    Raises:
        UsageError: Two of the types have a field of the same name.
    """
    fields: dict[str, tuple[str, Any, Any]] = {}
    taken = {one.encode_name for one in msgspec.structs.fields(base)}
    for one in more:
        for field in msgspec.structs.fields(one):
            if field.encode_name in taken:
                raise UsageError(
                    f"{one.__name__}: {base.__name__} has `{field.encode_name}` already"
                )
            taken.add(field.encode_name)
            default: Any = msgspec.field(name=field.encode_name, default=field.default)
            fields[field.name] = (field.name, field.type, default)
    return _subtype(base, fields)


def _subtype(base: type[Struct], fields: Mapping[str, tuple[str, Any, Any]]) -> type[Struct]:
    # In the same module: the decoders of its untagged unions are looked up there.
    made: type[Struct] = msgspec.defstruct(
        base.__name__, list(fields.values()), bases=(base,), module=base.__module__, kw_only=True
    )
    return made


@cache
def _with_kind(base: type[Struct], name: str, kind: Any) -> type[Struct]:
    """Return a wire type in which one field has another type."""
    field = next(one for one in msgspec.structs.fields(base) if one.name == name)
    default: Any = msgspec.field(name=field.encode_name, default=field.default)
    return _subtype(base, {name: (name, kind, default)})


def _listen_rows(profile: Profile, wanted: list[Extension]) -> dict[str, Method[Any, Any]]:
    """Return the rows of subscriptions/listen with the filter fields that extensions add."""
    listen, acknowledged = profile.listen, profile.subscription_acknowledged
    if not wanted or listen is None or acknowledged is None:
        return {}
    rows = ((listen, [one.wanted for one in wanted]), (acknowledged, [o.agreed for o in wanted]))
    return {row.name: _with_filter(row, tuple(kinds)) for row, kinds in rows}


def _with_filter(row: Method[Any, Any], kinds: tuple[Any, ...]) -> Method[Any, Any]:
    field = _filter_in(row)
    filter_kind: Any = with_fields(field.type, *kinds)
    params = _with_kind(row.params, field.name, filter_kind)
    return _replace_row(row, params=params)


def filter_of(row: Method[Any, Any]) -> type[Any]:
    """Return the filter type of subscriptions/listen, or of its acknowledgement."""
    found: type[Any] = _filter_in(row).type
    return found


def _filter_in(row: Method[Any, Any]) -> msgspec.structs.FieldInfo:
    fields = msgspec.structs.fields(row.params)
    return next(one for one in fields if isinstance(one.type, type(Struct)))


def _tags(kinds: Iterable[type[Any]]) -> set[Any]:
    return {kind.__struct_config__.tag for kind in kinds}


def _is_tagged(row: Method[Any, Any] | None) -> bool:
    """Return True if a request's results have a tag field: only then extensions can add results."""
    kind: Any = row.results[0] if row is not None else None
    return kind is not None and kind.__struct_config__.tag_field is not None


def _with_arms(row: Method[Any, Any], kinds: tuple[type[Any], ...]) -> Method[Any, Any]:
    result = row.result
    for kind in kinds:
        result = result | kind
    return _replace_row(row, results=(*row.results, *kinds), result=result)


def _replace_row(
    row: Method[Any, Any],
    *,
    params: Any = None,
    results: tuple[type[Any], ...] | None = None,
    result: Any = None,
) -> Method[Any, Any]:
    return Method(
        row.name,
        kind=row.kind,
        direction=row.direction,
        params=params or row.params,
        params_required=row.params_required,
        results=row.results if results is None else results,
        result=row.result if result is None else result,
        capability=row.capability,
    )


def _checked_settings(extension: Extension, settings: Any) -> dict[str, Any]:
    plain: Any = msgspec.to_builtins({} if settings is None else settings)
    try:
        mcp_wire.decode(extension.settings, mcp_wire.encode(plain))
    except msgspec.ValidationError as error:
        raise UsageError(f"{extension.identifier}: settings: {error}") from None
    if not isinstance(plain, dict):
        raise UsageError(f"{extension.identifier}: settings: expected an object, got {plain!r}")
    return cast("dict[str, Any]", plain)


@cache
def _has_field(kind: str, revision: str) -> bool:
    home = mcp_wire.types(revision)
    fields: tuple[str, ...] = getattr(home, kind).__struct_fields__
    return _FIELD in fields


def _name_param_of(params: Any, wire: str) -> tuple[str, str]:
    fields = msgspec.structs.fields(params)
    return next((one.name, wire) for one in fields if one.encode_name == wire)
