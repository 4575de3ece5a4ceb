"""The table of what revisions cannot say is held by tests, and shown in the docs."""

from __future__ import annotations

from importlib import import_module

import pytest

from mcp_gen.compat.bridge.situations import Situation, situations
from tests.bridge.table import PAGE, between_marks, table


@pytest.mark.parametrize("situation", situations(), ids=lambda one: one.what)
def test_each_situation_has_a_test_and_a_page_of_the_specification(situation: Situation) -> None:
    module, name = situation.test.split("::")
    assert callable(getattr(import_module(f"tests.bridge.{module}"), name))
    assert situation.pages
    assert all(page.links() for page in situation.pages)


def test_no_situation_is_listed_twice() -> None:
    assert len({one.what for one in situations()}) == len(situations())


def test_the_docs_show_the_table() -> None:
    _, shown, _ = between_marks(PAGE.read_text("utf-8"))
    assert shown == table(), "run `python -m tests.bridge.table`"
