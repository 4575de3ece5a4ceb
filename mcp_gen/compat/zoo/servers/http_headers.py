"""Endpoints that break the rules of headers and statuses, and their twins."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from mcp_gen.compat.json_values import Json, member
from mcp_gen.compat.reference.call import Failure, ReferenceCall
from mcp_gen.compat.reference.http.endpoint import ReferenceEndpoint
from mcp_gen.compat.reference.http.exchanges import EndpointRequest, EndpointResponse
from mcp_gen.compat.reference.http.header_checks import metadata_version
from mcp_gen.compat.reference.http.listening import HOST
from mcp_gen.compat.reference.server import ReferenceServer
from mcp_gen.compat.zoo.zoo import breaks, keeps

# --- versions ---


@breaks("http:version:unsupported-listed")
class UnsupportedWithoutWords(ReferenceEndpoint):
    """Refuses a version with a status alone."""

    def check_version(self, request: EndpointRequest) -> EndpointResponse | None:
        if metadata_version(self.profile, request.message) in (None, self.profile.revision):
            return super().check_version(request)
        return super().check_version(request) or EndpointResponse(status=400)


@keeps("http:version:unsupported-listed")
class UnsupportedByHeader(ReferenceEndpoint):
    """Refuses a version by the header alone, before it looks at the body."""

    def check_version(self, request: EndpointRequest) -> EndpointResponse | None:
        header = str(self.profile.version_header).lower()
        said = request.headers.get(header)
        if said not in (None, self.profile.revision):
            return self.refused(400, self.unsupported(said), request.id)
        return super().check_version(request)


@breaks("http:version:mismatch")
class TwoVersions(ReferenceEndpoint):
    """Looks at the version of the body alone."""

    def check_version(self, request: EndpointRequest) -> EndpointResponse | None:
        header = str(self.profile.version_header).lower()
        return None if header in request.headers else super().check_version(request)


@keeps("http:version:mismatch")
class MismatchWithoutId(ReferenceEndpoint):
    """Refuses two versions with more data about it."""

    def mismatch(self, header: str) -> Failure:
        failure = super().mismatch(header)
        return Failure(failure.code, failure.message, {**(failure.data or {}), "header": header})


@breaks("http:version:missing")
class NoVersionNeeded(ReferenceEndpoint):
    """Answers requests without a version."""

    def check_version(self, request: EndpointRequest) -> EndpointResponse | None:
        header = str(self.profile.version_header).lower()
        return super().check_version(request) if header in request.headers else None


@keeps("http:version:missing")
class VersionsListed(ReferenceEndpoint):
    """Refuses requests without a version, and says which it speaks."""

    def mismatch(self, header: str) -> Failure:
        failure = super().mismatch(header)
        return Failure(failure.code, failure.message, {"supported": [self.profile.revision]})


@breaks("http:status-400")
class UnsupportedWithStatus200(ReferenceEndpoint):
    """Refuses a version with status 200."""

    def status_of(self, request: EndpointRequest, answer: Json) -> int:
        code = member(answer, "error", "code")
        is_version = code == self.profile.errors.unsupported_protocol_version
        return 200 if is_version else super().status_of(request, answer)


@keeps("http:status-400")
class UnsupportedInTheEndpoint(UnsupportedByHeader):
    """Refuses a version before its server sees the request."""


@breaks("http:unknown-method")
class UnknownMethodWithStatus200(ReferenceEndpoint):
    """Says with status 200 that there is no such method."""

    def status_of(self, request: EndpointRequest, answer: Json) -> int:
        found = super().status_of(request, answer)
        return 200 if found == 404 else found


@keeps("http:unknown-method")
class UnknownMethodWithData(ReferenceServer):
    """Says which method there is not."""

    def error_frame(self, id: Any, failure: Failure) -> Json:
        frame = super().error_frame(id, failure)
        if failure.code == self.profile.errors.method_not_found:
            frame["error"]["data"] = {"hint": "look at the list of methods"}
        return frame


@breaks("base:metadata:missing-status")
class MetadataMissingWithStatus200(ReferenceEndpoint):
    """Refuses a request without its metadata with status 200."""

    def lacks_metadata(self, request: EndpointRequest) -> bool:
        return False


@keeps("base:metadata:missing-status")
class EveryInvalidParamWithStatus400(ReferenceEndpoint):
    """Refuses all wrong params with status 400."""

    def status_of(self, request: EndpointRequest, answer: Json) -> int:
        is_wrong = member(answer, "error", "code") == self.profile.errors.invalid_params
        return 400 if is_wrong else super().status_of(request, answer)


class NeedsCapabilities(ReferenceServer):
    """Refuses calls that need a capability which the client has not declared."""

    async def asked(self, call: ReferenceCall, capability: str, name: str, params: Json) -> Json:
        code = self.profile.errors.missing_required_client_capability
        if capability in self.client_capabilities or code is None:
            return await super().asked(call, capability, name, params)
        data: Json = {"requiredCapabilities": {capability: {}}}
        raise Failure(code, f"Missing capability: {capability}", data)


@breaks("base:metadata:capability-status")
class CapabilityMissingWithStatus200(ReferenceEndpoint):
    """Refuses a call for lack of a capability with status 200."""

    def new_server(self) -> ReferenceServer:
        return NeedsCapabilities(self.profile.revision)

    def status_of(self, request: EndpointRequest, answer: Json) -> int:
        code = self.profile.errors.missing_required_client_capability
        is_missing = member(answer, "error", "code") == code
        return 200 if is_missing else super().status_of(request, answer)


@keeps("base:metadata:capability-status")
class CapabilityMissing(ReferenceEndpoint):
    """Refuses a call for lack of a capability as it should."""

    def new_server(self) -> ReferenceServer:
        return NeedsCapabilities(self.profile.revision)


# --- headers and body ---


class MarkedTools(ReferenceServer):
    """Has tools with arguments that headers repeat."""

    def tools(self) -> list[Json]:
        return [self.marked(one) for one in super().tools()]

    def marked(self, tool: Json) -> Json:
        """Return a tool with marks, if it is one that has some."""
        marks: dict[str, Json] = {
            "echo": {"volume": {"type": "integer", "x-mcp-header": "Volume"}},
            "count": {"steps": {"type": "integer", "x-mcp-header": "Steps"}},
        }
        schema = tool["inputSchema"]
        properties = {**schema["properties"], **marks.get(tool["name"], {})}
        return {**tool, "inputSchema": {**schema, "properties": properties}}


class MarkedEndpoint(ReferenceEndpoint):
    """Endpoint of a server whose tools have arguments that headers repeat."""

    def new_server(self) -> ReferenceServer:
        return MarkedTools(self.profile.revision)

    def header(self, request: EndpointRequest, name: str | None) -> str | None:
        """Return a header of a request; None for none."""
        return request.headers.get(str(name).lower())


@breaks("http:headers:decoded")
class EncodedNamesRefused(MarkedEndpoint):
    """Refuses an encoded name that could have been sent as it is."""

    def check_headers(self, request: EndpointRequest) -> EndpointResponse | None:
        given = self.header(request, self.profile.name_header) or ""
        name = member(request.message, "params", "name")
        if given.startswith("=?base64?") and isinstance(name, str) and name.isascii():
            failure = self.mismatch(str(self.profile.name_header))
            return self.refused(400, failure, request.id)
        return super().check_headers(request)


@keeps("http:headers:decoded")
class SpacesAroundNames(MarkedEndpoint):
    """Takes names with spaces around them as well."""

    def check_headers(self, request: EndpointRequest) -> EndpointResponse | None:
        kept = {name: value.strip() for name, value in request.headers.items()}
        request.headers = kept
        return super().check_headers(request)


@breaks("http:headers:invalid")
class LettersAsTheyAre(MarkedEndpoint):
    """Takes names in UTF-8 as they are."""

    def check_headers(self, request: EndpointRequest) -> EndpointResponse | None:
        given = self.header(request, self.profile.name_header) or ""
        as_sent = given.encode("latin-1").decode("utf-8", "replace")
        if not given.isascii() and as_sent == member(request.message, "params", "name"):
            return None
        return super().check_headers(request)


@keeps("http:headers:invalid")
class LettersRefusedInWords(MarkedEndpoint):
    """Refuses other letters without a look at the body."""

    def check_headers(self, request: EndpointRequest) -> EndpointResponse | None:
        if not all(value.isascii() for value in request.headers.values()):
            failure = self.mismatch("letters of ASCII are needed")
            return self.refused(400, failure, request.id)
        return super().check_headers(request)


@breaks("http:headers:compared")
class HeadersIgnored(MarkedEndpoint):
    """Does not look at the header with the method."""

    def check_headers(self, request: EndpointRequest) -> EndpointResponse | None:
        header = str(self.profile.method_header).lower()
        method = member(request.message, "method")
        request.headers = {**request.headers, header: str(method)}
        return super().check_headers(request)


@keeps("http:headers:compared")
class HeadersCompared(MarkedEndpoint):
    """Compares headers of arguments, too."""


@breaks("http:headers:refusal")
class MismatchAsInvalidRequest(MarkedEndpoint):
    """Refuses headers with the error for invalid requests."""

    def check_headers(self, request: EndpointRequest) -> EndpointResponse | None:
        refusal = super().check_headers(request)
        wrong = Failure(self.profile.errors.invalid_request, "Wrong headers")
        return refusal and self.refused(400, wrong, request.id)


@keeps("http:headers:refusal")
class MismatchWithoutIds(MarkedEndpoint):
    """Refuses headers with an error without an id, before it reads the body."""

    def refused(self, status: int, failure: Failure, id: Any = None) -> EndpointResponse:
        return super().refused(status, failure, None)


@breaks("http:headers:absent")
class HeadersDemanded(MarkedEndpoint):
    """Demands the header of an argument that a call does not have."""

    def check_headers(self, request: EndpointRequest) -> EndpointResponse | None:
        is_echo = member(request.message, "params", "name") == "echo"
        header = f"{self.profile.param_header_prefix}Volume"
        if is_echo and self.is_call(request) and self.header(request, header) is None:
            return self.refused(400, self.mismatch(header), request.id)
        return super().check_headers(request)


@keeps("http:headers:absent")
class HeadersNotDemanded(MarkedEndpoint):
    """Takes calls without arguments that a header would repeat."""


@breaks("http:headers:numbers")
class NumbersAsWritten(MarkedEndpoint):
    """Compares integers as texts."""

    def check_headers(self, request: EndpointRequest) -> EndpointResponse | None:
        header = f"{self.profile.param_header_prefix}Steps"
        given = self.header(request, header)
        if given is not None and not re.fullmatch("-?[0-9]+", given):
            return self.refused(400, self.mismatch(header), request.id)
        return super().check_headers(request)


@keeps("http:headers:numbers")
class NumbersAsNumbers(MarkedEndpoint):
    """Compares integers as numbers."""


@breaks("http:param-headers")
class MarksOnNumbers(ReferenceServer):
    """Marks an argument that no header can repeat."""

    def mark(self) -> Json:
        """Return the schema of the argument."""
        return {"type": "number", "x-mcp-header": "Seconds"}

    def tools(self) -> list[Json]:
        schema = {"type": "object", "properties": {"seconds": self.mark()}}
        return [
            {**one, "inputSchema": schema} if one["name"] == "wait" else one
            for one in super().tools()
        ]


@keeps("http:param-headers")
class MarksInObjects(MarksOnNumbers):
    """Marks an argument inside of an object, with all signs that a header's name may have."""

    def mark(self) -> Json:
        whole = {"type": "integer", "x-mcp-header": "A!#$%&'*+-.^_`|~9"}
        return {"type": "object", "properties": {"whole": whole}}


