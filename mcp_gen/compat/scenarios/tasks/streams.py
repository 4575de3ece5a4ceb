"""Scenario over HTTP: a task asks on a stream that is not that of the request for its result."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from mcp_gen.compat.checks.found import NotTested
from mcp_gen.compat.checks.http_exchanges import exchanges
from mcp_gen.compat.json_values import Json, member
from mcp_gen.compat.reference.http.endpoint import ReferenceEndpoint
from mcp_gen.compat.scenarios.scenario import scenario
from mcp_gen.compat.scenarios.tasks.following import FollowedServer
from mcp_gen.compat.views.task_traffic import questions

if TYPE_CHECKING:
    from mcp_gen.compat.checks.client_run import ClientRun
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.reference.server import ReferenceServer
    from mcp_gen.compat.reference.tasks import ReferenceTask
    from mcp_gen.compat.views.task_traffic import TaskQuestion

PATIENCE_S = 1.0
"""Seconds after which the task goes on without an answer."""


class _AsksElsewhere(FollowedServer):
    """Asks the second question of a task where what belongs to no request is sent."""

    async def ask_in_task(self, task: ReferenceTask, number: int, name: str, params: Json) -> Json:
        if number == 1:
            return await super().ask_in_task(task, number, name, params)
        self.change(task, "input_required")
        frame = self.question_frame(name, {**params, "_meta": self.related(task)})
        try:
            async with asyncio.timeout(PATIENCE_S):
                return await self.ask(frame)
        except TimeoutError:
            return {"action": "cancel"}
        finally:
            self.change(task, "working")


def questions_are_answered_on_any_stream(run: ClientRun, found: Found) -> None:
    key = run.profile.related_task_key or ""
    here: list[TaskQuestion] = []
    elsewhere: list[TaskQuestion] = []
    for transcript in run.transcripts:
        methods = {one.request.exchange: one.method for one in exchanges(transcript)}
        for one in questions(transcript, "elicit"):
            if member(one.request, "params", "_meta", key) is not None:
                is_own = methods.get(one.event.exchange) == "GET"
                (elsewhere if is_own else here).append(one)
    if not any(one.answered for one in here):
        raise NotTested("the client answered no question of a task")
    if not elsewhere:
        raise NotTested("the client opened no stream for what belongs to no request")
    found.saw()
    for one in elsewhere:
        if one.answered is None:
            expected = "what a task asks is answered on whatever stream it comes"
            came = "it was answered only on the stream of the request for the result"
            found.broken(expected, came, here[0].event, one.event)


@scenario("tasks:client:any-stream", questions_are_answered_on_any_stream)
class AsksOnAnotherStream(ReferenceEndpoint):
    """Has tasks that ask on the stream for what belongs to no request, too."""

    def new_server(self) -> ReferenceServer:
        """Make a server with such tasks."""
        return _AsksElsewhere(self.profile.revision)
