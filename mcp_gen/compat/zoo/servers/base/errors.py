"""Servers that break the rules of errors, and their twins."""

from __future__ import annotations

from typing import Any

from mcp_gen.compat.json_values import Json
from mcp_gen.compat.reference.call import Failure, ReferenceCall
from mcp_gen.compat.reference.server import ReferenceServer
from mcp_gen.compat.zoo.zoo import breaks, keeps


class _FailingEcho(ReferenceServer):
    """Answers the call of one tool with an error of its own."""

    CODE = 1
    TEXT = "It failed"

    async def run_echo(self, call: ReferenceCall, arguments: Json) -> Json:
        raise Failure(self.CODE, self.TEXT)


class _OtherErrors(_FailingEcho):
    """Changes the error that the call of one tool is answered with."""

    def error_frame(self, id: Any, failure: Failure) -> Json:
        frame = super().error_frame(id, failure)
        return {**frame, "error": self.other(frame["error"])} if failure.code == 1 else frame

    def other(self, error: Json) -> Any:
        """Return the error."""
        return error


@breaks("base:answers:error-shape")
class ErrorsWithoutMessages(_OtherErrors):
    """Leaves out the message of an error."""

    def other(self, error: Json) -> Any:
        return {"code": error["code"]}


@keeps("base:answers:error-shape")
class ErrorsWithEmptyMessages(_FailingEcho):
    """Answers with an error whose message is empty."""

    TEXT = ""


@breaks("base:answers:error-code-kind")
class CodesAsTexts(_OtherErrors):
    """Sends a code as a text."""

    def other(self, error: Json) -> Any:
        return {**error, "code": "1"}


@keeps("base:answers:error-code-kind")
class CodeZero(_FailingEcho):
    """Sends the code 0."""

    CODE = 0


@breaks("base:answers:one-sentence")
class Tracebacks(_FailingEcho):
    """Sends a traceback as the message of an error."""

    TEXT = 'Traceback (most recent call last):\n  File "server.py", line 1'


@keeps("base:answers:one-sentence")
class LongSentences(_FailingEcho):
    """Sends a long sentence as the message of an error."""

    TEXT = f"It failed {'again and ' * 40}again"


@breaks("base:errors:legacy-codes")
class LegacyCodes(_FailingEcho):
    """Answers with the last code of the earlier implementations."""

    CODE = -32019


@keeps("base:errors:legacy-codes")
class OrdinaryCodes(_FailingEcho):
    """Answers with the code beside those of the earlier implementations."""

    CODE = -31999


@breaks("base:errors:reserved-codes")
class ReservedCodes(_FailingEcho):
    """Answers with a code that the specification has kept for itself."""

    CODE = -32099


@keeps("base:errors:reserved-codes")
class FreeCodes(_FailingEcho):
    """Answers with the code beside those that the specification has kept for itself."""

    CODE = -32100


@breaks("base:errors:retired-codes")
class RetiredCodes(_FailingEcho):
    """Answers with a code that earlier revisions had for resources that are not found."""

    CODE = -32002


@keeps("base:errors:retired-codes")
class ReplacedCodes(_FailingEcho):
    """Answers with the code that has replaced one of earlier revisions."""

    CODE = -32602