@breaks("http:older-clients")
class GetAsNotFound(ReferenceEndpoint):
    """Says of a GET that there is nothing."""

    def no_such_method(self, request: EndpointRequest) -> EndpointResponse:
        return EndpointResponse(status=404)


@keeps("http:older-clients")
class MethodsAllowed(ReferenceEndpoint):
    """Says which methods there are."""

    def no_such_method(self, request: EndpointRequest) -> EndpointResponse:
        return EndpointResponse(status=405, headers={"allow": "POST, OPTIONS"})


class Relayed(ReferenceEndpoint):
    """Endpoint behind a relay that sees the names of headers as they were sent."""

    @asynccontextmanager
    async def serving(self, port: int = 0) -> AsyncGenerator[str, None]:
        async with super().serving() as url:
            behind = urlsplit(url)
            relays: set[asyncio.Task[Any]] = set()

            async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                there, back = await asyncio.open_connection(behind.hostname, behind.port)
                relays.add(asyncio.create_task(self._forward(reader, back)))
                relays.add(asyncio.create_task(_copy(there, writer)))

            server = await asyncio.start_server(relay, HOST, port)
            bound = server.sockets[0].getsockname()[1]
            try:
                yield urlunsplit(behind._replace(netloc=f"{HOST}:{bound}"))
            finally:
                server.close()
                for task in relays:
                    task.cancel()
                await asyncio.gather(*relays, return_exceptions=True)

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = re.search(rb"\r\ncontent-length: *([0-9]+)", head, re.IGNORECASE)
                body = await reader.readexactly(int(length[1]) if length else 0)
                writer.write(self.spelled(head) + body)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # The client has no more requests.
        finally:
            writer.close()

    def spelled(self, head: bytes) -> bytes:
        """Return the head of a request as the endpoint gets it."""
        return head


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65_536):
            writer.write(data)
    finally:
        writer.close()


@breaks("http:headers:case")
class NamesInOneCase(Relayed):
    """Knows the names of headers in one case alone."""

    def spelled(self, head: bytes) -> bytes:
        odd = rb"\r\n(?=[a-z]+[A-Z])"
        return re.sub(odd, b"\r\nx-", head)


@keeps("http:headers:case")
class NamesInAnyCase(Relayed):
    """Hands on the names of headers as they are."""
