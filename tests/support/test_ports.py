"""Ports for servers whose address must be known before they listen."""

from __future__ import annotations

import itertools
import socket

import pytest

from tests.support import ports
from tests.support.ports import free_port


def test_a_port_is_not_given_twice() -> None:
    assert len({free_port() for _ in range(50)}) == 50


def test_a_port_at_which_somebody_listens_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = min(free_port(), free_port())  # not the last one, which the first follows
    monkeypatch.setattr(ports, "_turn", itertools.count(taken - ports._FIRST))
    with socket.create_server(("127.0.0.1", taken)):
        assert free_port() > taken
