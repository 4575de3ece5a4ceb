"""Scenarios of metadata that are not at the first place, or nowhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_gen.compat.checks.check import judged
from mcp_gen.compat.checks.found import NotTested
from mcp_gen.compat.scenarios.authorization.granting import (
    CHALLENGED,
    DEFAULT_PATHS,
    OIDC_PATH,
    RESOURCE_PATH,
    SERVER_PATH,
    GrantsTokens,
)
from mcp_gen.compat.scenarios.authorization.steps import (
    asked,
    ends_of,
    fetched,
    going_for_tokens,
)
from mcp_gen.compat.scenarios.scenario import scenario

if TYPE_CHECKING:
    from mcp_gen.compat.checks.client_run import ClientRun
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.json_values import Json
    from mcp_gen.compat.reference.http.exchanges import EndpointRequest

TENANT = "/tenant"
BY_DEFAULT = "authorization:client:default-endpoints"


def both_places_are_tried(run: ClientRun, found: Found) -> None:
    steps = going_for_tokens(run, "authorization:client:resource-metadata:fallback")
    found.saw()
    expected = f"metadata are looked for at {RESOURCE_PATH}/mcp, then at {RESOURCE_PATH}"
    came = list(dict.fromkeys(fetched(steps, RESOURCE_PATH)))
    if came != [f"{RESOURCE_PATH}/mcp", RESOURCE_PATH]:
        found.broken(
            expected, f"the client asked at {', '.join(came) or 'no place'}", *ends_of(steps)
        )


@scenario("authorization:client:resource-metadata:fallback", both_places_are_tried, is_exact=False)
class HasMetadataAtTheRoot(GrantsTokens):
    """Has its metadata at the well-known path of its origin, and does not say so."""

    def challenge(self, request: EndpointRequest) -> str:
        """Return a challenge that names no metadata."""
        return "Bearer"

    def documents(self, request: EndpointRequest) -> dict[str, Json]:
        """Return the documents by path."""
        return {
            RESOURCE_PATH: self.resource_metadata(request),
            SERVER_PATH: self.server_metadata(request),
        }


def places_are_tried_in_order(run: ClientRun, found: Found) -> None:
    steps = going_for_tokens(run, "authorization:client:server-metadata:order")
    came = [one for one in fetched(steps) if SERVER_PATH in one or OIDC_PATH in one]
    if not came or not fetched(steps, CHALLENGED):
        raise NotTested("the client did not ask for the metadata that name the issuer")
    found.saw()
    order = [SERVER_PATH + TENANT, OIDC_PATH + TENANT, TENANT + OIDC_PATH]
    if list(dict.fromkeys(came)) != order:
        expected = f"metadata of an issuer with a path are looked for at {', '.join(order)}"
        found.broken(expected, f"the client asked at {', '.join(came)}", *ends_of(steps))


@scenario("authorization:client:server-metadata:order", places_are_tried_in_order, is_exact=False)
class HasMetadataAtTheLastPlace(GrantsTokens):
    """Has an issuer with a path, whose metadata are at the last of three places."""

    issuer_path = TENANT

    def documents(self, request: EndpointRequest) -> dict[str, Json]:
        """Return the documents by path."""
        found = super().documents(request)
        metadata = found.pop(SERVER_PATH + TENANT)
        return {**found, TENANT + OIDC_PATH: metadata}


def default_paths_are_used(run: ClientRun, found: Found) -> None:
    steps = going_for_tokens(run, BY_DEFAULT)
    found.saw()
    expected = f"without metadata the endpoints are {', '.join(DEFAULT_PATHS)}"
    wrong = [one for one in asked(steps) if one.said["path"] not in DEFAULT_PATHS]
    if wrong:
        found.broken(expected, f"a request went to {wrong[0].said['path']}", wrong[0].event)
    elif not asked(steps, "authorize"):
        found.broken(expected, f"no request came; {run.run_of(BY_DEFAULT).ended}", *ends_of(steps))


@scenario(BY_DEFAULT, default_paths_are_used, is_exact=False)
class HasNoDocuments(GrantsTokens):
    """Has no metadata at all."""

    def documents(self, request: EndpointRequest) -> dict[str, Json]:
        """Return nothing."""
        return {}


def the_origin_is_asked(run: ClientRun, found: Found) -> None:
    came = fetched(going_for_tokens(run, BY_DEFAULT), SERVER_PATH)
    found.saw()
    if came[:1] != [SERVER_PATH]:
        expected = f"metadata are looked for at {SERVER_PATH}, without the path of the server"
        found.broken(expected, f"the client asked at {came[0] if came else 'no place'}")


judged("authorization:client:origin", the_origin_is_asked)
