"""Stage over HTTP: the client is a command, and gets the URL of a server of this process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from mcp_gen.compat.scenarios.commands import run_command
from mcp_gen.compat.scenarios.stage import Performance

if TYPE_CHECKING:
    from mcp_gen.compat.checks.client_run import Ended
    from mcp_gen.compat.reference.http.endpoint import ReferenceEndpoint
    from mcp_gen.compat.scenarios.scenario import Scenario
    from mcp_gen.compat.transcript import Transcript, Transport

__all__ = ["HttpStage"]


class HttpStage:
    """Runs a command that connects to a server over HTTP; see `Stage`.

    The words `{url}` and `{revision}` in it stand for the URL of the endpoint and for the revision
    of the server; at a revision with two endpoints it is the URL of the stream. They are also the
    environment variables MCP_DOCTOR_URL and MCP_DOCTOR_REVISION; the id of the scenario is
    MCP_DOCTOR_SCENARIO. Each run has an endpoint of its own, on a free loopback port.

    Args:
        command: The program and its arguments.
        at_once: Maximum number of runs at the same time.
        stderr: File descriptor for what clients write to stderr; None: nowhere.
    """

    def __init__(
        self, command: Sequence[str], *, at_once: int = 2, stderr: int | None = None
    ) -> None:
        self.transport: Transport = "http"
        self.starts_processes = False
        self.at_once = at_once
        self._command = tuple(command)
        self._stderr = stderr

    async def perform(self, scenario: Scenario, revision: str, limit_s: float) -> Performance:
        """Run the command once."""
        endpoint = scenario.endpoint(lambda: scenario.server(revision), revision)
        async with endpoint.serving() as url:
            said = {"url": url, "revision": revision, "scenario": scenario.id}
            ended = await self.run(said, limit_s)
        return Performance(_transcripts(endpoint), ended)

    async def run(self, said: Mapping[str, str], limit_s: float) -> Ended:
        """Run the client to its end.

        Args:
            said: The values of the placeholders, by name.
            limit_s: Time limit, in seconds, after which it is ended.
        """
        return await run_command(self._command, said, limit_s, stderr=self._stderr)


def _transcripts(endpoint: ReferenceEndpoint) -> list[Transcript]:
    """Return what each client said, and before that what came from nobody that is known."""
    every = [endpoint.unknown, *(client.transcript for client in endpoint.clients)]
    return [one for one in every if one.events]
