"""Checks that the client program in docs/tasks.md runs as documented."""

from __future__ import annotations

import pytest

from tests.client.tasks.test_with_servers import CORE, DIRECTED
from tests.client.using import using
from tests.docs.programs import program


@pytest.mark.parametrize("revision", [CORE, DIRECTED])
async def test_the_program_of_the_page_works(
    revision: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with program("tasks", "using") as shown:
        async with using(shown.client, shown.server, revision) as session:
            assert await shown.simply(session) == "2 pages were printed"
            assert await shown.with_a_handle(session) == "3 pages were printed"
            assert await shown.after_a_restart(session) == "1 pages were printed"
            assert await shown.given_up(session) == "cancelled"
        await shown.server.aclose()
    assert "completed page 3 of 3 is set" in capsys.readouterr().out
