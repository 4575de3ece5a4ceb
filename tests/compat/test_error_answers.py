"""Errors among the answers of a server: which of them rules judge."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_gen.compat.checks.servers.base.errors import codes, errors
from mcp_gen.compat.transcript import Transcript
from tests.support.frames import HANDSHAKE, encoded

ERROR = {"code": -32601, "message": "no such method"}


def answered(answer: dict[str, Any]) -> Transcript:
    """Return a transcript of one request and its answer."""
    transcript = Transcript(HANDSHAKE, "memory")
    transcript.add("client", "message", encoded({"jsonrpc": "2.0", "id": 1, "method": "ping"}))
    transcript.add("server", "message", encoded({"jsonrpc": "2.0", "id": 1, **answer}))
    return transcript


def test_an_answer_with_an_error_alone_is_one() -> None:
    transcript = answered({"error": ERROR})
    assert [error for _, error in errors(transcript)] == [ERROR]
    assert [code for _, _, code in codes(transcript)] == [-32601]


@pytest.mark.parametrize(
    "answer",
    [{"result": {}}, {}, {"result": {}, "error": ERROR}],
    ids=["a result", "neither", "both"],
)
def test_another_answer_is_none(answer: dict[str, Any]) -> None:
    assert [*errors(answered(answer))] == []


@pytest.mark.parametrize("error", [{}, {"code": "-32601"}, {"code": True}, None, "no"])
def test_an_error_without_a_number_has_no_code(error: Any) -> None:
    transcript = answered({"error": error})
    assert [found for _, found in errors(transcript)] == [error]
    assert [*codes(transcript)] == []
