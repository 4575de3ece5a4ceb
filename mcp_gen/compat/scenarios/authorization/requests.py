"""Scenario in which all is well: what a client asks for, and how it uses what it gets."""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from mcp_gen.compat.checks.check import judged
from mcp_gen.compat.checks.found import NotTested
from mcp_gen.compat.json_values import is_array
from mcp_gen.compat.scenarios.authorization.granting import (
    CHALLENGED,
    CODE,
    DEFAULT_PATHS,
    RESOURCE_PATH,
    SERVER_PATH,
    GrantsTokens,
)
from mcp_gen.compat.scenarios.authorization.steps import (
    GRANTED,
    asked,
    fetched,
    going_for_tokens,
)
from mcp_gen.compat.scenarios.scenario import scenario
from mcp_gen.core.transport.addresses import is_loopback

if TYPE_CHECKING:
    from mcp_gen.compat.checks.client_run import ClientRun
    from mcp_gen.compat.checks.found import Found
    from mcp_gen.compat.scenarios.authorization.steps import TokenStep


# --- documents ---


def the_metadata_of_the_resource_come_first(run: ClientRun, found: Found) -> None:
    steps = going_for_tokens(run)
    found.saw()
    expected = "the authorization server is found by the metadata of the resource"
    for one in steps:
        path = one.said.get("path", "")
        if one.name == "fetch" and (path == CHALLENGED or path.startswith(RESOURCE_PATH)):
            return
        if one.name not in ("mcp", "fetch") or SERVER_PATH in path:
            found.broken(expected, f"they were not asked for before: {path}", one.event)
            return


def the_challenge_is_followed(run: ClientRun, found: Found) -> None:
    steps = going_for_tokens(run)
    places = [one for one in fetched(steps) if one == CHALLENGED or one.startswith(RESOURCE_PATH)]
    if not places:
        raise NotTested("the client asked for no metadata of the resource")
    found.saw()
    if places[0] != CHALLENGED:
        expected = f"metadata are first asked for where the challenge says: {CHALLENGED}"
        found.broken(expected, f"they were asked for at {places[0]}", *_first(steps, "fetch"))


def the_metadata_of_the_server_say_where(run: ClientRun, found: Found) -> None:
    steps = going_for_tokens(run)
    found.saw()
    expected = "the endpoints are those of the metadata of the authorization server"
    for one in asked(steps):
        if one.said["path"] in DEFAULT_PATHS:
            found.broken(expected, f"it was sent to {one.said['path']}", one.event)
            return


def _first(steps: list[TokenStep], name: str) -> list[Any]:
    return [one.event for one in steps if one.name == name][:1]


# --- registration ---


def the_client_registers_itself(run: ClientRun, found: Found) -> None:
    steps = going_for_tokens(run)
    found.saw()
    for one in steps:
        if one.name == "register":
            return
        if one.name == "authorize" and "://" not in one.said.get("client_id", ""):
            expected = "a client registers itself, where the authorization server lets it"
            found.broken(expected, "it came with an id of its own", one.event)
            return


def _registered(run: ClientRun) -> TokenStep:
    """Return the registration of a client.

    Raises:
        NotTested: it did not register itself.
    """
    found = asked(going_for_tokens(run), "register")
    if not found:
        raise NotTested("the client did not register itself")
    return found[0]


def the_application_has_a_type(run: ClientRun, found: Found) -> None:
    step = _registered(run)
    found.saw()
    uris = step.registration.get("redirect_uris")
    named = [one for one in uris if isinstance(one, str)] if is_array(uris) else []
    is_web = any(
        urlsplit(one).scheme == "https" and not is_loopback(urlsplit(one).hostname or "")
        for one in named
    )
    expected = "web" if is_web else "native"
    came = step.registration.get("application_type")
    if came != expected:
        about = f"`application_type` is {expected!r} with redirects to {', '.join(named)}"
        found.broken(about, f"it is {came!r}", step.event)


def no_refresh_token_is_counted_on(run: ClientRun, found: Found) -> None:
    steps = going_for_tokens(run)
    tokens = asked(steps, "token")
    if not tokens:
        raise NotTested("the client asked for no token")
    found.saw()
    for one in asked(steps, "register"):
        grants = one.registration.get("grant_types")
        if is_array(grants) and "refresh_token" not in grants and _refreshes(tokens):
            found.broken("a client that refreshes registers that grant", f"{grants}", one.event)
    used = [one for one in asked(steps, "mcp") if one.said["token"] != "none"]
    if not used:
        expected = "a client goes on without a refresh token, which nobody has promised"
        found.broken(expected, "it used no token that it got", tokens[-1].event)


def _refreshes(tokens: list[TokenStep]) -> bool:
    return any(one.said.get("grant_type") == "refresh_token" for one in tokens)


def a_url_names_a_document(run: ClientRun, found: Found) -> None:
    requests = asked(going_for_tokens(run), "authorize")
    with_url = [one for one in requests if "://" in one.said.get("client_id", "")]
    if not with_url:
        raise NotTested("the client does not name itself by a URL")
    found.saw()
    for one in with_url:
        parts = urlsplit(one.said["client_id"])
        if parts.scheme != "https" or len(parts.path) < 2:
            expected = "the URL of a metadata document is https and has a path"
            found.broken(expected, f"it is {one.said['client_id']!r}", one.event)


