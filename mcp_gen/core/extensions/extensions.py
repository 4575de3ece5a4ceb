"""Extensions in use: what one side offers of them, and what they make of the protocol's rows."""

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
from mcp_wire.extension import Extension
from mcp_wire.method import Method

if TYPE_CHECKING:
    from mcp_wire.profile import Profile

__all__ = [
    "CLIENT",
    "SERVER",
    "Extensions",
    "Given",
    "carries",
    "declared",
    "filter_of",
    "missing",
    "owner_of",
    "settings_in",
    "with_fields",
]

Given: TypeAlias = "Extension | tuple[Extension, Any]"
"""An extension, or one with its settings."""

CLIENT, SERVER = "ClientCapabilities", "ServerCapabilities"
"""The types in which both sides declare what they offer."""
_PLACE, _OLDER_PLACE = "extensions", "experimental"
"""Where capabilities tell of extensions, and where they do at revisions without that."""


class Extensions:
    """Those that a server or a client offers, with their settings; false while there are none."""

    def __init__(self, given: Iterable[Given] = ()) -> None:
        self._settings: dict[Extension, dict[str, Any]] = {}
        self._rows: dict[tuple[str, str], dict[str, Method[Any, Any]]] = {}
        self.arms: dict[type[Any], Extension] = {}
        """The results that requests of the protocol may also be answered with."""
        self.owners: dict[str, Extension] = {}
        """Whose each method is."""
        for one in given:
            self.add(*(one if isinstance(one, tuple) else (one,)))

    def __bool__(self) -> bool:
        return bool(self._settings)

    def __contains__(self, extension: object) -> bool:
        return extension in self._settings

    def copy(self) -> Extensions:
        """The same, whatever is added to the first later."""
        return Extensions(self._settings.items())

    def add(self, extension: Extension, settings: Any = None) -> None:
        """Offer one more; `settings` is what the other side is told beside the identifier.

        Raises:
            UsageError: one of its identifier or with a method of its is there already, or settings
                that are none of this extension.
        """
        self.check(extension)
        self._settings[extension] = _settings(extension, settings)
        self._rows.clear()
        for kinds in extension.arms.values():
            self.arms.update(dict.fromkeys(kinds, extension))
        self.owners.update(dict.fromkeys(extension.methods, extension))

    def check(self, extension: Extension) -> None:
        """Compare an extension with those that are there.

        Raises:
            UsageError: one of its identifier or with a method of its is, or one with a result that
                says it is one of its; it is no extension, or its identifier is none.
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
        """Those that a revision carries."""
        return [one for one in self._settings if carries(one, profile)]

    def capabilities(self, kind: str, profile: Profile) -> tuple[dict[str, Any], dict[str, Any]]:
        """What to declare as `extensions`, and what as `experimental`, at a revision.

        `kind` is the type that it is declared in.
        """
        told = {one.identifier: self._settings[one] for one in self.at(profile)}
        return (told, {}) if _has_place(kind, profile.revision) else ({}, told)

    def rows(
        self, spoken: Profile, read_at: Profile | None = None
    ) -> Mapping[str, Method[Any, Any]]:
        """The methods of the extensions at a revision, and those of its own that they change.

        Results of requests of the protocol are read with the types of `read_at`.
        """
        if not self._settings:
            return {}
        reader = read_at or spoken
        key = spoken.revision, reader.revision
        found = self._rows.get(key)
        if found is None:
            found = self._rows[key] = self._made(spoken, reader)
        return found

    def _made(self, spoken: Profile, reader: Profile) -> dict[str, Method[Any, Any]]:
        found, base = self.at(spoken), reader.methods
        if not found:
            return {}
        rows: dict[str, Method[Any, Any]] = {}
        for extension in found:
            rows |= extension.methods
            for name, kinds in extension.arms.items():
                if _is_tagged(spoken.methods.get(name)):
                    rows[name] = _with_arms(rows.get(name) or base[name], kinds)
        rows |= _listening(spoken, [one for one in found if one.wanted is not None])
        for method in rows.values():
            # Now, not with the first message: what cannot be decoded is said to who adds it.
            mcp_wire.decoder(method.params)
        handshake = spoken.handshake
        if handshake is not None:
            rows[handshake.name] = _generous(handshake, spoken.revision)
        return rows

    def name_params(self, profile: Profile) -> dict[str, tuple[str, str]]:
        """The parameter that a header repeats, by method: its Python name, and that on the wire.

        Methods of extensions without one have empty names.
        """
        return {
            name: _names_of(method.params, extension.name_params.get(name, ""))
            for extension in self.at(profile)
            for name, method in extension.methods.items()
        }


def carries(extension: Extension, profile: Profile) -> bool:
    """Whether an extension exists at a revision."""
    return find_revision(profile.revision, extension.revisions) is not None


def declared(
    extension: Extension, capabilities: Any, profile: Profile, kind: str
) -> dict[str, Any] | None:
    """The settings with which a peer declared an extension; None if it did not.

    `kind` is the type that `capabilities` are of: a wire type, or plain JSON. Where the revision
    has no place for extensions, both are looked at that peers have put them in.
    """
    if not carries(extension, profile):
        return None
    found = settings_in(capabilities, _PLACE, extension.identifier)
    if found is None and not _has_place(kind, profile.revision):
        found = settings_in(capabilities, _OLDER_PLACE, extension.identifier)
    return found


def owner_of(extensions: Extensions, method: Method[Any, Any]) -> Extension:
    """The extension that a method is of.

    Raises:
        UsageError: there is none.
    """
    owner = extensions.owners.get(method.name)
    if owner is None:
        raise UsageError(f"{method.name} is of no extension here; add the one that has it")
    return owner


def settings_in(capabilities: Any, place: str, identifier: str) -> dict[str, Any] | None:
    """What stands under an identifier at one place of capabilities, if it is an object."""
    if isinstance(capabilities, dict):
        told: Any = cast("dict[str, Any]", capabilities).get(place)
    else:
        told = getattr(capabilities, place, None)
    found: Any = cast("dict[str, Any]", told).get(identifier) if isinstance(told, dict) else None
    return cast("dict[str, Any]", found) if isinstance(found, dict) else None


def missing(extension: Extension, profile: Profile) -> MissingCapability:
    """The error where a client has not declared what it makes use of."""
    code = profile.errors.missing_required_client_capability
    place = _PLACE if _has_place(CLIENT, profile.revision) else _OLDER_PLACE
    path = (place, extension.identifier)
    return MissingCapability(".".join(path), code or InvalidRequest.code, path)


@cache
def with_fields(base: type[Struct], *more: type[Struct]) -> type[Struct]:
    """A wire type with the fields of others beside its own.

    Raises:
        UsageError: two have a field of the same name.
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
    # Of the same module: what reads its arms is looked up there.
    made: type[Struct] = msgspec.defstruct(
        base.__name__, list(fields.values()), bases=(base,), module=base.__module__, kw_only=True
    )
    return made


