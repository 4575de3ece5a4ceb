"""Tool results in the formats of model APIs, checked with the types of their own SDKs."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import pytest

from mcp_gen import UsageError, tool_result_for
from mcp_gen.types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)
from tests.manager.model_sdks import APIS, WRONG, checked

PNG = base64.b64encode(b"\x89PNG").decode()
WAV = base64.b64encode(b"RIFF").decode()
PDF = base64.b64encode(b"%PDF-").decode()

Made = Callable[..., Any]


def made(api: str, result: CallToolResult) -> Any:
    """Return a result in the format of an API, after a check with the types of its SDK."""
    shape = tool_result_for(api, result, id="call_1", name="look")  # type: ignore[arg-type]
    checked(api, shape)
    return shape


def pdf(uri: str = "file:///a/report.pdf") -> EmbeddedResource:
    return EmbeddedResource(
        resource=BlobResourceContents(uri=uri, blob=PDF, mime_type="application/pdf")
    )


ALL = CallToolResult(
    content=[
        TextContent(text="see:"),
        ImageContent(data=PNG, mime_type="image/png"),
        AudioContent(data=WAV, mime_type="audio/wav"),
        EmbeddedResource(resource=TextResourceContents(uri="note://1", text="a note")),
        pdf(),
        ResourceLink(name="log", uri="file:///log", description="the log"),
    ]
)


def test_anthropic_gets_texts_images_and_documents_in_order() -> None:
    assert made("anthropic", ALL) == {
        "type": "tool_result",
        "tool_use_id": "call_1",
        "content": [
            {"type": "text", "text": "see:"},
            {
                "type": "image",
                "source": {"type": "base64", "media_type": "image/png", "data": PNG},
            },
            {"type": "text", "text": "[audio/wav, 4 bytes: not shown]"},
            {"type": "text", "text": "a note"},
            {
                "type": "document",
                "source": {"type": "base64", "media_type": "application/pdf", "data": PDF},
                "title": "file:///a/report.pdf",
            },
            {"type": "text", "text": "[resource log: file:///log (the log)]"},
        ],
    }


def test_a_message_of_chat_completions_holds_texts_alone() -> None:
    assert made("openai", ALL) == {
        "role": "tool",
        "tool_call_id": "call_1",
        "content": "see:\n[image/png, 4 bytes: in a user message]\n"
        "[audio/wav, 4 bytes: in a user message]\na note\n"
        "[application/pdf file:///a/report.pdf, 5 bytes: in a user message]\n"
        "[resource log: file:///log (the log)]",
    }


def test_responses_get_texts_images_and_files_in_order() -> None:
    assert made("openai-responses", ALL) == {
        "type": "function_call_output",
        "call_id": "call_1",
        "output": [
            {"type": "input_text", "text": "see:"},
            {
                "type": "input_image",
                "image_url": f"data:image/png;base64,{PNG}",
                "detail": "auto",
            },
            {"type": "input_text", "text": "[audio/wav, 4 bytes: not shown]"},
            {"type": "input_text", "text": "a note"},
            {
                "type": "input_file",
                "filename": "report.pdf",
                "file_data": f"data:application/pdf;base64,{PDF}",
            },
            {"type": "input_text", "text": "[resource log: file:///log (the log)]"},
        ],
    }


def test_gemini_gets_a_response_with_parts() -> None:
    assert made("gemini", ALL) == {
        "function_response": {
            "id": "call_1",
            "name": "look",
            "response": {
                "output": "see:\n[image/png, 4 bytes]\n[audio/wav, 4 bytes]\na note\n"
                "[application/pdf file:///a/report.pdf, 5 bytes]\n"
                "[resource log: file:///log (the log)]"
            },
            "parts": [
                {"inline_data": {"mime_type": "image/png", "data": b"\x89PNG"}},
                {"inline_data": {"mime_type": "audio/wav", "data": b"RIFF"}},
                {"inline_data": {"mime_type": "application/pdf", "data": b"%PDF-"}},
            ],
        }
    }


def test_bytes_for_gemini_leave_its_sdk_as_the_base64_they_came_as() -> None:
    result = CallToolResult(content=[ImageContent(data="+/8=", mime_type="image/png")])
    assert '"data":"-_8="' in checked("gemini", made("gemini", result)).model_dump_json()


ERROR = CallToolResult(content=[TextContent(text="no such item")], is_error=True)


@pytest.mark.parametrize(
    ("api", "shape"),
    [
        (
            "anthropic",
            {
                "type": "tool_result",
                "tool_use_id": "call_1",
                "content": [{"type": "text", "text": "no such item"}],
                "is_error": True,
            },
        ),
        (
            "openai",
            {
                "role": "tool",
                "tool_call_id": "call_1",
                "content": "The tool failed:\nno such item",
            },
        ),
        (
            "openai-responses",
            {
                "type": "function_call_output",
                "call_id": "call_1",
                "output": [
                    {"type": "input_text", "text": "The tool failed:"},
                    {"type": "input_text", "text": "no such item"},
                ],
            },
        ),
        (
            "gemini",
            {
                "function_response": {
                    "id": "call_1",
                    "name": "look",
                    "response": {"error": "no such item"},
                }
            },
        ),
    ],
)
def test_a_failed_tool_is_an_error_of_the_api(api: str, shape: Any) -> None:
    assert made(api, ERROR) == shape


def text_in(shape: Any) -> str:
    """Return the only text of a result."""
    if "function_response" in shape:
        return str(shape["function_response"]["response"]["output"])
    content = shape.get("content", shape.get("output"))
    return str(content if isinstance(content, str) else content[0]["text"])


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(
    ("result", "text"),
    [
        (CallToolResult(content=[]), "(the tool returned nothing)"),
        (CallToolResult(content=[TextContent(text="")]), "(the tool returned nothing)"),
        (CallToolResult(content=[], structured_content={"a": [1, None]}), '{"a":[1,null]}'),
        (
            CallToolResult(content=[TextContent(text="one")], structured_content={"a": 1}),
            "one",
        ),
        (
            CallToolResult(content=[ImageContent(data="no base64!", mime_type="image/png")]),
            "[image/png: it is not valid base64]",
        ),
    ],
    ids=["nothing", "an empty text", "data alone", "text and data", "no base64"],
)
def test_a_result_without_media_is_its_text(api: str, result: CallToolResult, text: str) -> None:
    assert text_in(made(api, result)) == text


@pytest.mark.parametrize("api", ["anthropic", "openai", "openai-responses"])
def test_an_image_that_the_api_does_not_take_is_described(api: str) -> None:
    result = CallToolResult(content=[ImageContent(data=PNG, mime_type="image/tiff")])
    assert text_in(made(api, result)) == "[image/tiff, 4 bytes: not shown]"


@pytest.mark.parametrize(
    ("api", "given", "missing"),
    [("anthropic", "name", "id"), ("openai", "name", "id"), ("gemini", "id", "name")],
)
def test_what_the_api_needs_to_find_its_call_must_be_given(
    api: str, given: str, missing: str
) -> None:
    with pytest.raises(UsageError, match=f"pass `{missing}=`"):
        tool_result_for(api, ERROR, **{given: "x"})  # type: ignore[arg-type]


def test_an_unknown_api_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="there is 'anthropic', 'openai'"):
        tool_result_for("opneai", ERROR, id="x")  # type: ignore[arg-type]


@pytest.mark.parametrize("api", APIS)
def test_a_wrong_shape_fails_the_check_of_the_sdk(api: str) -> None:
    with pytest.raises(ValueError, match=r"validation error|Extra inputs"):
        checked(api, WRONG[api])
