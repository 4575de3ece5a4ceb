"""Handlers of one node's bus: what is called, and what is logged."""

from __future__ import annotations

import pytest

from mcp_gen.cluster.signals.callbacks import BusHandlers


async def answer(node: str, body: bytes) -> bytes:
    return body + node.encode()


async def test_a_question_is_answered_by_the_handler_of_its_topic() -> None:
    handlers = BusHandlers()
    handlers.answer("topic", answer)
    assert await handlers.reply("n", "topic", b"q") == b"qn"


async def test_a_question_that_nobody_answers_is_nothing_to_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    handlers = BusHandlers()
    remove = handlers.answer("topic", answer)
    remove()
    assert await handlers.reply("n", "topic", b"q") is None
    assert caplog.messages == []


async def test_the_handler_that_fails_is_logged_and_answers_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def fail(node: str, body: bytes) -> bytes:
        raise ValueError("no")

    handlers = BusHandlers()
    handlers.answer("topic", fail)
    assert await handlers.reply("n", "topic", b"q") is None
    assert caplog.messages == ["cluster: the handler of questions about topic failed"]
