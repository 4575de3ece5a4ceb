"""Endpoints that break the rules of connections and sessions, and their twins."""

from __future__ import annotations

import secrets

from mcp_gen.compat.json_values import Json, objects
from mcp_gen.compat.reference.call import Failure, ReferenceCall
from mcp_gen.compat.reference.http.endpoint import ReferenceEndpoint
from mcp_gen.compat.reference.http.exchanges import EndpointRequest, EndpointResponse
from mcp_gen.compat.reference.http.sessions import ReferenceSession
from mcp_gen.compat.reference.http.streams import SentEvent
from mcp_gen.compat.reference.server import ReferenceServer
from mcp_gen.compat.zoo.zoo import breaks, keeps
from mcp_wire import REVISIONS
from mcp_wire import profile as profile_of


@breaks("http:origin")
class AnyOrigin(ReferenceEndpoint):
    """Answers the pages of every site."""

    def check_origin(self, request: EndpointRequest) -> EndpointResponse | None:
        return None


@keeps("http:origin")
class NoOriginAtAll(ReferenceEndpoint):
    """Refuses every request that has an origin, also one of this machine."""

    def check_origin(self, request: EndpointRequest) -> EndpointResponse | None:
        return EndpointResponse(status=403) if "origin" in request.headers else None


@breaks("http:origin:refused")
class OriginAsBadRequest(ReferenceEndpoint):
    """Refuses a wrong origin with another status."""

    def check_origin(self, request: EndpointRequest) -> EndpointResponse | None:
        return super().check_origin(request) and EndpointResponse(status=400)


@keeps("http:origin:refused")
class OriginRefusedInWords(ReferenceEndpoint):
    """Refuses a wrong origin in words, not with a message."""

    def check_origin(self, request: EndpointRequest) -> EndpointResponse | None:
        return super().check_origin(request) and EndpointResponse(
            status=403, headers={"content-type": "text/plain"}, body=b"Forbidden"
        )


@breaks("http:loopback")
class AllInterfaces(ReferenceEndpoint):
    """Listens on all interfaces."""

    host = "0.0.0.0"


@keeps("http:loopback")
class LoopbackAlone(ReferenceEndpoint):
    """Listens on the loopback interface, and looks at the name that it is called by as well."""

    def check_path(self, request: EndpointRequest) -> EndpointResponse | None:
        is_called_so = request.headers.get("host", "").startswith(f"{self.host}:")
        return super().check_path(request) if is_called_so else EndpointResponse(status=421)


# --- two endpoints ---


@breaks("http:sse:endpoints")
class AnswersInPlace(ReferenceEndpoint):
    """Answers in the response to a message, not on the stream."""

    async def respond_in_pair(self, request: EndpointRequest) -> EndpointResponse:
        call = self.profile.call_tool
        if call is not None and request.names(call.name):
            return await self.answer(request)
        return await super().respond_in_pair(request)

    def streams_at_once(self, request: EndpointRequest) -> bool:
        return False

    def streams(self, request: EndpointRequest, answer: Json) -> bool:
        return False


@keeps("http:sse:endpoints")
class TakenInWords(ReferenceEndpoint):
    """Says in the response to a message that it was taken."""

    def accepted(self, request: EndpointRequest) -> EndpointResponse:
        headers = {"content-type": "text/plain"}
        return EndpointResponse(status=202, headers=headers, body=b"Accepted")


@breaks("http:sse:endpoint-event")
class QuotedEndpoint(ReferenceEndpoint):
    """Says where messages go in JSON."""

    def endpoint_event(self, client: ReferenceSession) -> SentEvent:
        event = super().endpoint_event(client)
        return SentEvent(b'"%b"' % (event.data or b""), event.fields)


@keeps("http:sse:endpoint-event")
class RelativeEndpoint(ReferenceEndpoint):
    """Says where messages go with a reference that is relative to the stream's."""

    def endpoint_event(self, client: ReferenceSession) -> SentEvent:
        event = super().endpoint_event(client)
        return SentEvent((event.data or b"").removeprefix(b"/"), event.fields)


# --- sessions ---


@breaks("http:session:ascii")
class SessionWithSpaces(ReferenceEndpoint):
    """Gives sessions ids of two words."""

    def session_id(self) -> str:
        return f"session {super().session_id()}"


