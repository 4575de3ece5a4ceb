"""A recording as a test: it passes as long as the server does what it did."""

import pytest
from pytest_mcp_gen import mcp_recording


@pytest.fixture
def mcp_server() -> str:
    return "server.py"


@mcp_recording("talk.jsonl")
def test_the_talk_is_as_it_was() -> None: ...


@mcp_recording("talk.jsonl", revision="2025-06-18")
def test_the_talk_is_the_same_at_an_older_version() -> None: ...
