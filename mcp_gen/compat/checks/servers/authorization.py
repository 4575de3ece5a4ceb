"""Checks of what everybody sees of a server that wants a token: refusals and metadata."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

import msgspec
from msgspec import Struct

from mcp_gen.auth.flows.challenges import parse_challenges
from mcp_gen.compat.checks.check import probe
from mcp_gen.compat.checks.found import NotTested
from mcp_gen.compat.checks.http_exchanges import PeerExchange, exchange_of, http_of
from mcp_gen.compat.json_values import Json, is_array, is_object, member
from mcp_gen.compat.requirements.manifest import requirements
from mcp_gen.compat.wire.http import HttpWire
from mcp_gen.transports.http_client.pool import origin_of

if TYPE_CHECKING:
    from mcp_gen.compat.checks.trial import ServerTrial
    from mcp_gen.compat.reference.client import ReferenceClient
    from mcp_gen.compat.transcript import WireEvent

GARBAGE = "no-token-of-the-doctor"
UNAUTHORIZED = 401
REFRESH_SCOPE = "offline_access"
"""Scope that asks the authorization server for a refresh token."""
WELL_KNOWN = "/.well-known/oauth-protected-resource"
FOUND = "authorization:metadata:found"
NO_TOKEN_WANTED = "the server wants no token"


class _Document(Struct, frozen=True):
    """A metadata document, or what is in its place.

    Args:
        value: The JSON value; None if there is none.
        evidence: Its request and its response.
    """

    value: Any
    evidence: tuple[WireEvent, ...]


class _Stranger(Struct, frozen=True):
    """Answer of a server to a client without a token.

    Args:
        opening: The first request, which is refused.
        challenge: Parameters of its challenge, by name in lower case; None without one.
    """

    opening: PeerExchange
    challenge: Mapping[str, str] | None


async def the_refusal(trial: ServerTrial) -> _Stranger:
    """Return the refusal of a first request without a token.

    Raises:
        NotTested: it is not refused for want of a token.
    """
    found = await trial.once(_refused)
    if found.opening.status != UNAUTHORIZED and found.challenge is None:
        raise NotTested(NO_TOKEN_WANTED)
    return found


async def _refused(trial: ServerTrial) -> _Stranger:
    client = _without_token(trial)
    frame = client.opening_frame()
    opening = await _exchanged(
        trial, client, "POST", client.encoded(frame), headers=client.headers(frame)
    )
    if opening.head is None:
        return _Stranger(opening, None)
    return _Stranger(opening, _bearer_params(opening.head.headers.get("www-authenticate", "")))


def _without_token(trial: ServerTrial) -> ReferenceClient:
    """Return a client that shows no token, also if the user has given one."""
    client = trial.unopened(is_judged=False)
    http_of(client).withhold("authorization", "dpop")
    return client


async def _exchanged(
    trial: ServerTrial,
    client: ReferenceClient,
    method: str,
    body: bytes | None = None,
    *,
    headers: Mapping[str, str],
    path: str | None = None,
) -> PeerExchange:
    """Send a request, and return its exchange with the response as far as it is needed."""
    wire: HttpWire = http_of(client)
    number = await wire.exchange(method, body, headers, path)
    head = await wire.response(number, trial.timeout_s)
    if head is not None and head.headers.get("content-type", "").startswith("text/event-stream"):
        wire.hang_up(number)
    await wire.ended(number, trial.timeout_s)
    return exchange_of(client, number)


# --- refusals ---


@probe("authorization:challenge:unauthorized", needs_opening=False)
async def a_request_without_a_token_gets_status_401(trial: ServerTrial) -> None:
    stranger = await the_refusal(trial)
    expected = "a request without a token gets status 401"
    if stranger.opening.status != UNAUTHORIZED:
        trial.broken(expected, stranger.opening.shown, *stranger.opening.evidence)
    client = _without_token(trial)
    frame = client.harmless_frame()
    listens = {"accept": "text/event-stream"}
    for method, body, headers in (
        ("POST", client.encoded(frame), client.headers(frame)),
        ("GET", None, {**client.headers(b""), **listens}),
    ):
        found = await _exchanged(trial, client, method, body, headers=headers)
        if 200 <= found.status < 300:
            trial.broken(expected, f"a {method} gets {found.shown}", *found.evidence)
    await _in_a_session(trial, expected)


async def _in_a_session(trial: ServerTrial, expected: str) -> None:
    """Judge a request without a token in a session that was opened with the user's."""
    if not http_of(trial.unopened(is_judged=False)).has_credentials:
        return
    client = await trial.fresh(is_judged=False)
    if client.session_id is None:
        return
    http_of(client).withhold("authorization", "dpop")
    frame = client.harmless_frame()
    body = client.encoded(frame)
    found = await _exchanged(trial, client, "POST", body, headers=client.headers(frame))
    if 200 <= found.status < 300:
        came = f"in a session that was opened with one it gets {found.shown}"
        trial.broken(expected, came, *found.evidence)


