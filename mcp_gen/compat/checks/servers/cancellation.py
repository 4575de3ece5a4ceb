"""Checks of cancellations, those that the server sends and those that it gets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from mcp_gen.compat.checks.check import probe, rule
from mcp_gen.compat.checks.found import NotTested
from mcp_gen.compat.checks.silent_client import SilentClient, silent
from mcp_gen.compat.json_values import Json, entries, member
from mcp_gen.compat.reference.client import answer_in
from mcp_gen.compat.views.dialogue import Dialogue, path_of

if TYPE_CHECKING:
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.checks.trial import CalledTool, ServerTrial
    from mcp_gen.compat.reference.client import ReferenceClient, ServerReply
    from mcp_gen.compat.transcript import Transcript, WireEvent, WireFrame

SLOW_S = 0.2
"""Seconds after which a call counts as one that can be cancelled on its way."""
IN_FLIGHT_S = 0.1
"""Seconds after which such a call is cancelled."""
LATER_S = 0.5
"""Seconds after which a call is cancelled again that had not ended before, to be sure of it."""
TOKEN = "cancelled"


# --- cancellations of the server ---


def cancellations(dialogue: Dialogue) -> Iterator[WireFrame]:
    """Yield the cancellations that the server has sent."""
    method = dialogue.profile.cancelled
    for frame in dialogue.transcript.frames("server"):
        if method is not None and frame.members.get("method") == method.name:
            yield frame


@rule("cancellation:sent:own", unseen="the server has cancelled nothing")
def the_server_cancels_its_own_open_requests(transcript: Transcript, found: Found) -> None:
    dialogue = transcript.derived(Dialogue)
    for frame in cancellations(dialogue):
        found.saw()
        id = member(frame.members, "params", "requestId")
        asked = [one for one in dialogue.by_server if one.id == id and type(one.id) is type(id)]
        before = [one for one in asked if one.asked.event.number < frame.event.number]
        if not before:
            came = "it names no request" if id is None else f"it has sent no request {id!r}"
        elif has_read_answer(dialogue, before[-1].answer, frame.event):
            came = f"request {id!r} is answered"
        else:
            continue
        found.broken(
            "the server cancels an open request of its own",
            came,
            *(one.asked.event for one in before[-1:]),
            frame.event,
            where=f"{path_of(frame)}.params",
        )


def has_read_answer(dialogue: Dialogue, answer: WireFrame | None, event: WireEvent) -> bool:
    """Return True if the server has read an answer before an event: it answered what came later."""
    if answer is None:
        return False
    return any(
        one.asked.event.number > answer.event.number
        and one.answer is not None
        and one.answer.event.number < event.number
        for one in dialogue.by_client
    )


@rule("cancellation:sent:listening-only", unseen="the server answered nothing")
def the_server_cancels_listening_requests_alone(transcript: Transcript, found: Found) -> None:
    dialogue = transcript.derived(Dialogue)
    listen = dialogue.profile.listen
    if any(one.answer for one in dialogue.by_client):
        found.saw()
    listening: list[Any] = [
        one.id
        for one in dialogue.by_client
        if listen is not None and one.asked.members["method"] == listen.name
    ]
    for frame in cancellations(dialogue):
        id = member(frame.members, "params", "requestId")
        if any(one == id and type(one) is type(id) for one in listening):
            continue
        found.broken(
            "the server cancels listening requests alone",
            f"{id!r} is the id of none",
            frame.event,
            where=f"{path_of(frame)}.params",
        )


@probe("cancellation:sent:late-answer")
async def a_late_answer_changes_nothing(trial: ServerTrial) -> None:
    client = await trial.fresh(answers=SilentClient())
    questions: list[Json] = []
    for one in asking(trial):
        asked, question = await silent(client, one.call)
        await cancel(client, asked)
        questions += [question] if question else []
    await client.settle()
    for question in questions:
        if is_cancelled(client, question):
            listed = await list_something(client)
            late = await client.send({"jsonrpc": "2.0", "id": question["id"], "result": {}})
            await judge_undisturbed(trial, client, listed, late, "a late answer is ignored")
            return
    raise NotTested("the server has cancelled no request of its own")


def is_cancelled(client: ReferenceClient, question: Json) -> bool:
    """Return True if the server has cancelled its question."""
    asked = client.transcript.derived(Dialogue).by_server
    return any(one.cancelled for one in asked if one.id == question["id"])


# --- cancellations that it gets ---


class CancelledCall(NamedTuple):
    """A call that was cancelled on its way.

    Args:
        client: The client.
        asked: The call.
        cancelled: The cancellation.
        read: Answer to the second of two requests that were made one after the other since: the
            server has read the cancellation, and sent what it had to send until then.
        could_end: True if the call may have ended by itself after the cancellation.
    """

    client: ReferenceClient
    asked: WireEvent
    cancelled: WireEvent
    read: WireEvent
    could_end: bool

    def after(self) -> Iterator[WireEvent]:
        """Yield the messages of the server after the cancellation."""
        for event in self.client.transcript.messages("server"):
            if event.number > self.cancelled.number:
                yield event

    def answer(self) -> WireEvent | None:
        """Return the answer to the call, if the cancellation cannot have crossed it."""
        if self.could_end and self.client.http is not None:
            # What comes over two connections has no order.
            return None
        id = member(self.asked.message, "id")
        for event in self.after():
            frame = answer_in(event, id)
            if frame is not None and (not self.could_end or event.number > self.read.number):
                return event
        return None

    def later(self) -> Iterator[WireEvent]:
        """Yield what belongs to the call, but the answer, and came once it was cancelled."""
        profile = self.client.profile
        for event in self.after():
            if event.number < self.read.number:
                continue
            for frame in entries(event.message):
                is_progress = profile.progress and frame.get("method") == profile.progress.name
                token = member(frame, "params", "progressToken")
                if (is_progress and token == TOKEN) or ("method" in frame and "id" in frame):
                    yield event

    def was_busy(self) -> bool:
        """Return True if the call did something before it was cancelled."""
        number = self.cancelled.number
        asked = self.asked.number
        messages = self.client.transcript.messages("server")
        return any(asked < event.number < number for event in messages)


async def cancel(client: ReferenceClient, asked: WireEvent) -> WireEvent:
    """Cancel a request."""
    assert client.profile.cancelled is not None
    params = {"requestId": member(asked.message, "id"), "reason": "the examination"}
    return await client.tell(client.profile.cancelled, params)


def asking(trial: ServerTrial) -> list[CalledTool]:
    """Return the calls that ask while they are in flight."""
    if trial.profile.asks_client != "server_request":
        return []
    return [one for one in trial.called if one.questions and not one.reply.timed_out]


async def cancelled_calls(trial: ServerTrial) -> list[CancelledCall]:
    """Cancel calls on their way, each on a connection of its own, and return what came of it.

    A call is on its way if it asked something that is not answered, or if it takes long.
    """
    if trial.transport == "http" and trial.profile.stream_drop_cancels:
        raise NotTested("over HTTP the end of its stream cancels a request")
    slow = [one for one in trial.called if one.reply.timed_out or one.reply.waited_s >= SLOW_S]
    # On a busy machine any call can be slow once: one that did not end at all is taken before it.
    slow.sort(key=lambda one: (one.reply.timed_out, one.reply.waited_s), reverse=True)
    tried = [await cancelled_call(trial, one) for one in (*slow[:1], *asking(trial)[:1])]
    return [one for one in tried if one is not None]


async def cancelled_call(trial: ServerTrial, called: CalledTool) -> CancelledCall | None:
    """Cancel a call on its way; return None if it had ended before, or may have."""
    one = await cancelled_after(trial, called, IN_FLIGHT_S)
    if one is None or one.answer() is None or not called.reply.timed_out:
        return one
    # It may have been slow the first time, and have ended now by itself: then it ends before a
    # later cancellation, and does not wait for it.
    return await cancelled_after(trial, called, LATER_S)


async def cancelled_after(
    trial: ServerTrial, called: CalledTool, in_flight_s: float
) -> CancelledCall | None:
    """Cancel a call after some seconds; see `cancelled_call`."""
    client = await trial.fresh(answers=SilentClient())
    asked, question = await silent(client, called.call, within_s=in_flight_s, token=TOKEN)
    id = member(asked.message, "id")
    # A question of a call that asks nothing is the server's own.
    is_asking = question is not None and bool(called.questions)
    could_end = not is_asking and not called.reply.timed_out
    if is_answered(client, id):
        return None
    cancelled = await cancel(client, asked)
    if not (await client.ask_frame(client.harmless_frame())).frame:
        return None
    again = client.ask_frame(client.harmless_frame()) if could_end else client.settle()
    read = (await again).event
    if read is None or (could_end and is_answered(client, id)):
        # The answer may have been on its way before the server read the cancellation.
        return None
    if could_end:
        await client.reply_to(asked, within_s=called.reply.waited_s)
    return CancelledCall(client, asked, cancelled, read, could_end)


def is_answered(client: ReferenceClient, id: Any) -> bool:
    """Return True if a request has got an answer."""
    return any(answer_in(event, id) for event in client.transcript.messages("server"))


def is_strict(trial: ServerTrial) -> bool:
    """Return True if nothing at all may be sent for a cancelled request."""
    return trial.transport == "stdio" and trial.profile.asks_client == "input_required"


@probe("cancellation:received:unanswered")
async def a_cancelled_request_is_not_answered(trial: ServerTrial) -> None:
    tried = await trial.once(cancelled_calls)
    for one in tried:
        answer = one.answer()
        if answer is not None and not is_strict(trial):
            told_of(trial, one, answer, "a cancelled request is not answered", "an answer came")
    if not tried:
        raise NotTested("no call that was named takes long enough to be cancelled")


@probe("cancellation:received:stops")
async def a_cancelled_request_is_not_worked_on(trial: ServerTrial) -> None:
    tried = await trial.once(cancelled_calls)
    for one in tried:
        later = next(one.later(), None)
        if later is not None and not is_strict(trial):
            expected = "a cancelled request is no longer worked on"
            told_of(trial, one, later, expected, "the call went on to send messages")
    if not any(one.was_busy() for one in tried):
        raise NotTested("no call that was named shows that it works until it is cancelled")


@probe("cancellation:received:silent")
async def nothing_is_sent_for_a_cancelled_request(trial: ServerTrial) -> None:
    if not is_strict(trial):
        raise NotTested("it is demanded over stdio")
    tried = await trial.once(cancelled_calls)
    for one in tried:
        sent = one.answer() or next(one.later(), None)
        if sent is not None:
            expected = "after its cancellation nothing is sent for a request"
            told_of(trial, one, sent, expected, "a message came")
    if not tried:
        raise NotTested("no call that was named takes long enough to be cancelled")


def told_of(
    trial: ServerTrial, one: CancelledCall, sent: WireEvent, expected: str, came: str
) -> None:
    """Report a message that came after a cancellation."""
    came = f"{came} after {sent.at_s - one.cancelled.at_s:.3f} s"
    trial.broken(expected, came, one.asked, one.cancelled, sent, where="$")


@probe("cancellation:received:race")
async def a_cancellation_after_the_answer_changes_nothing(trial: ServerTrial) -> None:
    client = await trial.second()
    listed = await list_something(client)
    late = await cancel(client, listed.asked)
    await judge_undisturbed(
        trial, client, listed, late, "a cancellation that comes after the answer changes nothing"
    )


@probe("cancellation:received:invalid")
async def an_invalid_cancellation_changes_nothing(trial: ServerTrial) -> None:
    client = await trial.second()
    assert trial.profile.cancelled is not None
    listed = await list_something(client)
    params: tuple[Any, ...] = (
        {"requestId": "no such request"},
        {"requestId": 987654321},
        {"requestId": None},
        {"requestId": {}},
        {},
        [],
        "cancel",
        None,
    )
    frame = {"jsonrpc": "2.0", "method": trial.profile.cancelled.name}
    for one in params:
        sent = await client.send(frame if one is None else {**frame, "params": one})
        expected = "a cancellation that names no open request is ignored"
        if not await judge_undisturbed(trial, client, listed, sent, expected):
            return


# --- what is disturbed ---


async def list_something(client: ReferenceClient) -> ServerReply:
    """Ask for a list that the server declares, or for nothing.

    Raises:
        NotTested: it is not answered with a result.
    """
    reply = await client.ask(harmless(client))
    if reply.result is None:
        raise NotTested("the server answers no list")
    return reply


def harmless(client: ReferenceClient) -> Any:
    """Return a method that changes nothing."""
    for capability in ("tools", "prompts", "resources"):
        if capability in client.server_capabilities:
            return f"list_{capability}"
    return client.profile.ping or client.profile.discover


async def judge_undisturbed(
    trial: ServerTrial,
    client: ReferenceClient,
    before: ServerReply,
    sent: WireEvent,
    expected: str,
) -> bool:
    """Report it if a list is not answered any more; return True if it is.

    Args:
        trial: The trial.
        client: The client.
        before: The answer to the list before.
        sent: What should change nothing.
        expected: What is demanded.
    """
    reply = await client.ask(harmless(client))
    if reply.result is not None:
        return True
    came = "the connection ended" if reply.closing else "the next request got no result"
    evidence = [one for one in (before.event, sent, *reply.events) if one]
    trial.broken(expected, came, *evidence, where="$")
    return False