@keeps("http:session:ascii")
class SessionWithSigns(ReferenceEndpoint):
    """Gives sessions ids with signs at both ends of visible ASCII."""

    def session_id(self) -> str:
        return f"!~{super().session_id()}~!"


@breaks("http:session:secure")
class CountedSessions(ReferenceEndpoint):
    """Counts its sessions."""

    def session_id(self) -> str:
        return f"session-{len(self.clients):08}"


@keeps("http:session:secure")
class NumberedSessions(ReferenceEndpoint):
    """Gives sessions large numbers at random."""

    def session_id(self) -> str:
        return str(secrets.randbits(128))


@breaks("http:session:missing")
class SessionMissingAsUnknown(ReferenceEndpoint):
    """Answers a request without a session as if it named an unknown one."""

    def no_session_named(self, request: EndpointRequest) -> EndpointResponse:
        return self.no_such_session(request)


@keeps("http:session:missing")
class SessionMissingInWords(ReferenceEndpoint):
    """Refuses a request without a session in words."""

    def no_session_named(self, request: EndpointRequest) -> EndpointResponse:
        headers = {"content-type": "text/plain"}
        return EndpointResponse(status=400, headers=headers, body=b"Which session?")


@breaks("http:session:ended")
class SessionEndedAsBadRequest(ReferenceEndpoint):
    """Refuses a session that has ended with another status."""

    def no_such_session(self, request: EndpointRequest) -> EndpointResponse:
        return EndpointResponse(status=400)


@keeps("http:session:ended")
class SessionEndedWithoutWords(ReferenceEndpoint):
    """Refuses a session that has ended without a message, and takes its end with status 204."""

    def no_such_session(self, request: EndpointRequest) -> EndpointResponse:
        return EndpointResponse(status=404)

    async def delete(self, request: EndpointRequest) -> EndpointResponse:
        response = await super().delete(request)
        return EndpointResponse(status=204) if response.status == 200 else response


# --- versions ---


@breaks("http:version:unsupported")
class AnyVersion(ReferenceEndpoint):
    """Does not look at the header with the version."""

    def check_version(self, request: EndpointRequest) -> EndpointResponse | None:
        return None


@keeps("http:version:unsupported")
class VersionRefusedInWords(ReferenceEndpoint):
    """Refuses a version in words."""

    def check_version(self, request: EndpointRequest) -> EndpointResponse | None:
        return super().check_version(request) and EndpointResponse(
            status=400, headers={"content-type": "text/plain"}, body=b"Which version?"
        )


class TwoRevisions(ReferenceServer):
    """Speaks the revision that is assumed without a version header as well."""

    async def initialize(self, call: ReferenceCall) -> Json:
        result = await super().initialize(call)
        asked = call.params["protocolVersion"]
        is_assumed = asked in REVISIONS and profile_of(asked).assumed_without_version_header
        return {**result, "protocolVersion": asked} if is_assumed else result

    def task_capabilities(self) -> Json:
        # Without sessions nobody can say whose tasks they are.
        declared = super().task_capabilities()
        for of_core in objects([declared.get("tasks")]):
            of_core.pop("list")
        return declared

    async def list_tasks(self, call: ReferenceCall) -> Json:
        raise Failure(self.profile.errors.method_not_found, "Method not found")


@keeps("http:version:assumed")
class WithoutSessions(ReferenceEndpoint):
    """Has no sessions, and answers where no version is named."""

    def new_server(self) -> ReferenceServer:
        return TwoRevisions(self.profile.revision)

    def client_of(self, request: EndpointRequest) -> ReferenceSession | None:
        return self.clients[0] if self.clients else self.new_client("")

    def check_session(self, request: EndpointRequest) -> EndpointResponse | None:
        return None

    def answer_response(self, request: EndpointRequest, answer: Json) -> EndpointResponse:
        response = super().answer_response(request, answer)
        response.headers.pop(str(self.profile.session_header), None)
        return response


@breaks("http:version:assumed")
class VersionDemanded(WithoutSessions):
    """Has no sessions, and refuses what names no version."""

    def check_version(self, request: EndpointRequest) -> EndpointResponse | None:
        header = str(self.profile.version_header).lower()
        if header in request.headers or self.is_opening(request):
            return super().check_version(request)
        return EndpointResponse(status=400)