@probe("authorization:challenge:expired", needs_opening=False)
async def a_token_that_is_none_gets_status_401(trial: ServerTrial) -> None:
    await the_refusal(trial)
    client = _without_token(trial)
    frame = client.opening_frame()
    headers = {**client.headers(frame), "Authorization": f"Bearer {GARBAGE}"}
    found = await _exchanged(trial, client, "POST", client.encoded(frame), headers=headers)
    if found.status != UNAUTHORIZED:
        trial.broken("a token that nobody issued gets status 401", found.shown, *found.evidence)
        return
    assert found.head is not None
    told = _bearer_params(found.head.headers.get("www-authenticate", "")) or {}
    error = told.get("error", "invalid_token")
    if error != "invalid_token":
        expected = "the challenge to a token that nobody issued has the error `invalid_token`"
        trial.broken(expected, f"it has {error!r}", *found.evidence)


@probe("authorization:challenge:metadata", needs_opening=False)
async def the_challenge_names_the_metadata(trial: ServerTrial) -> None:
    stranger = await the_refusal(trial)
    if not (stranger.challenge or {}).get("resource_metadata"):
        expected = "the challenge has `resource_metadata`, the URL of the metadata"
        trial.broken(expected, _shown(stranger), *stranger.opening.evidence)


@probe("authorization:challenge:scope", needs_opening=False)
async def the_challenge_names_scopes(trial: ServerTrial) -> None:
    stranger = await the_refusal(trial)
    if (stranger.challenge or {}).get("scope", "").strip():
        return
    document = await the_document(trial)
    if not member(document.value if document else None, "scopes_supported"):
        raise NotTested("the server names no scopes at all")
    expected = "the challenge has `scope`: the scopes that are needed"
    trial.broken(expected, _shown(stranger), *stranger.opening.evidence)


@probe("authorization:challenge:no-offline-access", needs_opening=False)
async def no_refresh_token_is_asked_for(trial: ServerTrial) -> None:
    stranger = await the_refusal(trial)
    expected = f"`{REFRESH_SCOPE}` is no scope of a server: clients ask for it"
    if REFRESH_SCOPE in (stranger.challenge or {}).get("scope", "").split():
        trial.broken(expected, "the challenge names it", *stranger.opening.evidence)
    document = await the_document(trial)
    scopes = member(document.value if document else None, "scopes_supported")
    if document is not None and is_array(scopes) and REFRESH_SCOPE in scopes:
        came = "the metadata have it in `scopes_supported`"
        trial.broken(expected, came, *document.evidence, where="$.scopes_supported")


def _bearer_params(header: str) -> Mapping[str, str] | None:
    """Return the parameters of the first challenge for bearer tokens; None if there is none."""
    found = (one for one in parse_challenges(header) if one.scheme == "bearer")
    first = next(found, None)
    return None if first is None else first.params


def _shown(stranger: _Stranger) -> str:
    head = stranger.opening.head
    line = head.headers.get("www-authenticate", "") if head else ""
    return f"it is {line!r}" if line else "there is no challenge"


# --- metadata ---


async def the_document(trial: ServerTrial) -> _Document | None:
    """Return the metadata of the server, or what is in their place; None if nothing is there.

    Raises:
        NotTested: the server wants no token, or the metadata are at another origin.
    """
    await the_refusal(trial)
    return await trial.once(_fetched)


