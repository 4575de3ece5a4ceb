"""A recorded conversation as a test: the server still does what it did.

`mcp-gen record -o packing.jsonl -- mcp-gen run weather_server.py` was started by a client.
"""

from pytest_mcp_gen import mcp_recording


@mcp_recording("packing.jsonl")
def test_packing_is_as_it_was_recorded() -> None: ...


@mcp_recording("packing.jsonl", revision="2025-06-18")
def test_packing_is_the_same_for_an_older_client() -> None: ...
