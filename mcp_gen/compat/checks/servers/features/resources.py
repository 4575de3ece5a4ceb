"""Checks of resources and templates."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from mcp_gen.compat.checks.check import probe, rule
from mcp_gen.compat.checks.found import NotTested
from mcp_gen.compat.checks.servers.features.content import is_base64
from mcp_gen.compat.checks.servers.features.offers import (
    answers_its_list,
    fails_with_known_codes,
    is_refused,
    undeclared,
)
from mcp_gen.compat.json_values import is_array, member, objects
from mcp_gen.compat.views.exchanges import exchanges, items
from mcp_gen.compat.views.uris import fits, has_scheme, variables

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.checks.trial import ServerTrial
    from mcp_gen.compat.reference.client import ServerReply
    from mcp_gen.compat.transcript import Transcript

NO_URI = "mcp-gen-doctor-made-this-up"
NOWHERE = "mcp-gen-doctor/made-this-up"
OUTSIDE = "etc/hosts"
"""File that is there on most systems, has no secrets, and belongs to no server's folder."""
UPWARDS = "../" * 12
ENCODED = quote(UPWARDS + OUTSIDE, safe="").replace(".", "%2E")


@probe("resources:declared")
async def resources_are_declared(trial: ServerTrial) -> None:
    await undeclared(trial, "resources", "list_resources", "list_resource_templates")


@probe("resources:list")
async def the_server_lists_its_resources(trial: ServerTrial) -> None:
    await answers_its_list(trial, "resources", "list_resources")


# --- URIs ---


@probe("resources:uris:valid")
async def a_uri_that_is_none_is_refused(trial: ServerTrial) -> None:
    client = await trial.having("resources")
    reply = trial.answered(await client.ask("read_resource", {"uri": NO_URI}))
    if is_array((reply.result or {}).get("contents")):
        trial.broken(
            "a URI without a scheme, which is none, is refused",
            "a result",
            *reply.events,
            where="$.result",
        )


@rule("resources:uris:schemes", unseen="the server listed no resources and no templates")
def resources_have_uris_with_a_scheme(transcript: Transcript, found: Found) -> None:
    for name, key in (("list_resources", "uri"), ("list_resource_templates", "uriTemplate")):
        for item in items(transcript, name):
            uri = item.value.get(key)
            # The scheme of a template may be a variable.
            if not isinstance(uri, str) or uri.startswith("{"):
                continue
            found.saw()
            if not has_scheme(uri):
                found.broken(
                    "the URI of a resource begins with a scheme, as in RFC 3986",
                    repr(uri),
                    *item.exchange.events,
                    where=f"{item.where}.{key}",
                )


@probe("resources:traversal")
async def no_path_leads_out_of_a_folder(trial: ServerTrial) -> None:
    client = await trial.having("resources")
    folders = list(_folders(trial))
    if not folders:
        raise NotTested("the server has no files")
    # What is served for everybody by its own name is not kept in a folder.
    if _has_contents(await client.ask("read_resource", {"uri": f"file:///{OUTSIDE}"})):
        raise NotTested("the server has files of the whole system")
    for folder in folders:
        for path in (UPWARDS + OUTSIDE, ENCODED):
            reply = await client.ask("read_resource", {"uri": folder + path})
            if _has_contents(reply):
                trial.broken(
                    "files are served from below their folder alone",
                    f"the contents of {folder}{path}",
                    *reply.events,
                    where="$.result.contents",
                )


def _folders(trial: ServerTrial) -> Iterator[str]:
    """Yield the beginnings of file URIs that end where a path of the client could begin."""
    for name, key in (("list_resources", "uri"), ("list_resource_templates", "uriTemplate")):
        for item in trial.items(name)[:5]:
            uri = str(item.get(key))
            if uri.startswith("file:"):
                beginning = uri.partition("{")[0] if any(variables(uri)) else uri
                yield beginning.rpartition("/")[0] + "/"


# --- reading ---


async def _absent(trial: ServerTrial) -> ServerReply:
    """Ask for a resource that there is none of, with a scheme that the server knows."""
    client = await trial.having("resources")
    uris = [str(one.get("uri")) for one in trial.items("list_resources")]
    templates = [str(one.get("uriTemplate")) for one in trial.items("list_resource_templates")]
    schemes = [uri.partition(":")[0] for uri in (*uris, *templates) if has_scheme(uri)]
    local = [one for one in schemes if one not in ("http", "https")]
    for scheme in dict.fromkeys([*local, "mcp-gen-doctor"]):
        uri = f"{scheme}://{NOWHERE}"
        if not any(fits(uri, template) for template in templates):
            return trial.answered(await client.ask("read_resource", {"uri": uri}))
    raise NotTested("a template of the server fits every URI")


@probe("resources:not-found-early")
async def an_absent_resource_has_a_code_of_its_own(trial: ServerTrial) -> None:
    await _is_not_found(trial, "an error with the code for resources that are not found")


@probe("resources:not-found")
async def an_absent_resource_is_invalid_params(trial: ServerTrial) -> None:
    reply = await _is_not_found(trial, "reading a resource that there is none of is invalid params")
    if reply.result is not None:
        raise NotTested("the server answers with no contents, which is a fault of its own")


async def _is_not_found(trial: ServerTrial, expected: str) -> ServerReply:
    reply = await _absent(trial)
    if _has_contents(reply):
        raise NotTested("the server has contents for every URI")
    # An empty result has a rule of its own where there is one.
    if reply.result is None or trial.profile.resource_not_found_code != _invalid_params(trial):
        is_refused(trial, reply, expected, trial.profile.resource_not_found_code)
    return reply


def _invalid_params(trial: ServerTrial) -> int:
    return trial.profile.errors.invalid_params


@probe("resources:not-found:not-empty")
async def an_absent_resource_is_not_empty(trial: ServerTrial) -> None:
    reply = await _absent(trial)
    contents = (reply.result or {}).get("contents")
    if is_array(contents) and not contents:
        trial.broken(
            "a resource that there is none of does not read as an empty one",
            "no contents",
            *reply.events,
            where="$.result.contents",
        )


@rule("resources:internal-error", unseen="no resource failed")
def a_resource_that_fails_is_an_internal_error(transcript: Transcript, found: Found) -> None:
    listed = {item.id for item in items(transcript, "list_resources")}
    for exchange in exchanges(transcript, "read_resource"):
        if str(exchange.params.get("uri")) in listed:
            expected = "a resource that fails is answered with the code for internal errors"
            fails_with_known_codes(transcript, found, exchange, expected)


@rule("resources:binary", unseen="no resource had binary contents")
def binary_contents_are_base64(transcript: Transcript, found: Found) -> None:
    for exchange in exchanges(transcript, "read_resource"):
        contents = member(exchange.result, "contents")
        for number, one in enumerate(contents if is_array(contents) else ()):
            blob = member(one, "blob")
            if blob is None:
                continue
            found.saw()
            if not is_base64(blob):
                found.broken(
                    "binary contents are base64",
                    "a blob that is none",
                    *exchange.events,
                    where=f"{exchange.path}.result.contents[{number}].blob",
                )


def _has_contents(reply: ServerReply) -> bool:
    return bool(objects((reply.result or {}).get("contents")))
