"""Checks of errors: their shape, and their codes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import mcp_wire
from mcp_gen.compat.checks.check import rule
from mcp_gen.compat.json_values import Json, is_array, is_object, member
from mcp_gen.compat.views.reading import answers
from mcp_wire import profile as profile_of

if TYPE_CHECKING:
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.transcript import Transcript
    from mcp_gen.compat.views.reading import AnswerFrame
    from mcp_wire.profile import Profile

NO_ERROR = "no error came"
MAX_SENTENCE = 1000
"""Number of characters that no short sentence has."""
LEGACY = range(-32019, -31999)
"""Codes of earlier implementations."""
RESERVED = range(-32099, -32019)
"""Codes of the specification alone."""


def errors(transcript: Transcript) -> Iterator[tuple[AnswerFrame, Any]]:
    """Yield the answers of the server with an error, and the error."""
    for answer in answers(transcript):
        if "error" in answer.frame and "result" not in answer.frame:
            yield answer, answer.frame["error"]


def codes(transcript: Transcript) -> Iterator[tuple[AnswerFrame, Json, int]]:
    """Yield the answers of the server with an error that has a code, the error, and the code."""
    for answer, error in errors(transcript):
        code = member(error, "code")
        if type(code) is int:
            yield answer, error, code


def defined(profile: Profile) -> set[int]:
    """Return the error codes that a revision defines."""
    values = [getattr(profile.errors, name) for name in profile.errors.__struct_fields__]
    return {value for value in values if value is not None}


@rule("base:answers:error-shape", unseen=NO_ERROR)
def errors_have_a_code_and_a_message(transcript: Transcript, found: Found) -> None:
    for answer, error in errors(transcript):
        found.saw()
        wrong = ""
        if not is_object(error):
            wrong = "it is no object"
        elif "code" not in error:
            wrong = "it has no code"
        elif not isinstance(error.get("message"), str):
            wrong = "its message is no text" if "message" in error else "it has no message"
        if wrong:
            expected = "an error has a code and a message"
            found.broken(expected, wrong, *answer.events, where=f"{answer.where}.error")


@rule("base:answers:error-code-kind", unseen=NO_ERROR)
def codes_of_errors_are_integers(transcript: Transcript, found: Found) -> None:
    for answer, error in errors(transcript):
        if not is_object(error) or "code" not in error:
            continue
        found.saw()
        code = error["code"]
        if type(code) is not int and not (isinstance(code, float) and code.is_integer()):
            expected = "the code of an error is an integer"
            found.broken(expected, f"{code!r}", *answer.events, where=f"{answer.where}.error")


@rule("base:answers:one-sentence", unseen=NO_ERROR)
def messages_of_errors_are_short(transcript: Transcript, found: Found) -> None:
    for answer, error in errors(transcript):
        message = member(error, "message")
        if not isinstance(message, str):
            continue
        found.saw()
        lines = len(message.strip().splitlines())
        if lines > 1 or len(message) > MAX_SENTENCE:
            came = f"{lines} lines" if lines > 1 else f"{len(message)} characters"
            expected = "the message of an error is one short sentence"
            where = f"{answer.where}.error.message"
            found.broken(expected, came, *answer.events, where=where)


# --- codes, where the protocol shares them out ---


def retired(profile: Profile) -> set[int]:
    """Return the codes that JSON-RPC reserves and that earlier revisions alone have."""
    earlier = {
        code
        for revision in mcp_wire.REVISIONS
        if revision < profile.revision
        for code in defined(profile_of(revision))
    }
    return {code for code in earlier - defined(profile) if code in LEGACY or code in RESERVED}


@rule("base:errors:legacy-codes", unseen=NO_ERROR, is_general=True)
def legacy_codes_are_not_used(transcript: Transcript, found: Found) -> None:
    profile = profile_of(transcript.revision)
    for answer, _, code in codes(transcript):
        found.saw()
        if code in LEGACY and code not in retired(profile):
            expected = f"no code from {LEGACY[0]} to {LEGACY[-1]}"
            where = f"{answer.where}.error.code"
            found.broken(expected, f"code {code}", *answer.events, where=where)


@rule("base:errors:retired-codes", unseen=NO_ERROR, is_general=True)
def retired_codes_are_not_used(transcript: Transcript, found: Found) -> None:
    profile = profile_of(transcript.revision)
    for answer, _, code in codes(transcript):
        found.saw()
        if code in retired(profile):
            expected = "no code that only earlier revisions have"
            where = f"{answer.where}.error.code"
            found.broken(expected, f"code {code}", *answer.events, where=where)


@rule("base:errors:reserved-codes", unseen=NO_ERROR, is_general=True)
def reserved_codes_are_used_as_they_are_meant(transcript: Transcript, found: Found) -> None:
    profile = profile_of(transcript.revision)
    for answer, error, code in codes(transcript):
        found.saw()
        if code not in RESERVED or code in retired(profile):
            continue
        where = f"{answer.where}.error.code"
        if code not in defined(profile):
            expected = f"of the codes from {RESERVED[0]} to {RESERVED[-1]}, those of the revision"
            found.broken(expected, f"code {code}", *answer.events, where=where)
        elif wrong := misuse(transcript, answer, error, code):
            found.broken(f"code {code} as it is meant", wrong, *answer.events, where=where)


def misuse(transcript: Transcript, answer: AnswerFrame, error: Json, code: int) -> str | None:
    """Return why an error of the protocol is not meant here; None if it may be."""
    profile = profile_of(transcript.revision)
    if code == profile.errors.header_mismatch and transcript.transport != "http":
        return "there are no headers"
    if answer.asked is None:
        return None
    meta = member(answer.asked.frame, "params", "_meta")
    asked_for = member(meta, str(profile.protocol_version_key))
    if code == profile.errors.unsupported_protocol_version:
        supported = member(error, "data", "supported")
        if is_array(supported) and asked_for is not None and asked_for in supported:
            return f"the revision of the request is one of {supported}"
    return None
