"""Tasks of the reference server: calls of tools whose results are fetched later.

At a revision with tasks of its own, the client asks for a task, and later for its result; with
the extension, the server makes a task for a client that knows them, and its state has the result.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar

from mcp_gen.compat.json_values import Json, is_array, is_object, member
from mcp_gen.compat.known_extensions import tasks_extension
from mcp_gen.compat.reference.call import Failure, NeedsInput, Outlet, ReferenceCall
from mcp_gen.compat.reference.shaping import shaped, wire_type

if TYPE_CHECKING:
    from mcp_wire.method import Method
    from mcp_wire.profile import Profile

__all__ = ["ENDED", "ReferenceTask", "TaskCall", "TasksOfServer"]

OWN_CODE = 4001
"""Code of an error that is the server's own: outside of what JSON-RPC reserves."""
TTL_MS = 60_000
MAX_TTL_MS = 3_600_000
POLL_INTERVAL_MS = 10
STEP_S = 0.2
"""Longest time that a step of a task takes, in seconds; it is over when the client asks."""
TASKS_PER_PAGE = 2
SLOW_STEPS = 3
ENDED = ("completed", "failed", "cancelled")
"""States that a task does not leave."""


class ReferenceTask:
    """One task.

    Args:
        call: The request that it was made for.
        ttl_ms: Milliseconds for which it is kept.
    """

    def __init__(self, call: ReferenceCall, ttl_ms: int) -> None:
        self.id = secrets.token_urlsafe(24)
        self.call = call
        self.ttl_ms = ttl_ms
        self.status = "working"
        self.message: str | None = None
        self.created_at = self.updated_at = datetime.now(UTC)
        self.questions: Json = {}
        """Open questions by key, where they are told with the state."""
        self.answers: Json = {}
        """Answers to questions, by key."""
        self.result: Json | None = None
        self.failure: Failure | None = None
        self.outlet: Outlet | None = None
        """The way to a client that waits for the result."""
        self.news = asyncio.Event()
        """Set by each request of the client about the task."""
        self.has_ended = asyncio.Event()
        self.work: asyncio.Task[None] | None = None

    @property
    def is_expired(self) -> bool:
        """True if the task need not be kept any longer."""
        return (datetime.now(UTC) - self.created_at).total_seconds() * 1000 > self.ttl_ms


class TaskCall(ReferenceCall):
    """The work of a task: what it tells and asks belongs to the task.

    Args:
        server: The server.
        task: The task.
    """

    def __init__(self, server: TasksOfServer, task: ReferenceTask) -> None:
        super().__init__(server, task.call.frame, task.call.outlet)
        self.tasks = server
        self.task = task
        self._asked = 0

    async def step(self) -> None:
        """Wait until the client asks about the task, or a moment has passed."""
        self.task.news.clear()
        try:
            async with asyncio.timeout(0 if self.task.outlet else self.tasks.step_s):
                await self.task.news.wait()
        except TimeoutError:
            return

    def tell(self, name: str, params: Json) -> None:
        """Send a notification that belongs to the task, where tasks have such."""
        self.tasks.tell_of_task(self.task, name, params)

    async def ask(self, name: str, params: Json) -> Json:
        """Ask the client, and return its result; see `ReferenceCall.ask`."""
        self._asked += 1
        return await self.tasks.ask_in_task(self.task, self._asked, name, params)


