"""Scenarios of scopes: which are asked for, and what a client does that lacks some."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_gen.compat.checks.check import judged
from mcp_gen.compat.checks.found import NotTested
from mcp_gen.compat.method_names import method_of
from mcp_gen.compat.reference.http.exchanges import EndpointResponse
from mcp_gen.compat.scenarios.authorization.granting import (
    RESOURCE_PATH,
    SCOPES,
    GrantsTokens,
    origin_of_request,
)
from mcp_gen.compat.scenarios.authorization.steps import (
    GRANTED,
    asked,
    going_for_tokens,
    steps_of,
)
from mcp_gen.compat.scenarios.scenario import scenario

if TYPE_CHECKING:
    from mcp_gen.compat.checks.client_run import ClientRun
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.json_values import Json
    from mcp_gen.compat.reference.http.exchanges import EndpointRequest
    from mcp_gen.compat.scenarios.authorization.steps import TokenStep

WRITE = "mcp:write"
REFRESH_SCOPE = "offline_access"
MOST_AUTHORIZATIONS = 8
"""Authorizations for one operation after which a client has tried often enough."""
STEP_UP = "authorization:client:step-up"


def _scopes(step: TokenStep) -> set[str]:
    return set(step.said.get("scope", "").split()) - {REFRESH_SCOPE}


def scopes_are_chosen_by_the_challenge(run: ClientRun, found: Found) -> None:
    with_challenge = asked(going_for_tokens(run, STEP_UP), "authorize")
    if not with_challenge:
        raise NotTested("the client did not ask for authorization")
    found.saw()
    first = with_challenge[0]
    if _scopes(first) != {SCOPES[0]}:
        expected = f"the scope of the challenge is asked for, and no other: {SCOPES[0]}"
        found.broken(expected, f"it is {first.said.get('scope')!r}", first.event)
    for one in asked(steps_of(run.run_of(GRANTED)), "authorize")[:1]:
        if _scopes(one) != set(SCOPES):
            expected = "without a scope in the challenge, all of the metadata are asked for"
            found.broken(expected, f"it is {one.said.get('scope')!r}", one.event)


judged("authorization:client:scopes", scopes_are_chosen_by_the_challenge)


def _stepped_up(run: ClientRun) -> tuple[list[TokenStep], list[TokenStep]]:
    """Return refusals for want of a scope, and the authorization requests after the first.

    Raises:
        NotTested: nothing was refused.
    """
    steps = going_for_tokens(run, STEP_UP)
    refused = [one for one in asked(steps, "mcp") if one.said["status"] == "403"]
    if not refused:
        raise NotTested("the client asked for nothing that needs more scopes")
    later = [one for one in asked(steps, "authorize") if one.event.number > refused[0].event.number]
    return refused, later


def more_scopes_are_asked_for(run: ClientRun, found: Found) -> None:
    refused, later = _stepped_up(run)
    found.saw()
    if not any(WRITE in _scopes(one) for one in later):
        expected = f"a client without the scope {WRITE} asks for a token that has it"
        found.broken(expected, f"it did not; {run.run_of(STEP_UP).ended}", refused[-1].event)


def scopes_are_united(run: ClientRun, found: Found) -> None:
    _, later = _stepped_up(run)
    if not later:
        raise NotTested("the client asked for no more scopes")
    found.saw()
    for one in later:
        if SCOPES[0] not in _scopes(one):
            expected = f"{SCOPES[0]}, which the token had, is asked for again"
            found.broken(expected, f"it is {one.said.get('scope')!r}", one.event)


judged("authorization:client:step-up:union", scopes_are_united)


@scenario(STEP_UP, more_scopes_are_asked_for, is_exact=False)
class NeedsMoreScopes(GrantsTokens):
    """Names a scope in its challenge, and needs another one for its tools."""

    def challenge(self, request: EndpointRequest) -> str:
        """Return a challenge with the scope of every request."""
        return f'{super().challenge(request)}, scope="{SCOPES[0]}"'

    def resource_metadata(self, request: EndpointRequest) -> Json:
        """Return metadata that list all scopes."""
        return {**super().resource_metadata(request), "scopes_supported": [*SCOPES, WRITE]}

    def refusal(self, request: EndpointRequest, token: str) -> EndpointResponse | None:
        """Refuse lists of tools without the scope."""
        refusal = super().refusal(request, token)
        lists = method_of(self.profile, "list_tools")
        if refusal or not request.names(lists.name):
            return refusal
        if WRITE in self.scopes[token].split():
            return None
        url = f'resource_metadata="{origin_of_request(request)}{RESOURCE_PATH}{self.path}"'
        line = f'Bearer error="insufficient_scope", scope="{WRITE}", {url}'
        return EndpointResponse(status=403, headers={"WWW-Authenticate": line})


BOUNDED = "authorization:client:step-up:bounded"


def a_client_gives_up(run: ClientRun, found: Found) -> None:
    tries = asked(going_for_tokens(run, BOUNDED), "authorize")
    if not tries:
        raise NotTested("the client did not ask for authorization")
    found.saw()
    if len(tries) > MOST_AUTHORIZATIONS:
        expected = "a client gives up where more scopes do not help"
        found.broken(expected, f"it asked {len(tries)} times", tries[-1].event)


@scenario(BOUNDED, a_client_gives_up, is_exact=False)
class GrantsTooLittle(NeedsMoreScopes):
    """Needs a scope for its tools that it never grants."""

    def granted(self, asked: str) -> str:
        """Return the scopes without that one."""
        return " ".join(one for one in asked.split() if one != WRITE)
