"""Hostile requests to the ASGI app itself, without an HTTP server."""

from __future__ import annotations

from tests.hostile.corpus import Hostile
from tests.hostile.target import USER, App
from tests.hostile.wire import Answer
from tests.support.frames import Speaker
from tests.support.http.asgi import Open, Reply, open_request, request

__all__ = ["sent_to"]

HOST = "127.0.0.1:8000"
LOCAL = ("127.0.0.1", 8000)


async def sent_to(app: App, hostile: Hostile) -> Answer:
    """Return the app's response; afterwards the app is closed."""
    opened: list[Open] = []
    try:
        header, id = await _session(app, hostile, opened)
        named = {name.lower() for name in (*hostile.set, *hostile.drop)}
        named |= {line[0].lower() for line in hostile.add}
        lines = [(name, value) for name, value in header if name.lower() not in named]
        lines += [] if "host" in named else [("Host", HOST)]
        lines += hostile.lines()
        path, _, query = (hostile.path or hostile.base.path).partition("?")
        asked = open_request(
            app,
            hostile.content(),
            method=hostile.method or hostile.base.method,
            path=path,
            query_string=query.replace("SESSION", id).encode(),
            headers_as=[
                (name.lower().encode("latin-1"), _trimmed(value.replace("SESSION", id)))
                for name, value in lines
            ],
            server=LOCAL,
        )
        opened.append(asked)
        reply = await (asked.head() if hostile.stream else asked.whole())
    finally:
        for one in opened:
            one.hang_up()
        await app.aclose()
        for one in opened:
            await one.task
    return Answer(reply.status, reply.headers, reply.body)


def _trimmed(value: str) -> bytes:
    # As every HTTP server does.
    return value.strip(" \t").encode("latin-1")


async def _session(
    app: App, hostile: Hostile, opened: list[Open]
) -> tuple[list[tuple[str, str]], str]:
    """Return the session header of the request, and the id in it."""
    state, speaker = hostile.session_is, Speaker(hostile.base.revision)
    if state == "none":
        return [], ""
    owner = {"host": HOST} | ({USER.decode(): "owner"} if state == "foreign" else {})
    name = speaker.profile.session_header
    if name is None:
        stream = open_request(app, headers=owner, method="GET", path="/sse", server=LOCAL)
        opened.append(stream)
        endpoint = (await stream.event()).data.decode()
        return [], endpoint.rpartition("=")[2]
    begun: Reply = await request(app, speaker.initialize(0), owner, server=LOCAL)
    id = begun.headers[name.lower()]
    if state == "ended":
        await request(app, headers={**owner, name: id}, method="DELETE", server=LOCAL)
    return [(name, id)], id
