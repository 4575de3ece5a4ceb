"""Openings that no client of one revision takes: each is tried, and its answer is told."""

from __future__ import annotations

from mcp_gen import Server
from mcp_gen.compat.doctor.openings import other_openings
from mcp_gen.compat.doctor.server_examination import examine_server
from mcp_gen.compat.json_values import Json, member
from mcp_gen.compat.patience import Patience, Waits
from mcp_gen.compat.reference.call import ReferenceCall, Unanswered
from mcp_gen.compat.reference.client import ReferenceClient
from mcp_gen.compat.reference.server import ReferenceServer
from mcp_gen.compat.reference.serving import DuplexServing
from mcp_gen.compat.report.model import Opening
from mcp_gen.compat.wire.openers import HttpOpener, MemoryOpener
from mcp_gen.core.errors import TransportError
from mcp_wire import REVISIONS, profile
from tests.support.http.loopback import Got, Line, scripted_web

OLD, NEW = REVISIONS[-2:]


async def answers(make: type[ReferenceServer], revision: str) -> dict[str, str]:
    """Return the answers of a strict server of one revision, by what was asked."""
    opens = MemoryOpener(lambda spoken: DuplexServing(make(revision)))
    try:
        found = await other_openings(opens, Patience(0.3))
    finally:
        await opens.aclose()
    return {one.asked: one.answer for one in found}


async def test_an_old_server_refuses_discovery() -> None:
    found = await answers(ReferenceServer, OLD)
    refused = "refused: -32601 Method not found"
    assert [found[one] for one in found if one.startswith("discovery")] == [refused] * 3


async def test_an_old_server_answers_a_handshake_that_names_a_wrong_version() -> None:
    found = await answers(ReferenceServer, OLD)
    assert found["handshake with a version that there is not"] == f"offered {OLD}"
    assert found[f"handshake at {NEW}, which has none"] == f"offered {OLD}"


async def test_a_handshake_without_a_version_is_refused() -> None:
    found = await answers(ReferenceServer, OLD)
    assert found["handshake without a version"].startswith("refused: -32602 Invalid params")


async def test_a_new_server_refuses_the_handshake() -> None:
    found = await answers(ReferenceServer, NEW)
    refused = "refused: -32601 Method not found"
    assert [found[one] for one in found if one.startswith("handshake")] == [refused] * 3


async def test_a_new_server_refuses_discovery_without_its_version() -> None:
    found = await answers(ReferenceServer, NEW)
    assert [found[one] for one in found if one.startswith("discovery")] == [
        "refused: -32602 Missing protocol version or capabilities",
        "refused: -32022 Unsupported protocol version",
        "refused: -32022 Unsupported protocol version",
    ]


async def test_over_http_the_header_names_the_version_that_the_frame_names() -> None:
    spoken = profile(NEW)
    named: list[tuple[str | None, str | None]] = []

    async def refuse(got: Got, line: Line) -> None:
        in_frame = member(got.json, "params", "_meta", spoken.protocol_version_key)
        named.append((got.headers.get(str(spoken.version_header).lower()), in_frame))
        await line.answer(400)

    async with scripted_web(refuse) as web:
        await other_openings(HttpOpener(web.url), Patience(0.3))
    assert {(None, None), (OLD, OLD)} < {*named}
    assert [one for one in named if one[0] != one[1]] == []


class SilentServer(ReferenceServer):
    """Answers no handshake and no discovery."""

    async def initialize(self, call: ReferenceCall) -> Json:
        raise Unanswered

    async def discover(self, call: ReferenceCall) -> Json:
        raise Unanswered


async def test_a_server_that_does_not_answer_is_told_so() -> None:
    found = await answers(SilentServer, OLD)
    assert found[f"handshake at {NEW}, which has none"] == "no answer"


async def test_a_hang_costs_its_time_once_at_all_revisions_and_in_all_openings() -> None:
    opens = MemoryOpener(lambda spoken: DuplexServing(SilentServer(spoken)))
    patience = Patience(0.5)
    waited_s: list[float] = []
    for revision in REVISIONS:
        waits = Waits(patience)
        waits.begin(f"a check at {revision}")
        client = ReferenceClient(opens(revision), revision, waits=waits)
        waited_s.append((await client.open()).waited_s)
        await client.aclose()
    await opens.aclose()
    assert waited_s == [0.5, *(len(REVISIONS) - 1) * [patience.shorter_s]]
    assert patience.shorter_s < 0.5


class VersionlessServer(ReferenceServer):
    """Leaves the version out of its answers."""

    def result_frame(self, call: ReferenceCall, result: Json) -> Json:
        rest = {name: one for name, one in result.items() if "ersion" not in name}
        return super().result_frame(call, rest)


async def test_an_answer_without_a_version_is_told_so() -> None:
    way = "handshake with a version that there is not"
    found = await answers(VersionlessServer, OLD)
    assert found[way] == "answered without a version"


async def test_a_server_that_cannot_be_reached_is_told_so() -> None:
    class Unreachable:
        async def serve(self, transport: object) -> None:
            raise TransportError("nobody listens")

    opens = MemoryOpener(lambda spoken: Unreachable())
    found = await other_openings(opens, Patience(0.3))
    assert {one.answer for one in found} == {"nobody listens"}
    await opens.aclose()


async def test_the_report_has_an_opening_per_revision_and_then_the_others() -> None:
    server = Server("both")
    opens = MemoryOpener(lambda spoken: server)
    report = await examine_server(opens, target="both", transport="memory", timeout_s=2.0)
    await opens.aclose()
    await server.aclose()
    agreed = tuple(Opening(asked=one, answer="agreed", agreed=one) for one in REVISIONS)
    assert report.openings[: len(REVISIONS)] == agreed
    others = {one.asked: one.answer for one in report.openings[len(REVISIONS) :]}
    assert others["handshake with a version that there is not"] == f"offered {OLD}"
    assert others[f"discovery at {OLD}, which has none"].startswith("refused: -32022")
