"""Construction of wire types: keyword-only, immutable, and as fast as a plain struct."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest

from mcp_wire import Wire
from mcp_wire.base import OpenWire
from tests.wire.revisions import every_revision, kept


def structs(revision: str) -> Iterator[type[Wire]]:
    """Return every struct of a revision, including those with undecoded parts."""
    for found in vars(kept(revision).types).values():
        if isinstance(found, type) and issubclass(found, Wire) and found not in (Wire, OpenWire):
            yield found


@every_revision
def test_every_type_is_made_by_keyword_only(revision: str) -> None:
    # Positional arguments would also be positional patterns.
    assert [one.__name__ for one in structs(revision) if one.__match_args__] == []


@every_revision
def test_every_type_is_configured_as_the_base_says(revision: str) -> None:
    options = ("frozen", "gc", "omit_defaults", "array_like")
    configured = {
        tuple(getattr(one.__struct_config__, option) for option in options)
        for one in structs(revision)
    }
    assert configured == {(True, False, True, False)}


@every_revision
def test_an_unknown_key_makes_strict_decoding_fail_where_it_must_not_be_lost(revision: str) -> None:
    strict = {one for one in structs(revision) if one.__struct_config__.forbid_unknown_fields}
    assert strict == {one for one in structs(revision) if issubclass(one, OpenWire)}


@every_revision
def test_no_type_has_a_metaclass_that_slows_its_construction(revision: str) -> None:
    assert {type(one) for one in structs(revision)} == {msgspec.StructMeta}


def test_a_type_of_ones_own_inherits_how_values_are_written() -> None:
    class Note(Wire, kw_only=True):
        long_text: str | None = None

    assert msgspec.json.encode([Note(), Note(long_text="a")]) == b'[{},{"longText":"a"}]'


def test_a_value_does_not_change() -> None:
    tool = kept("2025-11-25").named("Tool")(name="a", input_schema={"type": "object"})
    with pytest.raises(AttributeError):
        tool.name = "b"
