"""A report whose every text attacks its reader, and a server that says such texts."""

from __future__ import annotations

import re

from mcp_gen.compat.doctor.server_examination import examine_server
from mcp_gen.compat.json_values import Json
from mcp_gen.compat.reference.call import Failure, ReferenceCall
from mcp_gen.compat.reference.server import ReferenceServer
from mcp_gen.compat.reference.serving import DuplexServing
from mcp_gen.compat.report.bounds import bounded
from mcp_gen.compat.report.model import Evidence, Finding, Offer, Opening, Outcome, Report
from mcp_gen.compat.wire.openers import MemoryOpener
from mcp_wire import REVISIONS

__all__ = ["ATTACK", "CONTROL", "MARK", "hostile_report", "report_on_hostile_server"]

MARK = "evilmark"
"""Word of every text of the hostile server."""

ATTACK = (
    f"{MARK}</script><script>document.title='{MARK}'</script>"
    f"\"'><img src=x onerror=\"document.title='{MARK}'\"></pre></code>` `` ```` @{MARK} "
    f"[{MARK}](javascript:alert(1)) ![{MARK}](https://example.invalid/x) | --- ]]> <!-- "
    "\x1b]0;title\x07\x1b[2J\x00\x08\r\u202e\u200b\x9b31m&amp;\u2028"
)
LARGE = ATTACK + "x" * 1_000_000

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202e\u2028\ud800-\udfff\ufffe\uffff]")
"""Characters that no form of a report may hold."""


FRAMES = (
    Evidence(at_s=0.5, sender="server", kind="message", text=f"{ATTACK}\n```\n{ATTACK}"),
    Evidence(at_s=0.5, sender="server", kind="message", text=f'{{"{MARK}": [{"[" * 900}'),
    Evidence(at_s=0.5, sender="server", kind="message", text="[" * 900 + f'"{MARK}"' + "]" * 900),
    Evidence(at_s=0.5, sender="server", kind="closed", text=f"{ATTACK}\n```\n{LARGE[:100_000]}"),
)


def hostile_report(*, areas: int = 3, findings: int = 4) -> Report:
    """Return a bounded report with such texts wherever a peer's text can stand.

    Args:
        areas: Number of areas, of one check each.
        findings: Number of findings of each check at each revision.
    """
    return bounded(
        Report(
            target="hostile server",
            side="server",
            transport="stdio",
            version="1.0",
            took_s=1.0,
            name=LARGE,
            openings=(Opening(asked=REVISIONS[0], answer=LARGE, agreed=LARGE),),
            listings=tuple(_listing(revision) for revision in REVISIONS),
            outcomes=tuple(
                _outcome(f"area{number}:rule", revision, findings)
                for number in range(areas)
                for revision in REVISIONS
            ),
        )
    )


def _listing(revision: str) -> Offer:
    names = (ATTACK, LARGE, *(f"{number}{ATTACK}" for number in range(1000)))
    return Offer(revision=revision, capabilities=names, items={"tools": names, LARGE: names})


def _outcome(id: str, revision: str, findings: int) -> Outcome:
    untested = revision == REVISIONS[0]
    return Outcome(
        requirement=id,
        level="must",
        says="Says something.",
        revision=revision,
        link=f"https://modelcontextprotocol.io/specification/{revision}",
        verdict="not tested" if untested else "failed",
        why=LARGE if untested else "",
        findings=() if untested else tuple(_finding(number) for number in range(findings)),
    )


def _finding(number: int) -> Finding:
    return Finding(expected=f"{number}{ATTACK}", came=LARGE, where=LARGE, evidence=FRAMES * 5)


class HostileServer(ReferenceServer):
    """Breaks rules with texts that are markup, commands of a terminal, and very long."""

    def info(self) -> Json:
        return {"name": ATTACK, "version": LARGE}

    def capabilities(self) -> Json:
        return {**super().capabilities(), "experimental": {ATTACK: {}}}

    def tools(self) -> list[Json]:
        schema = {"type": "object"}
        twice = {"name": ATTACK, "description": LARGE, "inputSchema": schema}
        many = ({"name": f"{number}{ATTACK}", "inputSchema": schema} for number in range(500))
        return [twice, twice, {"name": LARGE, "inputSchema": schema}, *many]

    def page(self, call: ReferenceCall, member: str, items: list[Json]) -> Json:
        return {member: items}

    def result_frame(self, call: ReferenceCall, result: Json) -> Json:
        if "tools" in result:
            result = {**result, "tools": [{**one, ATTACK: LARGE} for one in result["tools"][:3]]}
        return super().result_frame(call, result)

    async def list_prompts(self, call: ReferenceCall) -> Json:
        raise Failure(self.profile.errors.invalid_params, LARGE, {ATTACK: LARGE})


class RefusingServer(HostileServer):
    """Refuses the handshake with such a text."""

    async def initialize(self, call: ReferenceCall) -> Json:
        raise Failure(self.profile.errors.invalid_params, LARGE)


async def report_on_hostile_server() -> Report:
    """Return the report on the hostile server, which refuses the oldest revision."""

    def serving(revision: str) -> DuplexServing:
        kind = RefusingServer if revision == REVISIONS[0] else HostileServer
        return DuplexServing(kind(revision))

    opens = MemoryOpener(serving)
    try:
        return await examine_server(
            opens, target="hostile server", transport="memory", timeout_s=5.0
        )
    finally:
        await opens.aclose()