async def _fetched(trial: ServerTrial) -> _Document | None:
    stranger = await the_refusal(trial)
    client = _without_token(trial)
    url = http_of(client).url
    elsewhere = ""
    for place in dict.fromkeys(_places(url, stranger.challenge or {})):
        if not _is_at_origin(place, url):
            # Nobody but the server has named it: the user's machine asks for no such URL.
            elsewhere = place
            continue
        headers = {"accept": "application/json"}
        found = await _exchanged(trial, client, "GET", headers=headers, path=place)
        if found.status == 200 and not found.is_stream:
            return _Document(_json_of(found), found.evidence)
    if elsewhere:
        raise NotTested("the metadata are at another origin, which is not asked")
    return None


def _places(url: str, challenge: Mapping[str, str]) -> Iterator[str]:
    """Yield the URLs at which clients look for metadata, in their order."""
    if challenge.get("resource_metadata"):
        yield urljoin(url, challenge["resource_metadata"])
    yield urljoin(url, WELL_KNOWN + urlsplit(url).path.rstrip("/"))
    yield urljoin(url, WELL_KNOWN)


def _is_at_origin(place: str, url: str) -> bool:
    try:
        return origin_of(place) == origin_of(url)
    except Exception:
        return False


def _json_of(found: PeerExchange) -> Any:
    last = found.messages[-1].data if found.messages else found.ended.data if found.ended else b""
    try:
        return msgspec.json.decode(last)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


async def the_metadata(trial: ServerTrial) -> tuple[Json, tuple[WireEvent, ...]]:
    """Return the metadata of the server, with their evidence.

    Raises:
        NotTested: there are none, which other checks tell.
    """
    document = await the_document(trial)
    if document is None or not is_object(document.value):
        raise NotTested("the server has no metadata of the resource")
    return document.value, document.evidence


@probe("authorization:metadata:found", needs_opening=False)
async def the_metadata_can_be_found(trial: ServerTrial) -> None:
    stranger = await the_refusal(trial)
    if await the_document(trial) is None:
        expected = f"metadata where the challenge says, or at {WELL_KNOWN}"
        trial.broken(expected, "there are none", *stranger.opening.evidence)


@probe("authorization:metadata", needs_opening=False)
async def there_is_metadata_of_the_server(trial: ServerTrial) -> None:
    stranger = await the_refusal(trial)
    document = await the_document(trial)
    expected = "metadata: a JSON object with `resource`, the URL of the server"
    if document is None:
        if trial.revision in requirements()[FOUND].revisions:
            raise NotTested("the metadata were not found")
        trial.broken(expected, "there are none", *stranger.opening.evidence)
        return
    resource = member(document.value, "resource")
    url = http_of(trial.unopened(is_judged=False)).url
    if not isinstance(resource, str):
        came = "they have no `resource`" if is_object(document.value) else "it is no JSON object"
        trial.broken(expected, came, *document.evidence)
    elif not _covers(resource, url):
        trial.broken(expected, f"it is {resource!r}", *document.evidence, where="$.resource")


def _covers(resource: str, url: str) -> bool:
    """Return True if a resource is a URL, or one above it at its origin."""
    wide, narrow = urlsplit(resource), urlsplit(url)
    is_above = f"{narrow.path.rstrip('/')}/".startswith(f"{wide.path.rstrip('/')}/")
    return _is_at_origin(resource, url) and is_above


@probe("authorization:metadata:servers", needs_opening=False)
async def the_metadata_name_an_authorization_server(trial: ServerTrial) -> None:
    metadata, evidence = await the_metadata(trial)
    servers = metadata.get("authorization_servers")
    is_good = is_array(servers) and servers and all(_is_url(one) for one in servers)
    if not is_good:
        came = "there is none" if servers is None else f"it is {servers!r}"[:200]
        expected = "`authorization_servers` has the issuer of one at least"
        trial.broken(expected, came, *evidence, where="$.authorization_servers")


def _is_url(value: Any) -> bool:
    return isinstance(value, str) and urlsplit(value).scheme in ("http", "https")
