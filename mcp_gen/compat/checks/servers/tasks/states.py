"""Checks of the states of tasks of the protocol: ids, times, and their order."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from mcp_gen.compat.checks.check import rule
from mcp_gen.compat.json_values import is_object, member
from mcp_gen.compat.views.task_traffic import (
    ToldState,
    created_tasks,
    exchanges,
    listed_tools,
    server_declared,
    states_by_task,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.transcript import Transcript

NO_TASK = "no call of a tool became a task: name one with --call"
NO_STATE = "no state of a task was told"
SHORTEST_ID = 8
"""An id of fewer characters has fewer than 48 bits, whatever they are."""
COUNTED = 1000
"""Two numbers that differ by less were counted, not drawn."""
_TIME = re.compile(r"\d{4}-?\d\d-?\d\d[Tt ]\d\d(:?\d\d){0,2}([.,]\d+)?([Zz]|[+-]\d\d(:?\d\d)?)?")
_NUMBER = re.compile(r"\d+")


@rule("tasks:ids", unseen=NO_TASK)
def ids_are_drawn(transcript: Transcript, found: Found) -> None:
    judge_ids(transcript, found)


def judge_ids(transcript: Transcript, found: Found) -> None:
    """Report ids of new tasks that are no strings, not unique, or can be guessed."""
    seen: dict[str, Any] = {}
    last = ""
    for one, state in created_tasks(transcript):
        found.saw()
        id = state["taskId"]
        if not isinstance(id, str):
            # The form of the state is wrong as a whole for the rule of valid frames.
            found.broken(
                "the id of a task is a string", f"it is {id!r}", one.event, where="$.result"
            )
        elif id in seen:
            expected = "each task has an id of its own"
            found.broken(expected, f"two tasks have the id {id!r}", seen[id], one.event)
        elif len(id) < SHORTEST_ID:
            expected = "nobody can guess the id of a task"
            found.broken(expected, f"{id!r} has {len(id)} characters", one.event)
        elif is_counted(last, id):
            expected = "nobody can guess the id of a task"
            found.broken(expected, f"{id!r} comes after {last!r}", one.event)
        if isinstance(id, str):
            seen[id] = one.event
            last = id


def is_counted(last: str, id: str) -> bool:
    """Return True if two ids differ in one number alone, which was counted on."""
    if _NUMBER.sub("#", last) != _NUMBER.sub("#", id):
        return False
    numbers = zip(_NUMBER.findall(last), _NUMBER.findall(id), strict=True)
    different = [abs(int(a) - int(b)) for a, b in numbers if a != b]
    return len(different) == 1 and different[0] < COUNTED


@rule("tasks:created", unseen=NO_TASK)
def a_call_that_becomes_a_task_is_answered_with_it(transcript: Transcript, found: Found) -> None:
    if not is_object(member(server_declared(transcript), "tasks", "requests", "tools", "call")):
        return
    tools = listed_tools(transcript)
    for one in exchanges(transcript, "call_tool"):
        tool = tools.get(str(one.params.get("name")))
        takes = member(tool, "execution", "taskSupport") in ("optional", "required")
        if not takes or not is_object(one.params.get("task")) or one.result is None:
            continue
        found.saw()
        expected = "a call that is to be a task is answered with the task alone"
        if not is_object(one.result.get("task")):
            found.broken(expected, "the answer has no `task`", *one.events, where="$.result")
        elif "content" in one.result:
            came = "the answer has the result of the tool"
            found.broken(expected, came, *one.events, where="$.result")


@rule("tasks:status:begins", unseen=NO_TASK)
def a_task_begins_as_one_that_works(transcript: Transcript, found: Found) -> None:
    for one, state in created_tasks(transcript):
        found.saw()
        if state.get("status") != "working":
            came = f"it has the status {state.get('status')!r}"
            where = "$.result.task.status"
            found.broken("a new task has the status `working`", came, *one.events, where=where)


@rule("tasks:status:ended", unseen="no state of a task was told after its end")
def a_task_stays_as_it_ended(transcript: Transcript, found: Found) -> None:
    judge_ends(transcript, found, ("completed", "failed"))


@rule("tasks:cancel:stays", unseen="no state of a task was told after it was cancelled")
def a_task_stays_cancelled(transcript: Transcript, found: Found) -> None:
    judge_ends(transcript, found, ("cancelled",))


def judge_ends(transcript: Transcript, found: Found, ends: tuple[str, ...]) -> None:
    """Report tasks that ended with a status, and later had another one."""
    for states in states_by_task(transcript).values():
        end: ToldState | None = None
        for one in states:
            if end is None:
                end = one if one.has_ended else None
            elif end.status in ends and one.begun > end.event.number:
                found.saw()
                if one.status != end.status:
                    expected = f"a task that was {end.status} stays so"
                    came = f"later it was {one.status!r}"
                    found.broken(expected, came, end.event, one.event, where=f"{one.where}.status")


@rule("tasks:times", unseen=NO_STATE)
def states_tell_their_times(transcript: Transcript, found: Found) -> None:
    for one in every_state(transcript):
        found.saw()
        for name in ("createdAt", "lastUpdatedAt"):
            said = one.state.get(name)
            if not isinstance(said, str):
                came = f"`{name}` is {said!r}" if name in one.state else f"`{name}` is missing"
                found.broken("a state tells its times", came, one.event, where=part(one))
            elif not _TIME.fullmatch(said):
                where = f"{one.where}.{name}"
                found.broken(
                    "times are in ISO 8601", f"`{name}` is {said!r}", one.event, where=where
                )
    for states in states_by_task(transcript).values():
        for before, after in pairwise(states):
            if before.state.get("createdAt") != after.state.get("createdAt"):
                expected = "`createdAt` is the time at which the task was made"
                came = f"it was {before.state.get('createdAt')!r} before"
                where = f"{after.where}.createdAt"
                found.broken(expected, came, before.event, after.event, where=where)


@rule("tasks:ttl", unseen=NO_STATE)
def states_tell_how_long_the_task_is_kept(transcript: Transcript, found: Found) -> None:
    for one in every_state(transcript):
        found.saw()
        said = one.state.get("ttl", ...)
        if said is not None and (type(said) not in (int, float) or said < 0):
            came = "`ttl` is missing" if said is ... else f"`ttl` is {said!r}"
            expected = "a state tells its `ttl`: milliseconds, or null"
            found.broken(expected, came, one.event, where=part(one))


@rule("tasks:limits", unseen="no task was to be kept for very long")
def a_task_is_not_kept_for_ever(transcript: Transcript, found: Found) -> None:
    for one, state in created_tasks(transcript):
        asked: Any = member(one.params, "task", "ttl")
        said = state.get("ttl")
        if type(asked) is not int or asked < 2**53 - 1 or "ttl" not in state:
            continue
        found.saw()
        if said is None or (type(said) is int and said >= asked):
            came = f"asked for {asked} ms, it has the `ttl` {said}"
            found.broken(
                "there is a maximum of `ttl`", came, *one.events, where="$.result.task.ttl"
            )


@rule("tasks:failed:says", unseen="no task failed")
def the_state_of_a_failed_task_says_why(transcript: Transcript, found: Found) -> None:
    for one in every_state(transcript):
        if one.by == "get" and one.status == "failed":
            found.saw()
            if not one.state.get("statusMessage"):
                expected = "the state of a failed task has a `statusMessage`"
                found.broken(expected, "it has none", one.event, where=one.where)


def every_state(transcript: Transcript) -> Iterator[ToldState]:
    """Yield all states of all tasks."""
    for states in states_by_task(transcript).values():
        yield from states


def part(one: ToldState) -> str:
    """Return the path of the part of a frame that is wrong as a whole."""
    return ".".join(one.where.split(".")[:2])
