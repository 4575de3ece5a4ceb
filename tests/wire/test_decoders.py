"""Decoders of every wire type of every revision, but for those that the overlay excludes."""

from __future__ import annotations

import msgspec
import pytest

import mcp_wire
from tests.wire.revisions import every_revision, kept

EVERY_TYPE = [
    (revision, name)
    for revision in mcp_wire.REVISIONS
    for name in mcp_wire.types(revision).__all__
    if name != "PROFILE" and name not in kept(revision).types.NOT_DECODED
]


@pytest.mark.parametrize(("revision", "name"), EVERY_TYPE)
def test_a_type_has_a_decoder(revision: str, name: str) -> None:
    decoder = mcp_wire.decoder(kept(revision).named(name))
    assert isinstance(decoder, msgspec.json.Decoder)


@every_revision
def test_what_is_not_decoded_is_what_the_overlay_says(revision: str) -> None:
    there = kept(revision)
    assert set(there.types.NOT_DECODED) == there.listed("typing") & there.model.aliases.keys()


@every_revision
def test_a_revision_has_every_definition_of_its_schema(revision: str) -> None:
    assert kept(revision).definitions.keys() - set(mcp_wire.types(revision).__all__) == set()
