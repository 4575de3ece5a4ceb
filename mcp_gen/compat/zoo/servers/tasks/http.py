"""Servers that break the rules of tasks over HTTP, and their twins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_gen.compat.method_names import python_name
from mcp_gen.compat.reference.http.endpoint import ReferenceEndpoint
from mcp_gen.compat.zoo.zoo import breaks, keeps

if TYPE_CHECKING:
    from mcp_gen.compat.reference.http.exchanges import EndpointRequest


class _Streams(ReferenceEndpoint):
    """Answers another kind of request with streams, too."""

    streamed = ""
    """Python name of the request."""

    def is_call(self, request: EndpointRequest) -> bool:
        """Return True also for such requests."""
        names = [python_name(str(one["method"])) for one in request.requests]
        return super().is_call(request) or names == [self.streamed]


@breaks("tasks:http")
class DisconnectEndsTasks(ReferenceEndpoint):
    """Cancels a task when its client disconnects from the request for its result."""

    def disconnected(self, request: EndpointRequest) -> None:
        super().disconnected(request)
        session = request.session
        for one in request.requests if session else ():
            if session and python_name(str(one["method"])) == "get_task_payload":
                session.server.stop_task(session.server.tasks[one["params"]["taskId"]])


@keeps("tasks:http")
class StreamsResults(_Streams):
    """Opens a stream at once for the result of a task."""

    streamed = "get_task_payload"


@breaks("tasks:http:polling")
class StreamsStates(_Streams):
    """Answers requests for the state of a task with a stream."""

    streamed = "get_task"


@keeps("tasks:http:polling")
class StreamsLists(_Streams):
    """Answers requests for the list of tasks with a stream."""

    streamed = "list_tasks"
