"""Checks of the HTTP headers with which a client repeats parts of its messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from mcp_gen.compat.checks.check import rule
from mcp_gen.compat.checks.http_exchanges import exchanges
from mcp_gen.compat.json_values import is_object, member, objects
from mcp_gen.compat.known_extensions import named_params, tasks_extension
from mcp_gen.compat.reference.http_client.headers import header_text
from mcp_gen.core.errors import UsageError
from mcp_gen.core.transport.header_params import marked_params
from mcp_gen.core.transport.header_values import (
    decoded_value,
    encoded_value,
    matches_value,
    value_at,
)
from mcp_wire import profile as profile_of

if TYPE_CHECKING:
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.checks.http_exchanges import PeerExchange
    from mcp_gen.compat.json_values import Json
    from mcp_gen.compat.transcript import Transcript

NO_REQUEST = "the client sent no request"
NO_MARKS = "the client called no tool whose schema marks arguments"


def _asked(transcript: Transcript) -> Iterator[tuple[PeerExchange, Json]]:
    """Yield the requests of the revision, each with its exchange."""
    key = profile_of(transcript.revision).protocol_version_key or ""
    for one in exchanges(transcript):
        for frame in one.requests:
            if member(frame, "params", "_meta", key) is not None:
                yield one, frame


@rule("http:client:metadata-headers", unseen=NO_REQUEST)
def headers_say_method_and_name(transcript: Transcript, found: Found) -> None:
    profile = profile_of(transcript.revision)
    assert profile.method_header is not None
    for one, frame in _asked(transcript):
        found.saw()
        said = one.headers.get(profile.method_header.lower())
        if said != frame["method"]:
            expected = f"`{profile.method_header}` is the method, {frame['method']}"
            found.broken(expected, _shown(said), *_parts(one))
        about = member(frame, "params", profile.name_params.get(str(frame["method"]), ""))
        _judge_name(one, about, profile.name_header, found)


@rule("tasks-extension:client:name-header", unseen="the client asked for no task")
def requests_about_tasks_name_them(transcript: Transcript, found: Found) -> None:
    profile = profile_of(transcript.revision)
    names = named_params(transcript.revision)
    for one, frame in _asked(transcript):
        method = str(frame["method"])
        if method in tasks_extension().methods and method in names:
            found.saw()
            about = member(frame, "params", names[method])
            _judge_name(one, about, profile.name_header, found)


def _judge_name(one: PeerExchange, about: Any, header: str | None, found: Found) -> None:
    if header is None or not isinstance(about, str):
        return
    said = one.headers.get(header.lower())
    # A name that should have been encoded, and is not, is told of by another rule.
    if said is None or (said != about and not _says(said, about) and _is_plain(about)):
        found.broken(f"`{header}` repeats the name, {about!r}", _shown(said), *_parts(one))


@rule("http:client:names-encoded", unseen="the client named nothing that has to be encoded")
def foreign_names_are_encoded(transcript: Transcript, found: Found) -> None:
    profile = profile_of(transcript.revision)
    assert profile.name_header is not None
    for one, frame in _asked(transcript):
        about = member(frame, "params", profile.name_params.get(str(frame["method"]), ""))
        said = one.headers.get(profile.name_header.lower())
        if not isinstance(about, str) or _is_plain(about) or said is None:
            continue
        found.saw()
        if not _says(said, about):
            expected = f"`{profile.name_header}` is {encoded_value(about).decode()}"
            found.broken(expected, _shown(said), *_parts(one))


# --- arguments ---


@rule("http:client:param-headers", unseen=NO_MARKS)
def headers_repeat_marked_arguments(transcript: Transcript, found: Found) -> None:
    for one, header, value in _marked(transcript):
        text = header_text(value)
        if text is None or not _is_plain(text):
            continue
        found.saw()
        said = one.headers.get(header.lower())
        raw = None if said is None else said.encode("latin-1")
        if not matches_value(raw, value):
            found.broken(f"`{header}` repeats the argument, {text!r}", _shown(said), *_parts(one))


@rule("http:client:param-headers:omitted", unseen="the client left no marked argument out")
def headers_repeat_nothing_else(transcript: Transcript, found: Found) -> None:
    for one, header, value in _marked(transcript):
        if value is None:
            found.saw()
            said = one.headers.get(header.lower())
            if said is not None:
                expected = f"there is no `{header}`, as the argument is null or not there"
                found.broken(expected, _shown(said), *_parts(one))


@rule("http:client:param-headers:encoded", unseen="no marked argument had to be encoded")
def foreign_arguments_are_encoded(transcript: Transcript, found: Found) -> None:
    for one, header, value in _marked(transcript):
        text = header_text(value)
        if text is None or _is_plain(text):
            continue
        found.saw()
        said = one.headers.get(header.lower())
        if said is None or not _says(said, text):
            expected = f"`{header}` is {encoded_value(text).decode()}"
            found.broken(expected, _shown(said), *_parts(one))


def _marked(transcript: Transcript) -> Iterator[tuple[PeerExchange, str, Any]]:
    """Yield header and value of each argument that the schema of a called tool marks.

    The schema is the one that was listed last before the call.
    """
    profile = profile_of(transcript.revision)
    assert profile.call_tool is not None
    tools: dict[str, Json] = {}
    for one in exchanges(transcript):
        for frame in one.requests:
            arguments = member(frame, "params", "arguments")
            tool = tools.get(str(member(frame, "params", "name")))
            if frame["method"] != profile.call_tool.name or tool is None:
                continue
            schema = tool.get("inputSchema")
            given = arguments if is_object(arguments) else {}
            for end, path in _marks(schema).items():
                yield one, f"{profile.param_header_prefix}{end}", value_at(given, path)
        for _, frame in one.frames:
            for tool in objects(member(frame, "result", "tools")):
                tools[str(tool.get("name"))] = tool


def _marks(schema: Any) -> dict[str, tuple[str, ...]]:
    if not is_object(schema):
        return {}
    try:
        return marked_params(schema)
    except UsageError:
        return {}


def _is_plain(text: str) -> bool:
    """Return True if a header can hold a text as it is."""
    return encoded_value(text) == text.encode()


def _says(said: str, text: str) -> bool:
    """Return True if a header says a text, and is encoded where it has to be."""
    try:
        raw = said.encode("latin-1")
    except UnicodeEncodeError:
        return False
    is_coded = said.startswith("=?base64?") and said.endswith("?=")
    return (is_coded or _is_plain(text)) and decoded_value(raw) == text


def _shown(said: str | None) -> str:
    return "there is none" if said is None else f"it is {said!r}"


def _parts(one: PeerExchange) -> tuple[Any, ...]:
    """Return what the client sent in an exchange: the body, then the head, which is at fault."""
    return (one.request,) if one.sent is None else (one.sent, one.request)