class TasksOfServer:
    """Tasks of the reference server, one method per step."""

    step_s: ClassVar[float] = STEP_S
    """Longest time that a step of a task takes, in seconds."""

    if TYPE_CHECKING:
        profile: Profile
        listening: list[ReferenceCall]

        def exact(self, method: Method[Any, Any], result: Json) -> Json: ...
        def tools(self) -> list[Json]: ...
        async def run_tool(self, call: ReferenceCall, arguments: Json) -> Json: ...
        async def run_ask_user(self, call: ReferenceCall, arguments: Json) -> Json: ...
        def report_progress(self, call: ReferenceCall, params: Json) -> None: ...
        def notification_frame(self, name: str, params: Json) -> Json: ...
        def tell_listener(self, call: ReferenceCall, name: str, params: Json) -> None: ...
        def question_frame(self, name: str, params: Json) -> Json: ...
        def tell(self, name: str, params: Json | None = None) -> None: ...
        async def ask(self, frame: Json, outlet: Outlet | None = None) -> Json: ...

    def __init__(self) -> None:
        self.tasks: dict[str, ReferenceTask] = {}
        """Tasks by id, oldest first."""

    async def end_tasks(self) -> None:
        """Stop the work of all tasks."""
        running = [task.work for task in self.tasks.values() if task.work]
        for work in running:
            work.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    # --- what is declared ---

    def task_capabilities(self) -> Json:
        """Return what the server declares of tasks."""
        if self.profile.tasks == "extension":
            return {"extensions": {tasks_extension().identifier: {}}}
        if self.profile.tasks == "core":
            return {"tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}}
        return {}

    def task_support(self, tool: Json) -> str:
        """Return `required`, `optional` or `forbidden`."""
        return member(tool, "execution", "taskSupport") or "forbidden"

    # --- the beginning ---

    def becomes_task(self, call: ReferenceCall, tool: Json) -> bool:
        """Return True if a call is answered with a task.

        Raises:
            Failure: it must be one and cannot, or cannot be one and is to.
        """
        support = self.task_support(tool)
        if self.profile.tasks == "none":
            return False
        if self.profile.tasks == "extension":
            if support == "required":
                self.demand_extension(call)
            return support != "forbidden" and self.knows_tasks(call)
        is_wanted = is_object(call.params.get("task"))
        if (is_wanted and support == "forbidden") or (not is_wanted and support == "required"):
            text = f"The tool cannot be called {'as a task' if is_wanted else 'without a task'}"
            raise Failure(self.profile.errors.method_not_found, text)
        return is_wanted

    def knows_tasks(self, call: ReferenceCall) -> bool:
        """Return True if a request declares the extension."""
        key = self.profile.client_capabilities_key or ""
        declared = member(call.meta, key, "extensions", tasks_extension().identifier)
        return is_object(declared)

    def demand_extension(self, call: ReferenceCall) -> None:
        """Refuse a request that does not declare the extension, where tasks are one.

        Raises:
            Failure: it does not.
        """
        if self.profile.tasks == "extension" and not self.knows_tasks(call):
            code = self.profile.errors.missing_required_client_capability
            assert code is not None
            needed: Json = {"extensions": {tasks_extension().identifier: {}}}
            raise Failure(
                code, "Missing required client capability", {"requiredCapabilities": needed}
            )

    def create_task(self, call: ReferenceCall, arguments: Json) -> Json:
        """Begin a task, and return the result that tells of it."""
        task = self.new_task(call)
        self.tasks[task.id] = task
        task.work = asyncio.get_running_loop().create_task(self.work_on(task, arguments))
        return self.created(task)

    def new_task(self, call: ReferenceCall) -> ReferenceTask:
        """Return a task for a call, which is kept as long as was asked for, within limits."""
        asked = member(call.params, "task", "ttl")
        ttl_ms = asked if isinstance(asked, int) and self.profile.tasks == "core" else TTL_MS
        return ReferenceTask(call, min(ttl_ms, MAX_TTL_MS))

    def created(self, task: ReferenceTask) -> Json:
        """Return the result that tells of a new task."""
        state = self.state(task)
        if self.profile.tasks == "core":
            return {"task": shaped(wire_type(self.profile, "Task"), state)}
        return {**state, "resultType": "task"}

    def result_type(self, method: Method[Any, Any], result: Json) -> Any:
        """Return the type that gives a result its form."""
        if self.profile.tasks == "core" and is_object(result.get("task")):
            return wire_type(self.profile, "CreateTaskResult")
        if self.profile.tasks == "extension" and "taskId" in result:
            arms = tasks_extension().arms.get(method.name)
            return arms[0] if arms else method.result
        return method.results[0]

    # --- the work ---

    async def work_on(self, task: ReferenceTask, arguments: Json) -> None:
        """Run the tool of a task to its end."""
        assert self.profile.call_tool is not None
        try:
            result = await self.run_tool(TaskCall(self, task), arguments)
            self.completed(task, self.exact(self.profile.call_tool, result))
        except NeedsInput:
            raise AssertionError("a task asks by itself") from None
        except Failure as failure:
            self.failed(task, failure)

    def completed(self, task: ReferenceTask, result: Json) -> None:
        """End a task with a result; one that tells of an error fails, without the extension."""
        # The metadata of the answer is that of the answer that tells the result.
        task.result = {key: value for key, value in result.items() if key != "_meta"}
        if self.profile.tasks == "core" and result.get("isError"):
            text = member(result["content"][0], "text")
            self.end(task, "failed", str(text))
        else:
            self.end(task, "completed", None)

    def failed(self, task: ReferenceTask, failure: Failure) -> None:
        """End a task with an error."""
        task.failure = failure
        self.end(task, "failed", str(failure))

    def end(self, task: ReferenceTask, status: str, message: str | None) -> None:
        """End a task that has not ended."""
        if task.status not in ENDED:
            task.questions = {}
            self.change(task, status, message)
            task.has_ended.set()

    def change(self, task: ReferenceTask, status: str, message: str | None = None) -> None:
        """Give a task another state, and tell of it."""
        task.status, task.message, task.updated_at = status, message, datetime.now(UTC)
        self.tell_state(task)

    def tell_state(self, task: ReferenceTask) -> None:
        """Tell the client of the state of a task: any, or those that listen."""
        if self.profile.tasks == "core":
            self.tell("task_status", self.state(task))
        for call in list(self.listening):
            if task.id in self.news_wanted(call):
                self.tell_listener(call, "task_status", self.state(task))

    def news_wanted(self, call: ReferenceCall) -> list[str]:
        """Return the tasks that a listening request asks for news of."""
        asked = member(call.params, "notifications", "taskIds")
        return asked if is_array(asked) else []

    def check_news_of_tasks(self, call: ReferenceCall) -> None:
        """Refuse news of tasks to a client that has not declared the extension.

        Raises:
            Failure: it has not.
        """
        if self.news_wanted(call):
            self.demand_extension(call)

    def tell_of_task(self, task: ReferenceTask, name: str, params: Json) -> None:
        """Send a notification that belongs to a task; with the extension there are none."""
        if self.profile.tasks == "core" and task.status not in ENDED:
            self.tell(name, {**params, "_meta": self.related(task)})

    def related(self, task: ReferenceTask) -> Json:
        """Return the metadata that names a task."""
        assert self.profile.related_task_key is not None
        return {self.profile.related_task_key: {"taskId": task.id}}

    async def ask_in_task(self, task: ReferenceTask, number: int, name: str, params: Json) -> Json:
        """Ask the client a question of a task, and return the answer.

        Raises:
            Failure: the client has answered with an error.
        """
        if self.profile.tasks == "extension":
            return await self.ask_by_state(task, f"{name}-{number}", name, params)
        self.change(task, "input_required")
        while task.outlet is None:
            task.news.clear()
            await task.news.wait()
        frame = self.question_frame(name, {**params, "_meta": self.related(task)})
        answer = await self.ask(frame, task.outlet)
        self.change(task, "working")
        return answer

    async def ask_by_state(self, task: ReferenceTask, key: str, name: str, params: Json) -> Json:
        """Tell a question with the state of the task, and wait for the update with the answer."""
        asked = self.question_frame(name, params)
        task.questions[key] = {"method": asked["method"], "params": asked["params"]}
        self.change(task, "input_required")
        while key not in task.answers:
            task.news.clear()
            await task.news.wait()
        if task.status == "input_required" and not task.questions:
            self.change(task, "working")
        answer: Json = task.answers[key]
        return answer

    # --- the state ---

    def state(self, task: ReferenceTask) -> Json:
        """Return the state of a task, with the members of all revisions."""
        state: Json = {
            "taskId": task.id,
            "status": task.status,
            "createdAt": task.created_at.isoformat(),
            "lastUpdatedAt": task.updated_at.isoformat(),
            "ttl": task.ttl_ms,
            "ttlMs": task.ttl_ms,
            "pollInterval": POLL_INTERVAL_MS,
            "pollIntervalMs": POLL_INTERVAL_MS,
            **dict(self.outcome(task)),
        }
        return {**state, "statusMessage": task.message} if task.message else state

    def outcome(self, task: ReferenceTask) -> Iterator[tuple[str, Any]]:
        """Yield the members of a state that tell questions, result and error."""
        if task.status == "input_required":
            yield "inputRequests", dict(task.questions)
        if task.result is not None:
            yield "result", task.result
        if task.failure is not None:
            yield "error", {"code": task.failure.code, "message": str(task.failure)}

    def find_task(self, call: ReferenceCall) -> ReferenceTask:
        """Return the task that a request is about.

        Raises:
            Failure: there is none, or the request does not declare the extension.
        """
        self.demand_extension(call)
        task = self.tasks.get(call.params["taskId"])
        if task is None or task.is_expired:
            raise Failure(self.profile.errors.invalid_params, "Unknown task")
        return task

    # --- handlers, by Python name ---

    async def get_task(self, call: ReferenceCall) -> Json:
        """Return the state of a task."""
        task = self.find_task(call)
        state = self.state(task)
        task.news.set()
        return state

    async def get_task_payload(self, call: ReferenceCall) -> Json:
        """Return the result of a task, once it has ended.

        Raises:
            Failure: the task has failed with it.
        """
        task = self.find_task(call)
        await self.wait_for_end(task, call)
        if task.failure is not None:
            raise task.failure
        if task.result is None:
            raise Failure(self.profile.errors.internal_error, "The task was cancelled")
        return {**task.result, "_meta": self.related(task)}

    async def wait_for_end(self, task: ReferenceTask, call: ReferenceCall) -> None:
        """Wait until a task has ended; meanwhile it can ask its client."""
        task.outlet = call.outlet
        task.news.set()
        await task.has_ended.wait()

    async def list_tasks(self, call: ReferenceCall) -> Json:
        """Return a page of the tasks."""
        tasks = [self.state(task) for task in self.tasks.values() if not task.is_expired]
        return self.task_page(call, tasks)

    def task_page(self, call: ReferenceCall, tasks: list[Json]) -> Json:
        """Return the page of the tasks that a cursor is for.

        Raises:
            Failure: there is no such page.
        """
        start = call.params.get("cursor", "0")
        if not start.isdecimal() or int(start) % TASKS_PER_PAGE or int(start) > len(tasks):
            raise Failure(self.profile.errors.invalid_params, "Unknown cursor")
        end = int(start) + TASKS_PER_PAGE
        more = {"nextCursor": str(end)} if end < len(tasks) else {}
        return {"tasks": tasks[int(start) : end], **more}

    async def cancel_task(self, call: ReferenceCall) -> Json:
        """Cancel a task; with the extension, the answer says nothing of it.

        Raises:
            Failure: it has ended, without the extension.
        """
        task = self.find_task(call)
        if self.profile.tasks == "core" and task.status in ENDED:
            raise Failure(self.profile.errors.invalid_params, "The task has ended")
        self.stop_task(task)
        return self.state(task) if self.profile.tasks == "core" else {}

    def stop_task(self, task: ReferenceTask) -> None:
        """Stop the work of a task."""
        if task.work is not None:
            task.work.cancel()
        self.end(task, "cancelled", "The task was cancelled.")

    async def update_task(self, call: ReferenceCall) -> Json:
        """Take answers to open questions of a task; all others are passed over."""
        task = self.find_task(call)
        for key, answer in call.params["inputResponses"].items():
            if task.questions.pop(key, None) is not None:
                task.answers[key] = answer
        task.news.set()
        return {}

    # --- tools ---

    async def run_slow(self, call: ReferenceCall, arguments: Json) -> Json:
        """Return after some steps, with progress."""
        for step in range(1, SLOW_STEPS + 1):
            await call.step()
            self.report_progress(
                call, {"progress": step, "total": SLOW_STEPS, "message": f"{step}"}
            )
        return {"content": [{"type": "text", "text": "done"}]}

    async def run_slow_failing(self, call: ReferenceCall, arguments: Json) -> Json:
        """Fail after a step: with an error of the tool, or with one of the protocol."""
        await call.step()
        if arguments["how"] == "protocol":
            raise Failure(OWN_CODE, "it failed inside")
        return {"content": [{"type": "text", "text": "it failed"}], "isError": True}

    async def run_slow_asking(self, call: ReferenceCall, arguments: Json) -> Json:
        """Ask the user for a name twice, after a step each."""
        await call.step()
        await self.run_ask_user(call, arguments)
        await call.step()
        return await self.run_ask_user(call, arguments)
