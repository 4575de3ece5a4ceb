"""Wrappers of a transport hand on what they do not do themselves."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import pytest

from mcp_gen.compat.recording import RecordingTransport
from mcp_gen.core.transport.protocols import Duplex, Paced
from mcp_gen.transports.message_log import logged

Wrap = Callable[[Duplex], Any]

WRAPPERS: dict[str, Wrap] = {
    "a recording": RecordingTransport,
    "a log": lambda inner: logged(inner, logging.getLogger("tests.wrappers")),
}
each_wrapper = pytest.mark.parametrize("wrap", WRAPPERS.values(), ids=WRAPPERS)


class Unpaced:
    """Transport whose peer reads everything at once."""

    async def start(self, receiver: Any) -> None:
        self.receiver = receiver

    def send(self, message: bytes) -> None: ...

    async def drain(self) -> None: ...

    async def aclose(self) -> None: ...


class Slow(Unpaced):
    """Transport whose peer reads nothing for now."""

    full = True

    def __init__(self) -> None:
        self.waiting: list[Callable[[], None]] = []

    def call_when_writable(self, act: Callable[[], None]) -> None:
        self.waiting.append(act)


@each_wrapper
def test_a_wrapper_waits_for_a_slow_peer(wrap: Wrap) -> None:
    inner, act = Slow(), Mock()
    wrapper = wrap(inner)
    assert isinstance(wrapper, Paced)
    wrapper.call_when_writable(act)
    assert (wrapper.full, inner.waiting) == (True, [act])


@each_wrapper
def test_a_wrapper_of_a_transport_without_pace_is_never_full(wrap: Wrap) -> None:
    wrapper = wrap(Unpaced())
    wrapper.call_when_writable(Mock())
    assert wrapper.full is False


@each_wrapper
def test_a_wrapper_tells_of_a_message_that_is_too_long(wrap: Wrap) -> None:
    inner, receiver = Unpaced(), Mock()
    asyncio.run(wrap(inner).start(receiver))
    receiver.oversized.return_value = True
    assert inner.receiver.oversized(7, b"first", b"last") is True
    receiver.oversized.assert_called_once_with(7, b"first", b"last")
