"""Steps of a client on its way to a token, as the judges of scenarios read them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from mcp_gen.compat.checks.found import NotTested
from mcp_gen.compat.json_values import is_array, is_object
from mcp_gen.compat.scenarios.fetching import fetches

if TYPE_CHECKING:
    from mcp_gen.compat.checks.client_run import ClientRun
    from mcp_gen.compat.transcript import WireEvent

__all__ = ["GRANTED", "TokenStep", "asked", "ends_of", "fetched", "going_for_tokens", "steps_of"]

GRANTED = "authorization:client:pkce"
"""Id of the scenario in which all goes well."""
REQUESTS = ("register", "authorize", "token")


class TokenStep:
    """One request of a client on its way to a token, or with it.

    `name` is `mcp` for a request of the protocol, `fetch` for one of a document; `register`,
    `authorize` and `token` are the requests to the endpoints. `said` has their parameters.

    Args:
        event: The event of the request.
    """

    def __init__(self, event: WireEvent) -> None:
        noted = msgspec.json.decode(event.about)
        assert is_array(noted)
        self.event = event
        self.name: str = noted[0]
        self.said: dict[str, str] = noted[1]

    @property
    def registration(self) -> dict[str, Any]:
        """Members of a registration."""
        found = msgspec.json.decode(self.said["body"])
        return found if is_object(found) else {}


def steps_of(run: ClientRun) -> list[TokenStep]:
    """Return the steps of a run, in order."""
    return [TokenStep(event) for event in fetches(run)]


def going_for_tokens(run: ClientRun, scenario: str = GRANTED) -> list[TokenStep]:
    """Return the steps of a client in a scenario, if it goes for tokens where all is well.

    Args:
        run: Any run of the client.
        scenario: Id of the scenario.

    Raises:
        NotTested: it does not go for tokens, or the scenario was not run.
    """
    if not asked(steps_of(run.run_of(GRANTED)), "authorize", "token"):
        raise NotTested("the client did not ask for a token, or its user did not agree")
    return steps_of(run.run_of(scenario))


def asked(steps: Iterable[TokenStep], *names: str) -> list[TokenStep]:
    """Return the steps with these names; without names, those at the endpoints."""
    return [one for one in steps if one.name in (names or REQUESTS)]


def fetched(steps: Iterable[TokenStep], part: str = "") -> list[str]:
    """Return the paths of the documents that were asked for, as far as they have a part."""
    return [one.said["path"] for one in steps if one.name == "fetch" and part in one.said["path"]]


def ends_of(steps: Sequence[TokenStep]) -> list[WireEvent]:
    """Return the event of the last step, if there is one, as evidence."""
    return [one.event for one in steps[-1:]]
