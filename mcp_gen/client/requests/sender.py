"""Asking a server: in rounds where it asks back first, and from the cache where that is allowed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

import mcp_wire
from mcp_gen.core.errors import (
    InvalidParams,
    McpError,
    ProtocolError,
    UrlElicitationRequired,
)
from mcp_gen.core.projection.closed import violations
from mcp_gen.core.projection.project import project
from mcp_gen.core.revisions import select
from mcp_gen.session.messages.gather import gather_all
from mcp_gen.session.messages.sender import RequestSender

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from mcp_gen.client.requests.cache import ResponseCache
    from mcp_gen.client.requests.settings import SessionOptions
    from mcp_gen.session.duplex.client import ClientConnection
    from mcp_gen.session.messages.channel import Channel
    from mcp_wire.callers import OnProgress
    from mcp_wire.method import Method
    from mcp_wire.profile import Profile

__all__ = ["ClientRequestSender"]

P = TypeVar("P")
R = TypeVar("R")

BACK_OFF_S = 0.1
MAX_BACK_OFF_S = 2.0
"""How long to wait before a request is made again for a server that asked nothing, but twice."""


class ClientRequestSender(RequestSender):
    """Sends a session's requests, until each has its answer.

    Results are of `results_at`: read with its types where it is as new as what is spoken, and
    restated where it is older. `await_task_call` waits for the task that a call has become, with
    the tool's name and a time limit; without it the task itself is the result.
    """

    def __init__(
        self,
        link: ClientConnection,
        spoken: Profile,
        results_at: str,
        session: Any,
        options: SessionOptions,
        cache: ResponseCache,
        outlet: Channel | None = None,
        *,
        await_task_call: Callable[[str, Any, float | None], Awaitable[Any]] | None = None,
    ) -> None:
        read_at = select([spoken.revision, results_at])[-1]
        reader = mcp_wire.profile(read_at)
        rows = options.extensions.rows(spoken, reader)
        super().__init__(outlet or link, reader, link.hooks.outbound, session, rows=rows)
        self._extensions = options.extensions
        self._link = link
        self._spoken = spoken
        self._options = options
        self._validation = options.settings.validation
        if self._validation != "lenient":
            self._check_result = self._check_conformance
        self._cache = cache
        self._restated = None if mcp_wire.profile(results_at) is reader else results_at
        self._asks_back: Any = None
        """The kind of result in which a server asks back; None where it has other ways."""
        if spoken.asks_client == "input_required":
            self._asks_back = mcp_wire.types(read_at).InputRequiredResult
        self.on_task_created: Any = getattr(
            mcp_wire.types(spoken.revision), "CreateTaskResult", None
        )
        """The kind of result in which a server begins a task; None where there are none."""
        self.server_may_start_tasks = spoken.tasks == "extension" and options.declares_tasks
        """Whether a server may begin one of its own accord."""
        if self.server_may_start_tasks:
            # Loaded only where the extension is declared.
            from mcp_wire.extensions.tasks import CreateTaskResult

            self.on_task_created = CreateTaskResult
        self._await_task_call = await_task_call

    async def request(
        self,
        method: Method[P, R],
        params: P,
        *,
        timeout_s: float | None = None,
        progress: OnProgress | None = None,
    ) -> R:
        """Send a request and decode its result; the server's questions are answered on the way.

        `timeout_s` is for each of the rounds.

        Raises:
            InvalidParams: the result is not one of this method; the message ends in the path.
            InputRefused: what the server asked for was refused.
            ProtocolError: a result of a kind that was not asked for, a question that may not be
                asked, or too many.
            UrlElicitationRequired: the user must go to a page first, and did not.

        Source: https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr
        """
        # Short ways for what is nearly always so: no hooks, nothing to be kept, no more rounds.
        name = method.name
        plain = not self._outbound.points.get(name) and name not in self._cache.holds
        for number in range(self._options.settings.max_rounds + 1):
            try:
                if plain:
                    raw = await self._channel.request(
                        method, params, timeout_s=timeout_s, progress=progress
                    )
                    result = self._read(method, raw)
                else:
                    result = await super().request(
                        method, params, timeout_s=timeout_s, progress=progress
                    )
            except McpError as error:
                if "task_id" in method.params.__struct_fields__:
                    raise  # what came of a task stays so, however often it is asked for
                await self.visit_first(error)
                continue
            if type(result) is self.on_task_created:
                return await self._begun(method, params, result, timeout_s)
            if type(result) is not self._asks_back:
                return result if self._restated is None else self._restate(method, result)
            params = await self._answered(method, params, result, number)
        times = self._options.settings.max_rounds
        raise ProtocolError(f"{method.name}: the server asked {times} times and is not done")

    async def _exchange(
        self,
        method: Method[P, R],
        params: P,
        timeout_s: float | None,
        progress: OnProgress | None,
    ) -> R:
        slot = self._cache.slot(method, params)
        if slot is None:
            return await super()._exchange(method, params, timeout_s, progress)
        kept: R | None = self._cache.get(slot)
        if kept is not None:
            return kept
        try:
            result = await super()._exchange(method, params, timeout_s, progress)
        except McpError as error:
            if error.code == InvalidParams.code and getattr(params, "cursor", None) is not None:
                self._cache.forget(method.name)
            raise
        if type(result) not in self._extensions.arms:
            self._cache.put(slot, result)
        return result

    def result_in(self, method: Method[Any, R], plain: Any) -> R:
        """A result of this method that came inside of something else, as plain JSON.

        Raises:
            InvalidParams: it is none; the message ends in the path.
        """
        tagged = method.results[0].__struct_config__
        if tagged.tag_field is not None:
            plain = {tagged.tag_field: tagged.tag, **plain}  # inside of others it may be left out
        result = self._read(method, msgspec.Raw(mcp_wire.encode(plain)))
        if type(result) in (self._asks_back, self.on_task_created):
            super()._other_kind(method, result)
        return result if self._restated is None else self._restate(method, result)

    def _restate(self, method: Method[P, R], result: R) -> R:
        offered = self._extensions
        if method.name in offered.owners or type(result) in offered.arms:
            return result  # an extension's: it has one shape
        restated: R = project(result, self._restated or "").value
        return restated

    async def _begun(
        self, method: Method[P, R], params: P, result: R, timeout_s: float | None
    ) -> R:
        """The task that the request has become, or what comes of it if nobody asked for one.

        Raises:
            ProtocolError: it may not become one.

        Source: https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/tasks
        """
        call: Any = params
        if self.server_may_start_tasks and self._await_task_call is not None:
            outcome: R = await self._await_task_call(call.name, result, timeout_s)
            return outcome
        if not self.server_may_start_tasks and call.task is None:
            super()._other_kind(method, result)
        return result

    def _read_other(self, method: Method[Any, R], raw: msgspec.Raw, refused: InvalidParams) -> R:
        """Return the task of revisions whose results have no tag for it.

        Raises:
            InvalidParams: `refused`; the result is none.
        """
        begun: R | None = None
        if not self.server_may_start_tasks and self.on_task_created in method.results:
            begun = self.task_in(raw)
        if begun is None:
            raise refused from None
        return begun

    def task_in(self, raw: msgspec.Raw) -> Any:
        """The result in which a server begins a task; None if it is something else."""
        try:
            return mcp_wire.decode(self.on_task_created, raw)
        except msgspec.ValidationError:
            return None

    def _check_conformance(self, method: Method[Any, Any], raw: msgspec.Raw) -> None:
        """Tell what a result may not have at the revision that is spoken.

        Raises:
            ProtocolError: it has something, and that is to be an error.
        """
        arms = self._extensions.arms.keys() & self._extra_results.get(method.name, ())
        kinds = dict.fromkeys([method.result, *method.results, *arms])
        each = (list(violations(kind, raw, self._spoken.revision, "$.result")) for kind in kinds)
        fewest = min(each, key=len)
        for violation in fewest:
            if self._link.on_violation is not None:
                self._link.on_violation(method.name, violation)
        if fewest and self._validation == "strict":
            raise ProtocolError(f"{method.name}: {fewest[0]}")

    def _other_kind(self, method: Method[Any, Any], result: Any) -> None:
        if type(result) is not self._asks_back:
            super()._other_kind(method, result)

    # --- rounds ---

    async def _answered(self, method: Method[P, Any], params: P, result: Any, number: int) -> P:
        """The params of the next round."""
        questions: dict[str, Any] = result.input_requests or {}
        if not questions and result.request_state is None:
            raise ProtocolError(
                f"{method.name}: the server wants to be asked again, and says nothing to add"
            )
        answers = await self.answers(method, questions)
        if not answers and number:
            await asyncio.sleep(min(BACK_OFF_S * 2**number, MAX_BACK_OFF_S))
        given: Any = params
        made: P = msgspec.structs.replace(
            given, input_responses=answers or None, request_state=result.request_state
        )
        return made

    async def answers(
        self, method: Method[Any, Any], questions: Mapping[str, Any]
    ) -> dict[str, Any]:
        """What the program answers to questions that came in what this method is about, by key.

        Raises:
            ProtocolError: one that was not declared.
            InputRefused: one was refused.
        """
        asked = (self._answer(method, question) for question in questions.values())
        return dict(zip(questions, await gather_all(*asked), strict=True))

    async def _answer(self, method: Method[Any, Any], question: Any) -> Any:
        route = self._link.routes.get(question.method)
        if route is None:
            raise ProtocolError(
                f"{method.name}: the server asks for {question.method}, which was not declared"
            )
        asked = route.method.params() if question.params is None else question.params
        revision = self._spoken.revision
        return project(
            await route.call(self.context, project(asked, revision).value), revision
        ).value

    # --- pages ---

    async def visit_first(self, error: McpError) -> None:
        """Send the user to the pages that an error is about; any other error is raised.

        Source:
        https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#url-elicitation-required-error
        """
        code = self._spoken.errors.url_elicitation_required
        if code is None or error.code != code:
            raise error
        required = UrlElicitationRequired.from_error(error)
        if required is None:
            raise error
        required.code, required.data = error.code, error.data
        answers = self._options.answers(self._spoken)
        for page in required.elicitations:
            if (await answers.run_url_elicitation(self.context, page)).action != "accept":
                raise required from error
