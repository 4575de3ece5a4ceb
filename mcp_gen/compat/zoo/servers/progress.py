"""Servers that break the rules of progress, and their twins."""

from __future__ import annotations

import asyncio
from typing import Any

from mcp_gen.compat.json_values import Json
from mcp_gen.compat.reference.call import ReferenceCall
from mcp_gen.compat.reference.server import ReferenceServer
from mcp_gen.compat.zoo.zoo import breaks, keeps


class AskingForProgress(ReferenceServer):
    """Gives each of its questions a progress token."""

    def token(self) -> Any:
        """Return the token of the next question: the same again, once no question is open."""
        return len(self._asked)

    def question_frame(self, name: str, params: Json) -> Json:
        made = super().question_frame(name, params)
        meta = {self.profile.progress_token_key: self.token()}
        return {**made, "params": {**made["params"], "_meta": meta}}


@breaks("progress:token:kind")
class FractionalTokens(AskingForProgress):
    """Gives its questions tokens that are no integers."""

    def token(self) -> Any:
        return len(self._asked) + 0.5


@keeps("progress:token:kind")
class EmptyTokens(AskingForProgress):
    """Gives a question an empty string as token."""

    def token(self) -> Any:
        return super().token() or ""


@breaks("progress:token:unique")
class SharedTokens(AskingForProgress):
    """Gives two questions that are open at once the same token."""

    def token(self) -> Any:
        return "question"

    async def run_ask_roots(self, call: ReferenceCall, arguments: Json) -> Json:
        asked = (super(SharedTokens, self).run_ask_roots(call, arguments) for _ in "12")
        return (await asyncio.gather(*asked))[0]


@keeps("progress:token:unique")
class TokensUsedAgain(AskingForProgress):
    """Gives a question the token of one that is answered."""

    async def run_ask_roots(self, call: ReferenceCall, arguments: Json) -> Json:
        await super().run_ask_roots(call, arguments)
        return await super().run_ask_roots(call, arguments)


@breaks("progress:increases")
class RepeatedProgress(ReferenceServer):
    """Reports each step twice."""

    def report_progress(self, call: ReferenceCall, params: Json) -> None:
        super().report_progress(call, params)
        super().report_progress(call, params)


@keeps("progress:increases")
class TinySteps(ReferenceServer):
    """Begins below zero, and goes on in tiny steps past its total."""

    def report_progress(self, call: ReferenceCall, params: Json) -> None:
        progress = -1 + params["progress"] * 1e-9 if params["progress"] < 3 else 5
        super().report_progress(call, {**params, "progress": progress})


@breaks("progress:active-only")
class ProgressForAll(ReferenceServer):
    """Reports progress also to those who gave no token."""

    def report_progress(self, call: ReferenceCall, params: Json) -> None:
        token = f"none-{call.id}" if call.progress_token is None else call.progress_token
        call.tell("progress", {"progressToken": token, **params})


@keeps("progress:active-only")
class ProgressForNone(ReferenceServer):
    """Reports progress of one step alone, with no message and no total."""

    def report_progress(self, call: ReferenceCall, params: Json) -> None:
        if params["progress"] == 1:
            super().report_progress(call, {"progress": 0})


@breaks("progress:stops")
class ProgressAfterTheEnd(ReferenceServer):
    """Reports once more after the answer."""

    def result_frame(self, call: ReferenceCall, result: Json) -> Json:
        if call.params.get("name") == "count":
            late = {"progress": 1000}
            asyncio.get_running_loop().call_soon(self.report_progress, call, late)
        return super().result_frame(call, result)


@keeps("progress:stops")
class ProgressAtTheEnd(ReferenceServer):
    """Reports once more just before the answer."""

    def result_frame(self, call: ReferenceCall, result: Json) -> Json:
        if call.params.get("name") == "count":
            self.report_progress(call, {"progress": 1000})
        return super().result_frame(call, result)


@breaks("progress:tracked")
class OneTokenForAll(ReferenceServer):
    """Reports under the token that it was given last."""

    def __init__(self, revision: str) -> None:
        super().__init__(revision)
        self._token: Any = None
        self._step = 0

    async def run_count(self, call: ReferenceCall, arguments: Json) -> Json:
        self._token = call.progress_token
        for _ in range(int(arguments["steps"])):
            await asyncio.sleep(0)
            self._step += 1
            if self._token is not None:
                call.tell("progress", {"progressToken": self._token, "progress": self._step})
        return await super().run_echo(call, {"text": "counted"})


@keeps("progress:tracked")
class TurnsOfProgress(ReferenceServer):
    """Reports of calls that are open at once in turn, each under its own token."""

    async def run_count(self, call: ReferenceCall, arguments: Json) -> Json:
        for step in range(int(arguments["steps"])):
            await asyncio.sleep(0)
            self.report_progress(call, {"progress": step})
        return await super().run_echo(call, {"text": "counted"})
