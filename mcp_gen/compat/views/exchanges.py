"""Exchanges of a transcript: requests of the client with their answers, and lists by page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from mcp_gen.compat.json_values import Json, is_array, is_object, member
from mcp_gen.compat.method_names import python_name

if TYPE_CHECKING:
    from mcp_gen.compat.transcript import Transcript, WireEvent, WireFrame

__all__ = ["LISTS", "ListWalk", "ListedItem", "RequestExchange", "exchanges", "items", "listings"]

LISTS = {
    "list_tools": ("tools", "name"),
    "list_prompts": ("prompts", "name"),
    "list_resources": ("resources", "uri"),
    "list_resource_templates": ("resourceTemplates", "uriTemplate"),
}
"""Member of a list result, and the member that identifies its items, by the method's name."""


class RequestExchange(NamedTuple):
    """One request of the client, and its answer.

    Attributes:
        name: Python name of the method; empty for one that no revision has.
        asked: The message with the request.
        request: The request.
        answered: The message with the answer; None if none came.
        answer: The answer; empty if none came.
        path: JSON path of the answer in its message: `$`, or that of an entry of a batch.
    """

    name: str
    asked: WireEvent
    request: Json
    answered: WireEvent | None
    answer: Json
    path: str = "$"

    @property
    def params(self) -> Json:
        """The params; empty if there are none."""
        found = self.request.get("params")
        return found if is_object(found) else {}

    @property
    def result(self) -> Json | None:
        """The result; None if there is none."""
        found = self.answer.get("result")
        return found if is_object(found) else None

    @property
    def complete(self) -> Json | None:
        """The result, unless it asks for input first; None if there is none."""
        found = self.result
        return None if found is None or found.get("resultType") == "input_required" else found

    @property
    def error(self) -> Json | None:
        """The error; None if there is none."""
        found = self.answer.get("error")
        return found if is_object(found) else None

    @property
    def events(self) -> tuple[WireEvent, ...]:
        """The messages, as evidence."""
        return (self.asked,) if self.answered is None else (self.asked, self.answered)


class ListedItem(NamedTuple):
    """One item of a list: a tool, a prompt, a resource, a template.

    Attributes:
        exchange: The exchange whose result has it.
        where: JSON path of it in the answer.
        value: The item.
    """

    exchange: RequestExchange
    where: str
    value: Json

    @property
    def id(self) -> str:
        """Name or URI of the item, as text."""
        return str(self.value.get(LISTS[self.exchange.name][1]))


class ListWalk(NamedTuple):
    """One walk through a list, from its first page to its last.

    Attributes:
        name: Python name of the method.
        pages: The exchanges, one per page.
        is_whole: True if the last page says that it is the last.
    """

    name: str
    pages: tuple[RequestExchange, ...]
    is_whole: bool

    def items(self) -> list[ListedItem]:
        """Return the items of all pages."""
        return [item for page in self.pages for item in _items_of(page)]

    def ids(self) -> list[str]:
        """Return what identifies the items: their names or URIs."""
        return [item.id for item in self.items()]


def exchanges(transcript: Transcript, *names: str) -> list[RequestExchange]:
    """Return the requests of the client, in order, with their answers.

    Args:
        transcript: The transcript.
        names: Python names of the methods; none for all.
    """
    if names:
        return [one for one in transcript.derived(exchanges) if one.name in names]
    found: list[RequestExchange] = []
    waiting: dict[tuple[type, Any], int] = {}
    for frame in transcript.frames():
        key = _id_of(frame)
        if key is None:
            continue
        is_request = "method" in frame.members
        if is_request and frame.event.sender == "client":
            name = python_name(str(frame.members["method"])) or ""
            waiting[key] = len(found)
            found.append(RequestExchange(name, frame.event, frame.members, None, {}))
        elif not is_request and frame.event.sender == "server" and key in waiting:
            number = waiting.pop(key)
            found[number] = found[number]._replace(
                answered=frame.event, answer=frame.members, path=_path_of(frame)
            )
    return found


def items(transcript: Transcript, name: str) -> Iterator[ListedItem]:
    """Yield the items of all list results of one method."""
    for exchange in exchanges(transcript, name):
        yield from _items_of(exchange)


def listings(transcript: Transcript, name: str) -> list[ListWalk]:
    """Return the walks through a list: each begins without a cursor, and follows the cursors."""
    found: list[list[RequestExchange]] = []
    for page in exchanges(transcript, name):
        if page.complete is None:
            continue
        cursor = page.params.get("cursor")
        if cursor is None:
            found.append([page])
            continue
        for walk in reversed(found):
            if member(walk[-1].result, "nextCursor") == cursor:
                walk.append(page)
                break
    return [
        ListWalk(name, tuple(walk), member(walk[-1].result, "nextCursor") is None) for walk in found
    ]


def _items_of(page: RequestExchange) -> Iterator[ListedItem]:
    key = LISTS[page.name][0]
    listed = member(page.result, key)
    for number, value in enumerate(listed if is_array(listed) else ()):
        if is_object(value):
            yield ListedItem(page, f"{page.path}.result.{key}[{number}]", value)


def _id_of(frame: WireFrame) -> tuple[type, Any] | None:
    id = frame.members.get("id")
    return (type(id), id) if isinstance(id, int | str) else None


def _path_of(frame: WireFrame) -> str:
    message = frame.event.message
    if not is_array(message):
        return "$"
    return f"$[{next(n for n, one in enumerate(message) if one is frame.members)}]"
