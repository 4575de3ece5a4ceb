"""Checks that the programs in docs/client.md run at every revision, and that its defaults hold."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import pytest

from mcp_gen import Retry
from tests.client.using import using
from tests.docs.pages import DOCS
from tests.docs.programs import program
from tests.support.frames import ALL
from tests.support.peers.answering import ASKS

PAGE = (DOCS / "client.md").read_text("utf-8")


@pytest.fixture
def server() -> Iterator[Any]:
    with program("client", "server") as shown:
        yield shown.server


@pytest.mark.parametrize("revision", ASKS)
async def test_the_handlers_of_the_page_answer_the_server(
    revision: str, server: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    with program("client", "answers") as shown:
        async with using(shown.client, server, revision) as session:
            said = await session.call_tool("travel", returns=str)
            await session.call_tool("weather", {"city": "Oslo"})
    assert said == "to Oslo; asked my-model; the user works in ['file:///srv/project']"
    assert "measuring in Oslo" in capsys.readouterr().out


@pytest.mark.unchecked("messages of its own are of no revision")
@pytest.mark.parametrize("revision", ALL)
async def test_messages_of_its_own_go_both_ways(
    revision: str, server: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    with program("client", "own_messages") as shown:
        async with using(shown.client, server, revision) as session:
            await session.call_tool("open_station", {"city": "Bergen"}, returns=None)
            found = await session.request("acme/search", shown.Place("Berg"), returns=shown.Found)
    assert found.cities == ["Bergen"]
    assert capsys.readouterr().out == "opened: Bergen\n"


@pytest.mark.parametrize("revision", ALL)
async def test_the_middleware_of_the_page_sees_both_directions(
    revision: str, server: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    with program("client", "middleware") as shown:
        async with using(shown.client, server, revision) as session:
            await session.call_tool("weather", {"city": "Oslo"})
    printed = capsys.readouterr().out
    assert "to the server: tools/call\n" in printed
    assert "from the server: notifications/message\n" in printed


def test_the_defaults_of_retries_are_those_of_the_page() -> None:
    options = inspect.signature(Retry).parameters
    shown = dict(re.findall(r"^\| `(\w+)` \| ([\d.]+|False) \|", PAGE, re.M))
    assert shown == {name: str(one.default) for name, one in options.items()}
