"""Openings: each way in which a client may begin with a server, and what comes of it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from mcp_gen.compat.json_values import Json, is_array, member
from mcp_gen.compat.patience import Patience, Waits
from mcp_gen.compat.reference.client import ReferenceClient
from mcp_gen.compat.report.model import Opening
from mcp_gen.core.errors import McpGenError
from mcp_gen.core.revisions import per_request, with_handshake

if TYPE_CHECKING:
    from mcp_gen.compat.checks.trial import Opens
    from mcp_gen.compat.reference.client import ServerReply

__all__ = ["other_openings"]

NO_SUCH_REVISION = "no-such-revision"


class OpeningWay(NamedTuple):
    """One way to open a connection that no client of a single revision takes.

    Args:
        asked: The description of it.
        revision: The revision whose opening is sent.
        names: The revision that is named instead; None for none.
    """

    asked: str
    revision: str
    names: str | None


def ways() -> Sequence[OpeningWay]:
    """Return the ways: without a version, with a wrong one, and with one of the other lifecycle."""
    older, newer = with_handshake()[-1], per_request()[-1]
    return (
        OpeningWay("handshake without a version", older, None),
        OpeningWay("handshake with a version that there is not", older, NO_SUCH_REVISION),
        OpeningWay(f"handshake at {newer}, which has none", older, newer),
        OpeningWay("discovery without a version", newer, None),
        OpeningWay("discovery with a version that there is not", newer, NO_SUCH_REVISION),
        OpeningWay(f"discovery at {older}, which has none", newer, older),
    )


async def other_openings(opens: Opens, patience: Patience) -> tuple[Opening, ...]:
    """Try every way to open a connection that no client of a single revision takes.

    Each gets a connection of its own. The ways of clients of one revision are tried by the
    examination itself.

    Args:
        opens: Makes the wires.
        patience: What is known of the waits for answers of the server.
    """
    return tuple(await asyncio.gather(*(_tried(opens, way, patience) for way in ways())))


async def _tried(opens: Opens, way: OpeningWay, patience: Patience) -> Opening:
    client = ReferenceClient(opens(way.revision), way.revision, waits=Waits(patience))
    frame = _frame(client, way.names)
    try:
        await client.wire.open()
        reply = await client.ask_frame(frame, headers=_headers(client, frame, way.names))
    except McpGenError as error:
        return Opening(asked=way.asked, answer=str(error))
    finally:
        await client.aclose()
    answer, agreed = _outcome(reply)
    return Opening(asked=way.asked, answer=answer, agreed=agreed)


def _frame(client: ReferenceClient, names: str | None) -> Json:
    """Return the opening of a client, with another version or none."""
    profile = client.profile
    if profile.handshake is not None:
        params = _with(client.handshake_params(), "protocolVersion", names)
        return client.request_frame(profile.handshake.name, params)
    assert profile.discover is not None
    assert profile.protocol_version_key is not None
    frame = client.request_frame(profile.discover.name)
    meta = _with(client.request_meta(), profile.protocol_version_key, names)
    return {**frame, "params": {**frame["params"], "_meta": meta}}


def _headers(client: ReferenceClient, frame: Json, names: str | None) -> dict[str, str]:
    """Return HTTP headers that say the same as the frame."""
    headers = client.headers(frame)
    name = client.profile.version_header
    return _with(headers, name, names) if name in headers else headers


def _with(members: Json, key: str, value: str | None) -> Json:
    rest = {name: one for name, one in members.items() if name != key}
    return rest if value is None else {**rest, key: value}


def _outcome(reply: ServerReply) -> tuple[str, str | None]:
    """Return what a server has answered, in one line, and the revision that it agreed on."""
    if reply.error is not None:
        return f"refused: {reply.code} {reply.error.get('message')}", None
    result = reply.result
    if result is None:
        return "no answer" if reply.timed_out else "the connection ended", None
    agreed: Any = result.get("protocolVersion")
    if isinstance(agreed, str):
        return f"offered {agreed}", agreed
    supported = member(result, "supportedVersions")
    if is_array(supported):
        return f"supports {', '.join(map(str, supported)) or 'nothing'}", None
    return "answered without a version", None
