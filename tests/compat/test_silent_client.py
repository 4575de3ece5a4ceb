"""A client that answers nothing: what it takes for a question of the server."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from mcp_gen.compat.checks.silent_client import question_in
from mcp_gen.compat.transcript import Transcript
from tests.support.frames import HANDSHAKE, encoded

QUESTION = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


@pytest.mark.parametrize(
    ("sender", "message", "is_found"),
    [
        ("server", QUESTION, True),
        ("client", QUESTION, False),
        ("server", {"jsonrpc": "2.0", "id": 1, "result": {}}, False),
        ("server", {"jsonrpc": "2.0", "method": "notifications/message"}, False),
    ],
    ids=["question", "request of the client", "answer", "notification"],
)
def test_a_question_is_a_request_of_the_server(
    sender: Literal["client", "server"], message: dict[str, Any], is_found: bool
) -> None:
    event = Transcript(HANDSHAKE, "memory").add(sender, "message", encoded(message))
    assert question_in(event) == (message if is_found else None)
