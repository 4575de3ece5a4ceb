"""Validators of each revision: as published, and as decoded."""

from __future__ import annotations

from functools import cache

import jsonschema_rs

from codegen.verify.as_read import AsRead, Validators
from tests.wire.revisions import Kept


@cache
def _as_read(there: Kept, closed: bool) -> Validators:
    return Validators(AsRead(there.document, there.deviations, closed=closed).document)


def as_read(there: Kept, name: str, *, closed: bool = False) -> jsonschema_rs.Validator:
    """Return a validator of the values that decoding accepts; `closed`: and keeps."""
    return _as_read(there, closed).of(name)


@cache
def _published(there: Kept) -> Validators:
    return Validators(there.document)


def published(there: Kept, name: str) -> jsonschema_rs.Validator:
    """Return a validator of the specification."""
    return _published(there).of(name)