@cache
def _with_kind(base: type[Struct], name: str, kind: Any) -> type[Struct]:
    """A wire type in which one field holds another kind."""
    field = next(one for one in msgspec.structs.fields(base) if one.name == name)
    default: Any = msgspec.field(name=field.encode_name, default=field.default)
    return _subtype(base, {name: (name, kind, default)})


def _listening(profile: Profile, wanted: list[Extension]) -> dict[str, Method[Any, Any]]:
    """What opens a listening request, with what extensions add to its filter."""
    listen, acknowledged = profile.listen, profile.subscription_acknowledged
    if not wanted or listen is None or acknowledged is None:
        return {}
    rows = ((listen, [one.wanted for one in wanted]), (acknowledged, [o.agreed for o in wanted]))
    return {row.name: _with_filter(row, tuple(kinds)) for row, kinds in rows}


def _with_filter(row: Method[Any, Any], kinds: tuple[Any, ...]) -> Method[Any, Any]:
    field = _filter_in(row)
    filter_kind: Any = with_fields(field.type, *kinds)
    params = _with_kind(row.params, field.name, filter_kind)
    return _changed(row, params=params)


def filter_of(row: Method[Any, Any]) -> type[Any]:
    """The filter of what opens a listening request, or acknowledges it."""
    found: type[Any] = _filter_in(row).type
    return found


def _filter_in(row: Method[Any, Any]) -> msgspec.structs.FieldInfo:
    fields = msgspec.structs.fields(row.params)
    return next(one for one in fields if isinstance(one.type, type(Struct)))


def _generous(row: Method[Any, Any], revision: str) -> Method[Any, Any]:
    """The handshake, reading what its capabilities say of extensions at any place."""
    home = mcp_wire.types(revision)
    asked, answered = row.params, cast("type[Struct]", row.results[0])
    params = _with_kind(asked, "capabilities", _open(home.ClientCapabilities))
    result = _with_kind(answered, "capabilities", _open(home.ServerCapabilities))
    return _changed(row, params=params, results=(result,), result=result)


class _ExtensionsField(Struct):
    extensions: dict[str, Any] | None = None


def _open(capabilities: type[Struct]) -> type[Struct]:
    if _PLACE in capabilities.__struct_fields__:
        return capabilities
    return with_fields(capabilities, _ExtensionsField)


def _tags(kinds: Iterable[type[Any]]) -> set[Any]:
    return {kind.__struct_config__.tag for kind in kinds}


def _is_tagged(row: Method[Any, Any] | None) -> bool:
    """Whether results of a request say what they are: elsewhere there can be no others."""
    kind: Any = row.results[0] if row is not None else None
    return kind is not None and kind.__struct_config__.tag_field is not None


def _with_arms(row: Method[Any, Any], kinds: tuple[type[Any], ...]) -> Method[Any, Any]:
    result = row.result
    for kind in kinds:
        result = result | kind
    return _changed(row, results=(*row.results, *kinds), result=result)


def _changed(
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


def _settings(extension: Extension, settings: Any) -> dict[str, Any]:
    plain: Any = msgspec.to_builtins({} if settings is None else settings)
    try:
        mcp_wire.decode(extension.settings, mcp_wire.encode(plain))
    except msgspec.ValidationError as error:
        raise UsageError(f"{extension.identifier}: settings: {error}") from None
    if not isinstance(plain, dict):
        raise UsageError(f"{extension.identifier}: settings: expected an object, got {plain!r}")
    return cast("dict[str, Any]", plain)


@cache
def _has_place(kind: str, revision: str) -> bool:
    home = mcp_wire.types(revision)
    fields: tuple[str, ...] = getattr(home, kind).__struct_fields__
    return _PLACE in fields


def _names_of(params: Any, wire: str) -> tuple[str, str]:
    if not wire:
        return "", ""
    fields = msgspec.structs.fields(params)
    return next((one.name, wire) for one in fields if one.encode_name == wire)
