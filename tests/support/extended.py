"""Revisions with what the extensions add to them whose types are generated here."""

from __future__ import annotations

from functools import cache

import msgspec

import mcp_wire
from mcp_gen.core.extensions import Extensions
from mcp_wire.extensions.tasks import EXTENSION as TASKS
from mcp_wire.profile import Profile

__all__ = ["extended"]


@cache
def extended(revision: str) -> Profile:
    """The profile of a revision, with the methods and results of the extensions that it carries."""
    profile = mcp_wire.profile(revision)
    rows = Extensions([TASKS]).rows(profile)
    return msgspec.structs.replace(profile, methods={**profile.methods, **rows})
