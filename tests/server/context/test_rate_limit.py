"""Rate limiter: a burst of one second, then a steady rate."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from mcp_gen.server.context.rate_limit import RateLimiter


class Clock:
    """Clock of the limiter that stands still between steps."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_s = 1000.0
        clock = SimpleNamespace(monotonic=lambda: self.now_s)
        monkeypatch.setattr("mcp_gen.server.context.rate_limit.time", clock)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def acquired(limiter: RateLimiter, tries: int) -> int:
    return sum(limiter.try_acquire() for _ in range(tries))


@pytest.mark.parametrize(("tries", "sent"), [(4, 4), (5, 5), (6, 5), (500, 5)])
def test_a_burst_of_one_second_is_sent_and_what_exceeds_it_is_counted(
    clock: Clock, tries: int, sent: int
) -> None:
    limiter = RateLimiter(5)
    assert (acquired(limiter, tries), limiter.dropped) == (sent, tries - sent)


def test_as_much_is_sent_again_as_the_time_between_allows(clock: Clock) -> None:
    limiter = RateLimiter(4)
    acquired(limiter, 100)
    clock.now_s += 0.5
    assert acquired(limiter, 100) == 2


def test_a_long_silence_allows_no_more_than_a_burst(clock: Clock) -> None:
    limiter = RateLimiter(4)
    acquired(limiter, 2)
    clock.now_s += 3600
    assert acquired(limiter, 100) == 4


def test_a_rate_below_one_allows_one_message_at_first(clock: Clock) -> None:
    limiter = RateLimiter(0.25)
    assert acquired(limiter, 100) == 1
    clock.now_s += 3.75
    assert not limiter.try_acquire()
    clock.now_s += 0.25
    assert limiter.try_acquire()
