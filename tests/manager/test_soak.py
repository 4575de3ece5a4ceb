"""Short form of the manager soak: `python -m tests.soak manager` is the long one."""

from __future__ import annotations

import time

from tests.soak.manager import Size, soak


async def test_many_servers_at_once_give_no_wrong_answer_while_some_fail_and_one_restarts() -> None:
    end: list[float] = []

    def goes_on() -> bool:
        if not end:
            end.append(time.monotonic() + 1.5)
        return time.monotonic() < end[0]

    report = await soak(goes_on, Size(commands=1, kill_every_s=0.2, silent_s=0.5))
    assert report.wrong == []
    assert report.servers == 16
