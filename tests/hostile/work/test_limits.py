"""Each limit takes what it allows, and refuses one more and far more."""

from __future__ import annotations

import pytest

from tests.hostile.work.limits import (
    calls,
    events,
    headers,
    ids,
    listening,
    messages,
    middleware,
    schemas,
    sessions,
    values,
    waiting,
)
from tests.hostile.work.limits.limit import TAKEN, Limit

AREAS = (
    calls,
    events,
    headers,
    ids,
    listening,
    messages,
    middleware,
    schemas,
    sessions,
    values,
    waiting,
)
LIMITS: list[Limit] = [limit for area in AREAS for limit in area.LIMITS]


@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: limit.name)
class TestLimits:
    async def test_at_the_limit_it_is_taken(self, limit: Limit) -> None:
        assert await limit.reach(limit.at) == TAKEN

    async def test_one_above_the_limit_is_refused(self, limit: Limit) -> None:
        assert await limit.reach(limit.at + 1) == limit.refusal

    async def test_far_above_the_limit_is_refused(self, limit: Limit) -> None:
        assert await limit.reach(limit.far) == limit.refusal
