"""Clients of a server that wants a token: each wrong step on the way to it is told."""

from __future__ import annotations

import msgspec
import pytest

from mcp_gen.compat.checks.check import checks
from mcp_gen.compat.checks.client_run import STRICT, ClientRun, Ended
from mcp_gen.compat.checks.found import Found, NotTested
from mcp_gen.compat.transcript import Transcript
from tests.support.frames import PER_REQUEST

ROW = "authorization:by-client"
RESOURCE_ROW = "authorization:client:resource"
URL = "http://127.0.0.1:9/mcp"
# The example of RFC 7636, Appendix B.
VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"

Step = tuple[str, dict[str, str]]

ASKS: Step = (
    "authorize",
    {"code_challenge": CHALLENGE, "code_challenge_method": "S256", "resource": URL},
)
GETS: Step = (
    "token",
    {"code": "code-of-the-doctor", "code_verifier": VERIFIER, "resource": URL},
)
NAMES_NOTHING: Step = ("authorize", {})
FINDS: Step = ("resource metadata", {})
USES: Step = ("mcp", {"token": "header"})


def found_in(row: str, *steps: Step) -> list[str]:
    transcript = Transcript(PER_REQUEST, "http")
    for name, said in steps:
        noted = msgspec.json.encode([name, {"at": URL, **said}]).decode()
        transcript.add("client", "request", about=noted)
    run = ClientRun(ROW, PER_REQUEST, [transcript], Ended(exit_code=0))
    run.beside = {STRICT: run, ROW: run}
    found = Found()
    judge = checks()[row].judge
    assert judge is not None
    judge(run, found)
    return [one.came for one in found.findings]


def test_a_client_that_does_all_of_it_breaks_nothing() -> None:
    for row in (ROW, RESOURCE_ROW):
        assert found_in(row, FINDS, ASKS, GETS, USES) == []


@pytest.mark.parametrize(
    ("row", "steps", "came"),
    [
        (ROW, [("authorize", {"code_challenge": CHALLENGE})], "it has none"),
        (ROW, [ASKS, ("token", {**GETS[1], "code_verifier": "x"})], "it is another one, or none"),
        (ROW, [ASKS, GETS, ("mcp", {"token": "query"})], "it was in the query"),
        (ROW, [ASKS, GETS, USES, ("mcp", {"token": "none"})], "one had none"),
        (RESOURCE_ROW, [ASKS, GETS], "they were not asked for before: authorize"),
        (RESOURCE_ROW, [FINDS, NAMES_NOTHING], "it is ''"),
        (
            RESOURCE_ROW,
            [FINDS, ASKS, ("token", {"resource": "http://other"})],
            "it is 'http://other'",
        ),
    ],
)
def test_each_wrong_step_is_told(row: str, steps: list[Step], came: str) -> None:
    assert found_in(row, *steps) == [came]


def test_a_client_that_asks_for_no_token_is_not_judged() -> None:
    with pytest.raises(NotTested, match="did not ask for a token"):
        found_in(ROW, ("mcp", {"token": "none"}))
