"""Questions that a server of the scenarios asks a client."""

from __future__ import annotations

from mcp_gen.compat.scenarios.asking.asking_server import SAY_SOMETHING, AskingServer
from tests.support.frames import HANDSHAKE


def test_a_question_without_params_has_no_such_member() -> None:
    server = AskingServer(HANDSHAKE)
    assert server.question("list_roots") == {"method": "roots/list"}
    asked = {"method": "sampling/createMessage", "params": SAY_SOMETHING}
    assert server.question("create_message", SAY_SOMETHING) == asked
