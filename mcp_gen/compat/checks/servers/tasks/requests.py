"""Checks of requests about tasks of the protocol: unknown tasks, and lists of tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_gen.compat.checks.check import probe
from mcp_gen.compat.checks.found import NotTested
from mcp_gen.compat.checks.servers.tasks.offers import UNKNOWN
from mcp_gen.compat.json_values import Json, is_object, member, objects
from mcp_gen.compat.reference.client import MAX_PAGES
from mcp_gen.compat.views.task_traffic import tasks_known

if TYPE_CHECKING:
    from mcp_gen.compat.checks.trial import ServerTrial
    from mcp_gen.compat.reference.client import ReferenceClient, ServerReply


@probe("tasks:errors")
async def unknown_tasks_and_cursors_are_refused(trial: ServerTrial) -> None:
    client = await trial.having("tasks")
    declared = member(client.server_capabilities, "tasks")
    asked: list[tuple[str, Json]] = [
        ("get_task", {"taskId": UNKNOWN}),
        ("get_task_payload", {"taskId": UNKNOWN}),
    ]
    if is_object(member(declared, "cancel")):
        asked.append(("cancel_task", {"taskId": UNKNOWN}))
    if is_object(member(declared, "list")):
        asked.append(("list_tasks", {"cursor": "no such cursor"}))
    code = trial.profile.errors.invalid_params
    for method, params in asked:
        reply = trial.answered(await client.ask(method, params))
        if reply.code != code:
            what = "a cursor" if "cursor" in params else "a task"
            came = "a result" if reply.error is None else f"error {reply.code}"
            expected = f"{what} that the server does not know is error {code}"
            trial.broken(expected, came, *reply.events)


async def pages_of_tasks(client: ReferenceClient) -> list[ServerReply]:
    """Return the pages of the list of tasks; the last one may be an error, or lead back."""
    pages = [await client.ask("list_tasks")]
    cursors: set[str] = set()
    while len(pages) < MAX_PAGES:
        cursor = member(pages[-1].result, "nextCursor")
        if not isinstance(cursor, str) or cursor in cursors:
            break
        cursors.add(cursor)
        pages.append(await client.ask("list_tasks", {"cursor": cursor}))
    return pages


def ids_on(page: ServerReply) -> list[str]:
    """Return the ids of the tasks on a page."""
    return [str(task.get("taskId")) for task in objects(member(page.result, "tasks"))]


def ends_in_a_circle(pages: list[ServerReply]) -> bool:
    """Return True if the list has more pages than were asked for."""
    return isinstance(member(pages[-1].result, "nextCursor"), str)


@probe("tasks:list:pages")
async def each_cursor_leads_to_the_next_page(trial: ServerTrial) -> None:
    client = await trial.having("tasks.list")
    pages = await pages_of_tasks(client)
    if len(pages) < 2:
        raise NotTested("all tasks are on one page")
    if ends_in_a_circle(pages) and len(pages) < MAX_PAGES:
        expected = "each page has a cursor of its own"
        trial.broken(expected, "the cursor was there before", *pages[-1].events)
    seen: set[str] = set()
    for page in pages:
        trial.answered(page)
        new = ids_on(page)
        if page.result is None:
            expected = "a cursor of a page leads to the next page"
            trial.broken(expected, f"error {page.code}", *page.events)
        elif new and seen.issuperset(new):
            expected = "a cursor of a page leads to more tasks"
            trial.broken(expected, "all tasks of the page were there before", *page.events)
        seen.update(new)


@probe("tasks:list:all")
async def every_task_that_can_be_asked_for_is_listed(trial: ServerTrial) -> None:
    client = await trial.having("tasks.list")
    known = tasks_known(client.transcript)
    pages = await pages_of_tasks(client)
    if any(page.result is None for page in pages) or ends_in_a_circle(pages):
        raise NotTested("the list cannot be read to its end")
    listed = {id for page in pages for id in ids_on(page)}
    if not known:
        raise NotTested("no call of a tool became a task: name one with --call")
    for id in known:
        reply = await client.ask("get_task", {"taskId": id})
        if id not in listed and reply.result is not None:
            expected = "a task that can be asked for is in the list"
            events = [one for page in pages for one in page.events]
            trial.broken(expected, f"{id!r} is not", *events, *reply.events)


@probe("tasks:owner:unlisted")
async def tasks_of_others_are_not_listed(trial: ServerTrial) -> None:
    client = await trial.having("tasks.list")
    if any("authorization" in event.headers for event in client.transcript.events):
        raise NotTested("all connections have the same principal")
    known = tasks_known(client.transcript)
    listed = [id for page in await pages_of_tasks(client) for id in ids_on(page)]
    if not set(known) & set(listed):
        raise NotTested("no call of a tool became a task: name one with --call")
    other = await trial.second()
    for page in await pages_of_tasks(other):
        for id in set(ids_on(page)) & set(known):
            expected = "a server that does not tell its clients apart lists no tasks"
            came = f"another connection is told of {id!r}"
            trial.broken(expected, came, *page.events, where="$.result.tasks")
            return
