"""Tool results in the formats of model APIs: Anthropic, OpenAI and Gemini."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec
from msgspec import UNSET

from mcp_gen.core.errors import UsageError
from mcp_gen.core.text_encoding import decode_base64

if TYPE_CHECKING:
    from mcp_gen.manager.model_formats import Api, Json
    from mcp_wire import common

__all__ = ["ExportedResult", "ResultPart", "export_result", "parts_of", "tool_result_for"]

_IMAGES = frozenset({"image/gif", "image/jpeg", "image/png", "image/webp"})
"""Images that Anthropic and OpenAI take."""
_PDF = "application/pdf"
_AUDIO = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}
"""Audio that OpenAI takes, and its name for it."""
_NOTHING = "(the tool returned nothing)"


class ResultPart(NamedTuple):
    """Part of a tool result: a text, or media with its bytes.

    Args:
        text: The text; for media, a description of it.
        mime_type: MIME type of the media; None for a text.
        data: Base64 of the media.
        name: URI of the resource that the media is; empty for none.
        size_bytes: Size of the decoded media.
    """

    text: str
    mime_type: str | None = None
    data: str = ""
    name: str = ""
    size_bytes: int = 0


class ExportedResult(NamedTuple):
    """Tool result in the format of a model API.

    Args:
        result: The result of the call.
        media: Parts that the API takes in a user message only, after all results.
    """

    result: Json
    media: tuple[Json, ...] = ()


def tool_result_for(
    api: Api, result: common.CallToolResult, *, id: str | None = None, name: str | None = None
) -> Json:
    """Return a tool result in the format of a model API.

        block = tool_result_for("anthropic", result, id=tool_use.id)

    Texts, images, audio and embedded resources are in the order of the result, each as what the
    API takes; media that it does not take is described by a text, and so is a resource link. A
    result with structured content alone gives its JSON. A tool message of OpenAI Chat Completions
    holds texts only: `ClientManager.run_tool_calls` puts images into a user message after it.

    Args:
        api: `anthropic` gives a `tool_result` block, `openai` a message of the role `tool`,
            `openai-responses` a `function_call_output`, `gemini` a part with a
            `function_response`, whose media are bytes, as its SDK takes them.
        result: Result of `call_tool`, of any revision, also of a tool that failed.
        id: Id of the model's call; needed by all but Gemini, where a call may have none.
        name: Name of the called function; needed by Gemini.

    Raises:
        UsageError: an unknown API, no result, or a missing `id` or `name`.
    """
    return export_result(api, result, id, name).result


def export_result(
    api: Api, result: common.CallToolResult, id: str | None, name: str | None
) -> ExportedResult:
    """Return a tool result in the format of a model API; see `tool_result_for`.

    Raises:
        UsageError: an unknown API, no result, or a missing `id` or `name`.
    """
    found = _WRITERS.get(api)
    if found is None:
        raise UsageError(f"tool_result_for({api!r}): there is {', '.join(map(repr, _WRITERS))}")
    write, needed = found
    if (id if needed == "id" else name) is None:
        raise UsageError(f"tool_result_for({api!r}): pass `{needed}=`, as the model's call has it")
    if not hasattr(result, "content"):
        kind = type(result).__name__
        raise UsageError(f"tool_result_for({api!r}): expected a CallToolResult, got {kind}")
    return write(list(parts_of(result)), bool(result.is_error), id, name)


def parts_of(result: Any) -> Iterator[ResultPart]:
    """Yield the parts of a tool result, in order; at least one."""
    parts = [part for block in result.content for part in _part(block)]
    data: Any = getattr(result, "structured_content", UNSET)
    if not parts and data is not UNSET and data is not None:
        parts = [ResultPart(msgspec.json.encode(data).decode())]
    yield from parts or [ResultPart(_NOTHING)]


def _part(block: Any) -> Iterator[ResultPart]:
    """Yield the part of a content block; none for an empty text, which APIs refuse."""
    kind = getattr(block, "type", None)
    inner = getattr(block, "resource", block)
    uri: str = getattr(inner, "uri", None) or ""
    if kind == "resource_link":
        about = (getattr(block, "mime_type", None), getattr(block, "description", None))
        more = ", ".join(one for one in about if one)
        yield ResultPart(f"[resource {block.name}: {uri}{more and f' ({more})'}]")
        return
    text: str | None = getattr(inner, "text", None)
    if text is not None:
        if text:
            yield ResultPart(text)
        return
    data: Any = getattr(inner, "data", None)
    data = getattr(inner, "blob", None) if data is None else data
    if not isinstance(data, str):
        yield ResultPart(f"[content of the kind {kind}]")
        return
    mime_type = getattr(inner, "mime_type", None) or "application/octet-stream"
    what = f"{mime_type} {uri}".rstrip()
    try:
        size_bytes = len(decode_base64(data))
    except ValueError:
        yield ResultPart(f"[{what}: it is not valid base64]")
        return
    yield ResultPart(f"{what}, {size_bytes} bytes", mime_type, data, uri, size_bytes)


def _described(part: ResultPart) -> str:
    return part.text if part.mime_type is None else f"[{part.text}: not shown]"


# --- Anthropic ---


def _to_anthropic(
    parts: list[ResultPart], is_error: bool, id: str | None, name: str | None
) -> ExportedResult:
    made = {"type": "tool_result", "tool_use_id": id, "content": [_block(one) for one in parts]}
    return ExportedResult({**made, "is_error": True} if is_error else made)


def _block(part: ResultPart) -> Json:
    source = {"type": "base64", "media_type": part.mime_type, "data": part.data}
    if part.mime_type in _IMAGES:
        return {"type": "image", "source": source}
    if part.mime_type == _PDF:
        title = {"title": part.name} if part.name else {}
        return {"type": "document", "source": source, **title}
    return {"type": "text", "text": _described(part)}


# --- OpenAI ---


def _to_chat(
    parts: list[ResultPart], is_error: bool, id: str | None, name: str | None
) -> ExportedResult:
    texts = ["The tool failed:"] if is_error else []
    media: list[Json] = []
    for part in parts:
        shown = _chat_media(part)
        if shown is None:
            texts.append(_described(part))
        else:
            texts.append(f"[{part.text}: in a user message]")
            media.append(shown)
    tool = {"role": "tool", "tool_call_id": id, "content": "\n".join(texts)}
    return ExportedResult(tool, tuple(media))


def _chat_media(part: ResultPart) -> Json | None:
    if part.mime_type in _IMAGES:
        return {"type": "image_url", "image_url": {"url": _data_url(part)}}
    if part.mime_type in _AUDIO:
        audio = {"data": part.data, "format": _AUDIO[part.mime_type]}
        return {"type": "input_audio", "input_audio": audio}
    if part.mime_type == _PDF:
        return {"type": "file", "file": _file(part)}
    return None


def _to_responses(
    parts: list[ResultPart], is_error: bool, id: str | None, name: str | None
) -> ExportedResult:
    content = [{"type": "input_text", "text": "The tool failed:"}] if is_error else []
    content += [_response_part(one) for one in parts]
    return ExportedResult({"type": "function_call_output", "call_id": id, "output": content})


def _response_part(part: ResultPart) -> Json:
    if part.mime_type in _IMAGES:
        return {"type": "input_image", "image_url": _data_url(part), "detail": "auto"}
    if part.mime_type == _PDF:
        return {"type": "input_file", **_file(part)}
    return {"type": "input_text", "text": _described(part)}


def _data_url(part: ResultPart) -> str:
    return f"data:{part.mime_type};base64,{part.data}"


def _file(part: ResultPart) -> Json:
    name = part.name.rstrip("/").rpartition("/")[2] or "file.pdf"
    return {"filename": name, "file_data": _data_url(part)}


# --- Gemini ---


def _to_gemini(
    parts: list[ResultPart], is_error: bool, id: str | None, name: str | None
) -> ExportedResult:
    texts = [part.text if part.mime_type is None else f"[{part.text}]" for part in parts]
    response: Json = {
        "name": name,
        "response": {"error" if is_error else "output": "\n".join(texts)},
    }
    if id is not None:
        response["id"] = id
    media = [
        {"inline_data": {"mime_type": one.mime_type, "data": decode_base64(one.data)}}
        for one in parts
        if one.mime_type is not None
    ]
    if media:
        response["parts"] = media
    return ExportedResult({"function_response": response})


_Write = Callable[[list[ResultPart], bool, "str | None", "str | None"], ExportedResult]
_WRITERS: Mapping[str, tuple[_Write, Literal["id", "name"]]] = {
    "anthropic": (_to_anthropic, "id"),
    "openai": (_to_chat, "id"),
    "openai-responses": (_to_responses, "id"),
    "gemini": (_to_gemini, "name"),
}
