"""Checks of prompts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from mcp_gen.compat.checks.check import probe, rule
from mcp_gen.compat.checks.found import NotTested
from mcp_gen.compat.checks.frames import violations
from mcp_gen.compat.checks.servers.features.content import fault_of_data, fault_of_resource
from mcp_gen.compat.checks.servers.features.offers import (
    answers_its_list,
    fails_with_known_codes,
    is_refused,
    undeclared,
)
from mcp_gen.compat.json_values import Json, is_array, is_object, member, objects
from mcp_gen.compat.views.exchanges import RequestExchange, exchanges, items

if TYPE_CHECKING:
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.checks.trial import ServerTrial
    from mcp_gen.compat.reference.client import ServerReply
    from mcp_gen.compat.transcript import Transcript

NO_PROMPT = "mcp-gen-doctor-made-this-up"


@probe("prompts:declared")
async def prompts_are_declared(trial: ServerTrial) -> None:
    await undeclared(trial, "prompts", "list_prompts")


@probe("prompts:list")
async def the_server_lists_its_prompts(trial: ServerTrial) -> None:
    await answers_its_list(trial, "prompts", "list_prompts")


@probe("prompts:capabilities")
async def a_server_without_prompts_answers_no_request_for_them(trial: ServerTrial) -> None:
    client = await trial.main()
    if "prompts" in client.server_capabilities:
        raise NotTested("the server declares `prompts`")
    reply = trial.answered(await client.ask("list_prompts"))
    # A list with prompts in it is the fault of a server that has them and does not say so.
    if reply.result is not None and not objects(reply.result.get("prompts")):
        trial.broken(
            "a server that does not declare `prompts` answers no request for them",
            "a result",
            *reply.events,
            where="$.result",
        )


# --- errors ---


@probe("prompts:errors:unknown")
async def an_unknown_prompt_is_refused(trial: ServerTrial) -> None:
    client = await trial.having("prompts")
    reply = await client.ask("get_prompt", {"name": NO_PROMPT})
    expected = "a prompt that there is none of is refused as invalid params"
    is_refused(trial, reply, expected, trial.profile.errors.invalid_params)


async def _without_arguments(trial: ServerTrial) -> ServerReply:
    """Ask for a prompt without the arguments that it needs: none is made up."""
    client = await trial.having("prompts")
    for prompt in trial.listed("list_prompts"):
        if _required(prompt):
            return trial.answered(await client.ask("get_prompt", {"name": prompt.get("name")}))
    raise NotTested("no prompt needs an argument")


@probe("prompts:arguments-validated")
async def a_missing_argument_does_not_pass(trial: ServerTrial) -> None:
    reply = await _without_arguments(trial)
    if reply.result is not None and reply.result.get("resultType") != "input_required":
        trial.broken(
            "a prompt is not made without an argument that it needs",
            "a result",
            *reply.events,
            where="$.result",
        )


@probe("prompts:errors:missing-argument")
async def a_missing_argument_is_invalid_params(trial: ServerTrial) -> None:
    reply = await _without_arguments(trial)
    # A prompt that is made all the same is a fault of its own.
    if reply.error is None:
        raise NotTested("the server does not refuse it")
    expected = "a prompt without an argument that it needs is refused as invalid params"
    is_refused(trial, reply, expected, trial.profile.errors.invalid_params)


@rule("prompts:errors:internal", unseen="no prompt failed")
def a_prompt_that_fails_is_an_internal_error(transcript: Transcript, found: Found) -> None:
    listed = {item.id: item.value for item in items(transcript, "list_prompts")}
    for exchange in exchanges(transcript, "get_prompt"):
        prompt = listed.get(str(exchange.params.get("name")))
        arguments = exchange.params.get("arguments", {})
        if prompt is None or not is_object(arguments) or _required(prompt) - arguments.keys():
            continue
        expected = "a prompt that fails is answered with the code for internal errors"
        fails_with_known_codes(transcript, found, exchange, expected)


@probe("prompts:inputs-validated")
async def neither_malformed_arguments_nor_malformed_messages_pass(trial: ServerTrial) -> None:
    client = await trial.having("prompts")
    name = trial.listed("list_prompts")[0].get("name")
    # No argument is made up: what stands in the place of them is none.
    reply = trial.answered(await client.ask("get_prompt", {"name": name, "arguments": "none"}))
    if reply.result is not None:
        trial.broken(
            "arguments that are no object are refused",
            "a result",
            *reply.events,
            where="$.result",
        )
    answers = {
        one.answered.number: one.path
        for one in exchanges(client.transcript, "get_prompt")
        if one.answered is not None
    }
    for event, violation in violations(client.transcript, "server"):
        path = answers.get(event.number)
        if path is not None and violation.path.startswith(f"{path}.result.messages"):
            trial.broken(
                "messages of a prompt have the shape of the revision",
                violation.what,
                event,
                where=violation.path,
            )


# --- content ---


@rule("prompts:content:image", unseen="no prompt had an image")
def images_are_base64_with_their_mime_type(transcript: Transcript, found: Found) -> None:
    _judge_data(transcript, found, "image")


@rule("prompts:content:audio", unseen="no prompt had a sound")
def sounds_are_base64_with_their_mime_type(transcript: Transcript, found: Found) -> None:
    _judge_data(transcript, found, "audio")


@rule("prompts:content:resource", unseen="no prompt had an embedded resource")
def embedded_resources_are_whole(transcript: Transcript, found: Found) -> None:
    for exchange, where, block in _contents(transcript, "resource"):
        found.saw()
        wrong = fault_of_resource(block.get("resource"))
        if wrong:
            found.broken(
                "an embedded resource has its URI, its MIME type, and text or base64",
                wrong.what,
                *exchange.events,
                where=f"{where}.resource{wrong.where}",
            )


def _judge_data(transcript: Transcript, found: Found, kind: str) -> None:
    for exchange, where, block in _contents(transcript, kind):
        found.saw()
        wrong = fault_of_data(block)
        if wrong:
            found.broken(
                "the data is base64, with its MIME type",
                wrong.what,
                *exchange.events,
                where=f"{where}{wrong.where}",
            )


def _contents(transcript: Transcript, kind: str) -> Iterator[tuple[RequestExchange, str, Json]]:
    """Yield the content of prompts that is of one kind, with its JSON path."""
    for exchange in exchanges(transcript, "get_prompt"):
        messages: Any = member(exchange.result, "messages")
        for number, message in enumerate(messages if is_array(messages) else ()):
            block = member(message, "content")
            if is_object(block) and block.get("type") == kind:
                yield exchange, f"{exchange.path}.result.messages[{number}].content", block


def _required(prompt: Json) -> set[str]:
    """Return the names of the arguments that a prompt needs."""
    return {
        str(one.get("name"))
        for one in objects(prompt.get("arguments"))
        if one.get("required") is True
    }
