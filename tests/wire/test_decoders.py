"""Decoders of every wire type of every revision, but for those that the overlay excludes."""

from __future__ import annotations

import msgspec

import mcp_wire
from tests.support.checks.failures import failures
from tests.wire.revisions import every_revision, kept


@every_revision
def test_every_type_has_a_decoder(revision: str) -> None:
    there = kept(revision)
    names = set(mcp_wire.types(revision).__all__) - {"PROFILE"} - {*there.types.NOT_DECODED}

    def check(name: str) -> None:
        assert isinstance(mcp_wire.decoder(there.named(name)), msgspec.json.Decoder)

    assert failures(sorted(names), check) == {}


@every_revision
def test_what_is_not_decoded_is_what_the_overlay_says(revision: str) -> None:
    there = kept(revision)
    assert set(there.types.NOT_DECODED) == there.listed("typing") & there.model.aliases.keys()


@every_revision
def test_a_revision_has_every_definition_of_its_schema(revision: str) -> None:
    assert kept(revision).definitions.keys() - set(mcp_wire.types(revision).__all__) == set()
