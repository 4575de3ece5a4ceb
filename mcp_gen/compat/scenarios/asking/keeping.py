"""Scenarios of results that may be kept for a time, and judgements of how often one asks."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, ClassVar

import msgspec

from mcp_gen.compat.checks.check import judged
from mcp_gen.compat.checks.clients.asking.questions import carries_round
from mcp_gen.compat.checks.found import NotTested
from mcp_gen.compat.json_values import is_object, member
from mcp_gen.compat.method_names import python_name
from mcp_gen.compat.reference.call import Failure
from mcp_gen.compat.reference.feature_handlers import PAGE_ITEMS
from mcp_gen.compat.scenarios.judgements import last_events, must_end_well
from mcp_gen.compat.scenarios.scenario import scenario
from mcp_gen.compat.scenarios.staged import StagedServer
from mcp_gen.compat.views.conversation import id_key, is_answer, is_request

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_gen.compat.checks.check import Judge
    from mcp_gen.compat.checks.client_run import ClientRun
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.json_values import Json
    from mcp_gen.compat.reference.call import ReferenceCall
    from mcp_gen.compat.transcript import Transcript, WireFrame

__all__ = ["KEPT", "KeepingServer", "asks", "asks_less_in", "must_have_wanted_twice"]

KEPT = (
    "list_tools",
    "list_prompts",
    "list_resources",
    "list_resource_templates",
    "read_resource",
)
"""Requests whose results may be kept, by Python name."""
ZERO, ABSENT, NEGATIVE = (f"caching:client:{one}" for one in ("zero", "absent", "negative"))
TIMELESS = (ZERO, ABSENT, NEGATIVE)
"""Scenarios in which nothing may be kept."""
LONG_MS = 60_000
SHORT_MS = 1
POLLED_MS = 5
SLOWNESS_S = 0.02
"""Time that an answer takes where times are to be over before the next access."""


class KeepingServer(StagedServer):
    """Says for how long its results may be kept."""

    ttl_ms: ClassVar[int | None] = LONG_MS
    """Milliseconds for which results may be kept; None to say nothing."""
    slowness_s: ClassVar[float] = 0.0

    async def answer(self, call: ReferenceCall) -> Json:
        """Answer after a while."""
        if python_name(call.method) in KEPT:
            await asyncio.sleep(self.slowness_s)
        return await super().answer(call)

    def result_frame(self, call: ReferenceCall, result: Json) -> Json:
        """Return the answer with the time for which it may be kept."""
        if python_name(call.method) in KEPT and "ttlMs" in result:
            kept = {key: value for key, value in result.items() if key != "ttlMs"}
            ttl_ms = self.time_of(call)
            result = kept if ttl_ms is None else {**kept, "ttlMs": ttl_ms}
        return super().result_frame(call, result)

    def time_of(self, call: ReferenceCall) -> int | None:
        """Return the time for which the result of a request may be kept, in milliseconds."""
        return self.ttl_ms


# --- how often the client asks ---


def _requests(transcript: Transcript) -> Iterator[tuple[str, WireFrame]]:
    """Yield the requests for what may be kept, each with a text for method and params."""
    for one in transcript.frames("client"):
        frame = one.members
        if not is_request(frame) or carries_round(frame):
            continue
        if python_name(str(frame["method"])) in KEPT:
            params = frame.get("params")
            kept = {k: v for k, v in params.items() if k != "_meta"} if is_object(params) else {}
            text = msgspec.json.encode(kept, order="deterministic").decode()
            yield f"{frame['method']} {text}", one


def asks(run: ClientRun) -> Counter[str]:
    """Return how often the client has asked for what, by method and params."""
    return Counter(key for one in run.transcripts for key, _ in _requests(one))


def must_have_wanted_twice(wanted: Counter[str]) -> None:
    """Raise NotTested if nothing was asked for twice where nothing may be kept."""
    if not any(count > 1 for count in wanted.values()):
        raise NotTested("the client asked for nothing twice")


def asks_less_in(run: ClientRun, wanted: Counter[str], found: Found, expected: str) -> None:
    """Report what was asked for less often in a run than it was wanted."""
    here = asks(run)
    for key, count in sorted(wanted.items()):
        if here[key] < count:
            came = f"the client asked {here[key]} times for {key}, else {count} times"
            found.broken(expected, came, *last_events(run))
            return


def _wanted_beside(run: ClientRun) -> Counter[str]:
    """Return how often things were wanted, as seen where nothing may be kept."""
    wanted: Counter[str] = Counter()
    for id in TIMELESS:
        if id != run.scenario:
            wanted |= asks(run.run_of(id))
    return wanted


def nothing_is_kept(expected: str) -> Judge:
    """Return a judge: what comes in this scenario is not kept.

    Args:
        expected: What is not to be kept, in one sentence.
    """

    def judge(run: ClientRun, found: Found) -> None:
        must_end_well(run)
        if not run.ended.well:
            found.broken(expected, f"{run.ended}, unlike with the strict server", *last_events(run))
            return
        wanted = _wanted_beside(run)
        must_have_wanted_twice(wanted)
        found.saw()
        asks_less_in(run, wanted, found, expected)

    return judge


@scenario(ZERO, nothing_is_kept("a result with a time of zero is not kept"))
class OldAtOnce(KeepingServer):
    """Has results that may not be kept."""

    ttl_ms = 0
    slowness_s = SLOWNESS_S


@scenario(ABSENT, nothing_is_kept("a result without a time is not kept"))
class Timeless(KeepingServer):
    """Does not say for how long its results may be kept."""

    ttl_ms = None


@scenario(NEGATIVE, nothing_is_kept("a time below zero counts as zero"))
class OldBefore(KeepingServer):
    """Has results with a time below zero."""

    ttl_ms = -LONG_MS


# --- times that are over ---


def _answered_at(run: ClientRun) -> list[tuple[str, float, float]]:
    """Return what was asked for, when, and when that was answered, in the order of the requests."""
    found: list[tuple[str, float, float]] = []
    for transcript in run.transcripts:
        answers = {
            id_key(frame.get("id")): event.at_s
            for event, frame in transcript.frames("server")
            if is_answer(frame)
        }
        for key, (event, frame) in _requests(transcript):
            id = id_key(frame["id"])
            if id in answers:
                found.append((key, event.at_s, answers[id]))
    return found


def _wanted_late(run: ClientRun) -> Counter[str]:
    """Return how often things were wanted, at first, and later when they surely were old.

    A result is old if, since it came, something was asked for that had not come before: that
    takes the server longer than the result may be kept.
    """
    wanted: Counter[str] = Counter()
    came_s: dict[str, float] = {}
    first: list[tuple[float, float]] = []
    for key, asked_s, answered_s in _answered_at(run):
        since_s = came_s.get(key)
        if since_s is None:
            wanted[key] = 1
            first.append((asked_s, answered_s))
        else:
            wanted[key] += any(begun > since_s and ended < asked_s for begun, ended in first)
        came_s[key] = answered_s
    return wanted


def what_is_old_is_asked_for_again(run: ClientRun, found: Found) -> None:
    must_end_well(run)
    wanted = _wanted_late(run.run_of(ZERO))
    must_have_wanted_twice(wanted)
    found.saw()
    # What is never asked for was taken for something else, of which another check tells.
    wanted = Counter({key: wanted[key] for key in asks(run)})
    asks_less_in(run, wanted, found, "when the time of a result is over, it is asked for again")


@scenario("caching:client:expired", what_is_old_is_asked_for_again)
class OldSoon(KeepingServer):
    """Has results that may be kept for a moment."""

    ttl_ms = SHORT_MS
    slowness_s = SLOWNESS_S


def nothing_is_asked_for_of_itself(run: ClientRun, found: Found) -> None:
    must_end_well(run)
    wanted = _wanted_beside(run)
    if not wanted:
        raise NotTested("the client asked for nothing that may be kept")
    found.saw()
    for key, count in sorted(asks(run).items()):
        if count > wanted[key]:
            expected = "the end of a time is no reason to ask again"
            came = f"the client asked {count} times for {key}, else {wanted[key]} times"
            found.broken(expected, came, *last_events(run))
            return


@scenario("caching:client:no-polling", nothing_is_asked_for_of_itself)
class OldAgainAndAgain(KeepingServer):
    """Has results that may be kept for some milliseconds."""

    ttl_ms = POLLED_MS
    slowness_s = SLOWNESS_S


# --- what is kept for what ---


def what_was_kept_is_for_the_same_params(run: ClientRun, found: Found) -> None:
    must_end_well(run)
    wanted = asks(run.run_of(ZERO))
    methods = Counter(key.partition(" ")[0] for key in wanted)
    if not any(count > 1 for count in methods.values()):
        raise NotTested("the client asked for nothing with different params")
    found.saw()
    once = Counter(dict.fromkeys(wanted, 1))
    asks_less_in(run, once, found, "what was kept is for the same method and params alone")


judged("caching:client:key", what_was_kept_is_for_the_same_params)


def pages_are_kept_one_by_one(run: ClientRun, found: Found) -> None:
    must_end_well(run)
    wanted = Counter(
        {key: count for key, count in asks(run.run_of(ZERO)).items() if '"cursor"' in key}
    )
    must_have_wanted_twice(wanted)
    found.saw()
    asks_less_in(run, wanted, found, "a page whose time is over is asked for again by its cursor")


@scenario("caching:client:pages", pages_are_kept_one_by_one)
class OldPages(KeepingServer):
    """Has lists of which the first page may be kept, and no other."""

    def time_of(self, call: ReferenceCall) -> int | None:
        """Return no time for later pages."""
        return 0 if call.params.get("cursor") else LONG_MS


def a_refused_cursor_voids_the_list(run: ClientRun, found: Found) -> None:
    must_end_well(run)
    frames = list(run.frames())
    refused = {
        id_key(one.members.get("id"))
        for one in frames
        if one.event.sender == "server" and "error" in one.members
    }
    for number, one in enumerate(frames):
        if (
            one.event.sender != "client"
            or id_key(one.members.get("id")) not in refused
            or member(one.members, "params", "cursor") is None
        ):
            continue
        # What was already given to the program cannot be taken back: the next access counts.
        method = one.members["method"]
        later = [two for two in frames[number + 1 :] if two.members.get("method") == method]
        if later:
            found.saw()
        if later and member(later[0].members, "params", "cursor") is not None:
            expected = "after a cursor was refused, the list is asked for from its beginning"
            found.broken(expected, "it was not", one.event, later[0].event)
    if not found.has_seen:
        raise NotTested("the client keeps no pages, or wanted the list no more")


@scenario("caching:client:cursor", a_refused_cursor_voids_the_list)
class OldCursors(OldPages):
    """Refuses cursors once a list was walked to its end."""

    def __init__(self, revision: str) -> None:
        super().__init__(revision)
        self._walks: Counter[str] = Counter()

    def page(self, call: ReferenceCall, member: str, items: list[Json]) -> Json:
        """Return a page; its cursor is good for this walk."""
        walk, _, said = call.params.get("cursor", f"{self._walks[member]}-0").partition("-")
        if walk != str(self._walks[member]):
            raise Failure(self.profile.errors.invalid_params, "Unknown cursor")
        start = int(said)
        end = start + PAGE_ITEMS
        if end < len(items):
            return {member: items[start:end], "nextCursor": f"{walk}-{end}"}
        self._walks[member] += start > 0
        return {member: items[start:end]}
