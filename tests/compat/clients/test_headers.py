"""Headers that repeat what a request says: which requests of a client are judged by them."""

from __future__ import annotations

from typing import Any

import pytest

import mcp_wire
from mcp_gen.compat.checks.clients.http import requests_name_their_revision
from mcp_gen.compat.checks.clients.http_headers import headers_say_method_and_name
from mcp_gen.compat.checks.found import Found
from mcp_gen.compat.transcript import Transcript
from tests.support.frames import PER_REQUEST, Speaker, encoded


def found_with(meta: dict[str, Any]) -> Found:
    """Return what is found of a client whose one request has this `_meta`, and no such header."""
    transcript, found = Transcript(PER_REQUEST, "http"), Found()
    transcript.add("client", "request", exchange=1, about="POST /mcp")
    sent = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}}
    transcript.add("client", "message", encoded(sent), exchange=1)
    requests_name_their_revision(transcript, found)
    return found


def test_a_request_that_names_its_revision_in_the_body_alone_breaks_the_rule() -> None:
    key = mcp_wire.profile(PER_REQUEST).protocol_version_key
    (finding,) = found_with({str(key): PER_REQUEST}).findings
    assert finding.came == "it is not there"


def test_a_request_that_names_it_nowhere_is_told_of_by_the_rule_of_the_body_alone() -> None:
    found = found_with({})
    assert found.findings == []
    assert not found.has_seen


@pytest.mark.parametrize(
    ("headers", "came"),
    [({}, "there is none"), ({"mcp-method": "tools/call"}, "it is 'tools/call'")],
)
def test_what_the_header_of_the_method_says_instead_is_told(
    headers: dict[str, str], came: str
) -> None:
    transcript, found = Transcript(PER_REQUEST, "http"), Found()
    transcript.add("client", "request", exchange=1, about="POST /mcp", headers=headers)
    asked = Speaker(PER_REQUEST).request(1, "tools/list")
    transcript.add("client", "message", asked, exchange=1)
    headers_say_method_and_name(transcript, found)
    assert [one.came for one in found.findings] == [came]
