"""A mistake of a user is named in the error, with the next step: a table of whole messages.

Rows are in `mistakes/`, one module per area; see `mistakes/mistake.py` for a new one.
"""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections import Counter
from types import ModuleType

import pytest

import mcp_gen
from mcp_gen import Client, ClientManager, ClientSession, Context, Server
from mcp_gen.client.session.tool_calls import OPTIONS
from mcp_gen.core.mistakes.checks import Elsewhere
from mcp_gen.core.mistakes.words import WORDS
from mcp_gen.server.context.options import DescribedResource, ToolOptions
from tests.everyday.mistakes import (
    clients,
    from_other_sdks,
    prompts_and_resources,
    seen_by_readers_of_clients,
    servers,
    tools,
)
from tests.everyday.mistakes.mistake import Mistake, add, server

AREAS: tuple[ModuleType, ...] = (
    clients,
    from_other_sdks,
    prompts_and_resources,
    seen_by_readers_of_clients,
    servers,
    tools,
)
MISTAKES: list[Mistake] = [mistake for area in AREAS for mistake in area.MISTAKES]
ELSEWHERE = {name for name, one in vars(Context).items() if isinstance(one, Elsewhere)}


async def made(mistake: Mistake) -> None:
    """Make a mistake."""
    done = mistake.do()
    if inspect.isawaitable(done):
        await done


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
async def test_a_mistake_is_named_with_the_next_step(mistake: Mistake) -> None:
    with pytest.raises(mistake.error) as caught:
        await made(mistake)
    assert str(caught.value) == mistake.message


def test_no_two_rows_have_one_name() -> None:
    counts = Counter(mistake.name for mistake in MISTAKES)
    assert [name for name, count in counts.items() if count > 1] == []


def test_many_rows_were_seen_with_readers() -> None:
    assert sum(mistake.seen for mistake in MISTAKES) >= 25


@pytest.mark.parametrize(
    ("topic", "known"),
    [
        ("tool", ToolOptions.__annotations__),
        ("resource", DescribedResource.__annotations__),
        ("Server", [*dir(Server), *inspect.signature(Server).parameters]),
        ("server.asgi", inspect.signature(Server.asgi).parameters),
        ("ClientSession", dir(ClientSession)),
        ("client.connect", inspect.signature(Client.connect).parameters),
        ("call_tool", OPTIONS),
        ("ClientManager", [*dir(ClientManager), *inspect.signature(ClientManager).parameters]),
        ("Client", [*dir(Client), *inspect.signature(Client).parameters]),
        ("Context", [name for name in dir(Context) if name not in ELSEWHERE]),
        ("mcp_gen", mcp_gen.__all__),
        ("transport", ["stdio", "http"]),
    ],
)
def test_a_word_of_another_sdk_is_no_word_of_ours(topic: str, known: list[str]) -> None:
    wrong = WORDS[topic].keys() & set(known)
    assert wrong - {"tools", "session_state_store", "middleware"} == set()


def test_a_context_knows_every_word_of_another_sdk_for_one() -> None:
    assert WORDS["Context"].keys() == ELSEWHERE


async def test_a_name_may_stand_first_in_a_decorator() -> None:
    made = server()
    made.tool("plus", title="Plus")(add)
    made.prompt("hello", title="Hello")(lambda: "Hello")
    assert made.tools.names == ["plus"]
    assert [(one.name, one.title) for one in made.prompts] == [("hello", "Hello")]
    assert made.tools["plus"].tool.title == "Plus"


def test_the_words_are_not_loaded_before_the_first_mistake() -> None:
    program = (
        "import sys, mcp_gen\n"
        "server = mcp_gen.Server('demo')\n"
        "server.add_tool(lambda: 1, name='one')\n"
        "print('mcp_gen.core.mistakes.words' in sys.modules, 'difflib' in sys.modules)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=True
    )
    assert ran.stdout.split() == ["False", "False"]