def redirects_are_safe(run: ClientRun, found: Found) -> None:
    steps = going_for_tokens(run)
    found.saw()
    known: list[Any] = []
    for one in steps:
        if one.name == "register":
            known += one.registration.get("redirect_uris") or []
        uri = one.said.get("redirect_uri", "")
        if one.name != "authorize" or not uri:
            continue
        parts = urlsplit(uri)
        if parts.scheme == "http" and not is_loopback(parts.hostname or ""):
            expected = "a redirect URI is https, or one of this machine"
            found.broken(expected, f"it is {uri!r}", one.event)
        elif known and uri not in known and not _is_listener(uri, known):
            found.broken("a redirect URI is registered", f"{uri!r} is not", one.event)


def _is_listener(uri: str, known: list[Any]) -> bool:
    """Return True for a registered URI of this machine, but for its port."""
    plain = _without_port(uri)
    is_local = is_loopback(urlsplit(uri).hostname or "")
    return is_local and any(isinstance(one, str) and _without_port(one) == plain for one in known)


def _without_port(uri: str) -> tuple[str, str | None, str]:
    parts = urlsplit(uri)
    return parts.scheme, parts.hostname, parts.path


# --- requests for tokens ---


def the_code_is_proved(run: ClientRun, found: Found) -> None:
    steps = going_for_tokens(run)
    found.saw()
    challenge = ""
    for one in steps:
        if one.name == "authorize":
            challenge = one.said.get("code_challenge", "")
            if not challenge or one.said.get("code_challenge_method") != "S256":
                expected = "an authorization request has a `code_challenge` by S256"
                found.broken(expected, "it has none", one.event)
        elif one.name == "token" and one.said.get("code", "").startswith(CODE):
            verifier = one.said.get("code_verifier", "")
            if challenge and challenge != _hashed(verifier):
                expected = "a code is exchanged with the `code_verifier` of its challenge"
                found.broken(expected, "it is another one, or none", one.event)


def _hashed(verifier: str) -> str:
    digest = hashlib.sha256(verifier.encode()).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def the_resource_is_named(run: ClientRun, found: Found) -> None:
    steps = going_for_tokens(run)
    found.saw()
    for one in asked(steps, "authorize", "token"):
        resource = one.said.get("resource", "")
        if not any(_plain(resource) == _plain(url) for url in _urls(run)):
            expected = f"`resource` is the URI of the server, in the request for {one.name}"
            found.broken(expected, f"it is {resource!r}", one.event)


def the_resource_is_canonical(run: ClientRun, found: Found) -> None:
    named = [one for one in asked(going_for_tokens(run)) if one.said.get("resource")]
    if not named:
        raise NotTested("the client names no resource")
    found.saw()
    for one in named:
        if one.said["resource"] not in _urls(run):
            expected = f"`resource` as the metadata write it: {_urls(run)[0]}"
            found.broken(expected, f"it is {one.said['resource']!r}", one.event)


def _urls(run: ClientRun) -> list[str]:
    """Return the URL of the server in the scenario, and its origin."""
    for transcript in run.run_of(GRANTED).transcripts:
        for event in transcript.events:
            if event.kind == "request" and event.headers.get("host"):
                origin = f"http://{event.headers['host']}"
                return [f"{origin}/mcp", origin]
    return []


def _plain(uri: str) -> str:
    """Return a URI without what makes no other server of it."""
    parts = urlsplit(uri)
    return f"{parts.scheme.lower()}://{parts.netloc.lower()}{parts.path.rstrip('/')}"


# --- the use of tokens ---


def every_request_has_the_token(run: ClientRun, found: Found) -> None:
    steps = going_for_tokens(run)
    found.saw()
    has_token = False
    for one in steps:
        has_token = has_token or one.name == "token"
        if one.name == "mcp" and has_token and one.said["token"] == "none":
            expected = "every request has the token in its header, once there is one"
            found.broken(expected, "one had none", one.event)


def no_token_is_in_a_query(run: ClientRun, found: Found) -> None:
    steps = going_for_tokens(run)
    found.saw()
    for one in asked(steps, "mcp"):
        if one.said["token"] == "query":
            found.broken("a token is in no URL", "it was in the query", one.event)


def tokens_are_those_of_the_server(run: ClientRun, found: Found) -> None:
    steps = going_for_tokens(run)
    found.saw()
    for one in asked(steps, "mcp"):
        if one.said["known"] == "no":
            expected = "a server gets tokens that its authorization server has issued"
            found.broken(expected, "it got another one", one.event)


scenario(GRANTED, the_code_is_proved, is_exact=False)(GrantsTokens)
judged("authorization:client:resource-metadata", the_metadata_of_the_resource_come_first)
judged("authorization:client:challenge", the_challenge_is_followed)
judged("authorization:client:server-metadata", the_metadata_of_the_server_say_where)
judged("authorization:client:registration", the_client_registers_itself)
judged("authorization:client:application-type", the_application_has_a_type)
judged("authorization:client:metadata-document:url", a_url_names_a_document)
judged("authorization:client:refresh", no_refresh_token_is_counted_on)
judged("authorization:client:redirects", redirects_are_safe)
judged("authorization:client:resource", the_resource_is_named)
judged("authorization:client:resource:canonical", the_resource_is_canonical)
judged("authorization:client:token", every_request_has_the_token)
judged("authorization:client:token:no-query", no_token_is_in_a_query)
judged("authorization:client:token:own", tokens_are_those_of_the_server)
