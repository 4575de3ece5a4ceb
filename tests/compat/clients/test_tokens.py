"""Clients of a server that wants a token: each wrong step on the way to it is told."""

from __future__ import annotations

import msgspec
import pytest

from mcp_gen.compat.checks.check import checks
from mcp_gen.compat.checks.client_run import STRICT, ClientRun, Ended
from mcp_gen.compat.checks.found import Found, NotTested
from mcp_gen.compat.scenarios.authorization.steps import GRANTED
from mcp_gen.compat.transcript import Transcript
from tests.support.frames import PER_REQUEST

ROW = "authorization:client:"
HOST = "127.0.0.1:9"
URL = f"http://{HOST}/mcp"
# The example of RFC 7636, Appendix B.
VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
BACK = "http://127.0.0.1:3999/callback"

Step = tuple[str, dict[str, str]]


def registers(**members: object) -> Step:
    whole = {"redirect_uris": [BACK], "grant_types": ["authorization_code"], **members}
    return "register", {"body": msgspec.json.encode(whole).decode(), "path": "/oauth/register"}


def asks(**params: str) -> Step:
    usual = {
        "code_challenge": CHALLENGE,
        "code_challenge_method": "S256",
        "resource": URL,
        "redirect_uri": BACK,
        "state": "s",
        "client_id": "client-of-the-doctor",
        "path": "/oauth/authorize",
    }
    return "authorize", {name: one for name, one in {**usual, **params}.items() if one}


def gets(**form: str) -> Step:
    usual = {"code": "code-of-the-doctor-0", "code_verifier": VERIFIER, "resource": URL}
    return "token", {**usual, "path": "/oauth/token", **form}


def uses(token: str = "header") -> Step:
    return "mcp", {"token": token, "known": "yes", "status": ""}


def fetches(path: str) -> Step:
    return "fetch", {"path": path, "found": "yes"}


WELL: tuple[Step, ...] = (
    uses("none"),
    fetches("/about/this-resource"),
    fetches("/.well-known/oauth-authorization-server"),
    registers(application_type="native"),
    asks(),
    gets(),
    uses(),
)


def found_in(row: str, *steps: Step, in_scenario: str = "", exit_code: int | None = 1) -> list[str]:
    """Return the findings of a check in a run with these steps.

    Args:
        row: The end of the requirement's id.
        steps: The steps; in a scenario of the row's own all is well where all is granted.
        in_scenario: The scenario of the steps; empty for the one in which all is granted.
        exit_code: How the run ended.
    """

    def ran(scenario: str, steps: tuple[Step, ...]) -> ClientRun:
        transcript = Transcript(PER_REQUEST, "http")
        transcript.add("client", "request", exchange=1, headers={"host": HOST}, about="POST /mcp")
        for name, said in steps:
            transcript.add("client", "request", about=msgspec.json.encode([name, said]).decode())
        return ClientRun(scenario, PER_REQUEST, [transcript], Ended(exit_code=exit_code))

    granted = ran(GRANTED, WELL if in_scenario else steps)
    runs = {GRANTED: granted, STRICT: ran(STRICT, ())}
    if in_scenario:
        runs[in_scenario] = ran(in_scenario, steps)
    for run in runs.values():
        run.beside = runs
    found = Found()
    judge = checks()[ROW + row].judge
    assert judge is not None
    judge(runs[STRICT], found)
    return [one.came for one in found.findings]


GRANTED_ROWS = (
    "pkce",
    "resource",
    "resource:canonical",
    "resource-metadata",
    "challenge",
    "server-metadata",
    "registration",
    "application-type",
    "refresh",
    "redirects",
    "token",
    "token:no-query",
    "token:own",
)


@pytest.mark.parametrize("row", GRANTED_ROWS)
def test_a_client_that_does_all_of_it_breaks_nothing(row: str) -> None:
    assert found_in(row, *WELL) == []


@pytest.mark.parametrize(
    ("row", "steps", "came"),
    [
        ("pkce", [asks(code_challenge_method="plain")], "it has none"),
        ("pkce", [asks(), gets(code_verifier="x")], "it is another one, or none"),
        ("resource", [asks(), gets(resource="http://other")], "it is 'http://other'"),
        ("resource:canonical", [asks(resource=f"{URL}/")], f"it is '{URL}/'"),
        ("redirects", [registers(), asks(redirect_uri="https://x.y/z")], "'https://x.y/z' is not"),
        ("application-type", [registers(application_type="web"), asks()], "it is 'web'"),
        (
            "refresh",
            [registers(), asks(), gets(grant_type="refresh_token"), uses()],
            "['authorization_code']",
        ),
        ("token", [asks(), gets(), uses(), uses("none")], "one had none"),
        ("token:no-query", [asks(), gets(), uses("query")], "it was in the query"),
        ("server-metadata", [asks(path="/authorize")], "it was sent to /authorize"),
        ("resource-metadata", [asks()], "they were not asked for before: /oauth/authorize"),
        (
            "metadata-document:url",
            [asks(client_id="http://x.y/z")],
            "it is 'http://x.y/z'",
        ),
    ],
)
def test_each_wrong_step_is_told(row: str, steps: list[Step], came: str) -> None:
    assert found_in(row, *steps) == [came]


@pytest.mark.parametrize(
    ("row", "steps", "exit_code", "came"),
    [
        ("state", [asks(state="")], 1, "it has none"),
        ("registration:refused", [registers(), asks()], 1, "it went on without an id"),
        ("registration:refused", [registers()], 0, "the client ended with exit code 0"),
        ("registration:refused", [registers()], None, "the client did not end within 0 s"),
        ("default-endpoints", [fetches("/")], 1, "no request came; the client ended with exit co"),
        ("resource-metadata:fallback", [], 1, "the client asked at no place"),
    ],
)
def test_each_wrong_step_in_a_scenario_of_its_own_is_told(
    row: str, steps: list[Step], exit_code: int | None, came: str
) -> None:
    (found,) = found_in(row, *steps, in_scenario=ROW + row, exit_code=exit_code)
    assert found.startswith(came)


@pytest.mark.parametrize("row", [*GRANTED_ROWS, "iss", "step-up", "scopes", "bound-credentials"])
def test_a_client_that_asks_for_no_token_is_not_judged(row: str) -> None:
    with pytest.raises(NotTested, match="did not ask for a token"):
        found_in(row, uses("none"))
