"""Checks of log messages to the client, and of their levels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from mcp_gen.compat.checks.check import probe, rule
from mcp_gen.compat.json_values import member
from mcp_gen.compat.views.dialogue import Dialogue, path_of

if TYPE_CHECKING:
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.checks.trial import ServerTrial
    from mcp_gen.compat.reference.client import ServerReply
    from mcp_gen.compat.transcript import Transcript, WireFrame
    from mcp_gen.compat.views.dialogue import AskedRequest

NO_LOG = "no log message came"
NO_LEVEL = "loud"
"""Name of no level."""


def log_messages(dialogue: Dialogue) -> Iterator[WireFrame]:
    """Yield the log messages of the server."""
    method = dialogue.profile.log
    for frame in dialogue.transcript.frames("server"):
        if method is not None and frame.members.get("method") == method.name:
            yield frame


@rule("logging:declared", unseen=NO_LOG)
def a_server_that_logs_declares_it(transcript: Transcript, found: Found) -> None:
    dialogue = transcript.derived(Dialogue)
    declared, opened = dialogue.server_capabilities(), dialogue.opened()
    if declared is None or opened is None or opened.answer is None:
        return
    for frame in log_messages(dialogue):
        found.saw()
        if "logging" not in declared:
            found.broken(
                "a server that sends log messages declares `logging`",
                f"it declares {', '.join(sorted(declared)) or 'nothing'}",
                opened.answer.event,
                frame.event,
                where=f"{path_of(frame)}.method",
            )
            return


def asked_before(
    dialogue: Dialogue, frame: WireFrame
) -> tuple[list[AskedRequest], list[AskedRequest]]:
    """Return the requests before a message, and those of them that it may belong to."""
    told = [one for one in dialogue.by_client if one.asked.event.number < frame.event.number]
    return told, [
        one
        for one in told
        if one.is_open_at(frame.event) and one.asked.event.exchange == frame.event.exchange
    ]


def listens(dialogue: Dialogue, exchange: AskedRequest) -> bool:
    """Return True for a request that stays open to hear of changes."""
    listen = dialogue.profile.listen
    return listen is not None and exchange.asked.members["method"] == listen.name


def may_log(dialogue: Dialogue, exchange: AskedRequest) -> bool:
    """Return True if log messages may belong to a request: it names a level."""
    return not listens(dialogue, exchange) and dialogue.profile.log_level_key in exchange.meta


@rule("logging:level:opted-in", unseen="no request came to its end without a level")
def a_request_that_names_no_level_gets_no_log(transcript: Transcript, found: Found) -> None:
    dialogue = transcript.derived(Dialogue)
    key = dialogue.profile.log_level_key
    if any(key not in one.meta and one.answer for one in dialogue.by_client):
        found.saw()
    for frame in log_messages(dialogue):
        # Those of an earlier request are the matter of the next rule.
        told, open_then = asked_before(dialogue, frame)
        open_then = [one for one in open_then if not listens(dialogue, one)]
        if any(key in one.meta for one in open_then or told):
            continue
        found.broken(
            "log messages come for requests that name a level alone",
            "no open request names one" if open_then else "no request has named one",
            *(one.asked.event for one in open_then[:1]),
            frame.event,
            where=path_of(frame),
        )


@rule("logging:level:own-request", unseen=NO_LOG)
def log_messages_come_before_the_answer(transcript: Transcript, found: Found) -> None:
    dialogue = transcript.derived(Dialogue)
    key, listening = dialogue.profile.log_level_key, dialogue.profile.subscription_id_key
    for frame in log_messages(dialogue):
        found.saw()
        told, open_then = asked_before(dialogue, frame)
        open_then = [one for one in open_then if not listens(dialogue, one)]
        if not any(key in one.meta for one in open_then or told):
            continue
        if listening and member(frame.members, "params", "_meta", listening) is not None:
            came = "it came on a listening request"
        elif not any(may_log(dialogue, one) for one in open_then):
            came = "no such request is open"
        else:
            continue
        found.broken(
            "a log message comes before the answer of a request that names a level",
            came,
            frame.event,
            where=path_of(frame),
        )


@probe("logging:level:invalid")
async def an_unknown_level_cannot_be_set(trial: ServerTrial) -> None:
    await trial.having("logging")
    client = await trial.second()
    judge(trial, await client.ask("set_level", {"level": NO_LEVEL}))


@probe("logging:level:unknown")
async def a_request_with_an_unknown_level_is_refused(trial: ServerTrial) -> None:
    client = await trial.having("logging")
    assert client.profile.discover is not None
    meta = {str(client.profile.log_level_key): NO_LEVEL}
    judge(trial, await client.ask(client.profile.discover, meta=meta))


def judge(trial: ServerTrial, reply: ServerReply) -> None:
    """Report a reply that is not the refusal of an unknown level."""
    trial.answered(reply)
    expected = trial.profile.errors.invalid_params
    if reply.code != expected:
        came = "a result" if reply.error is None else f"error {reply.code}"
        trial.broken(
            f"a level of that there is none is refused with error {expected}",
            f"{came} came",
            *reply.events,
            where="$.result" if reply.error is None else "$.error.code",
        )
