"""Scenario of results of rounds, which may not be kept."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from mcp_gen.compat.checks.clients.asking.questions import rounds
from mcp_gen.compat.checks.found import NotTested
from mcp_gen.compat.method_names import method_of
from mcp_gen.compat.scenarios.asking.keeping import (
    KeepingServer,
    asks,
    asks_less_in,
    must_have_wanted_twice,
)
from mcp_gen.compat.scenarios.asking.rounds import AsksNames
from mcp_gen.compat.scenarios.judgements import must_end_well
from mcp_gen.compat.scenarios.scenario import control, scenario

if TYPE_CHECKING:
    from mcp_gen.compat.checks.client_run import ClientRun
    from mcp_gen.compat.checks.found import Found

UNKEPT_ROUNDS = "rounds:zero"


def _reads(run: ClientRun) -> Counter[str]:
    method = method_of(run.profile, "read_resource").name
    return Counter({key: n for key, n in asks(run).items() if key.startswith(f"{method} ")})


def results_of_rounds_are_not_kept(run: ClientRun, found: Found) -> None:
    must_end_well(run)
    if not any(one.retried for transcript in run.transcripts for one in rounds(transcript)):
        raise NotTested("the client answered no questions in results")
    wanted = _reads(run.run_of(UNKEPT_ROUNDS))
    must_have_wanted_twice(wanted)
    found.saw()
    asks_less_in(run, wanted, found, "what came of answers is not kept")


@scenario("caching:client:rounds", results_of_rounds_are_not_kept)
class KeptRounds(AsksNames, KeepingServer):
    """Asks before it lets read, and says that the result may be kept."""


class UnkeptRounds(AsksNames, KeepingServer):
    """Asks before it lets read, and says that the result may not be kept."""

    ttl_ms = 0


control(UNKEPT_ROUNDS, UnkeptRounds)
