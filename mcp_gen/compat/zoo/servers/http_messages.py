"""Endpoints that answer a POST wrongly, and their twins."""

from __future__ import annotations

from mcp_gen.compat.json_values import Json, is_object, member
from mcp_gen.compat.reference.http.endpoint import ReferenceEndpoint
from mcp_gen.compat.reference.http.exchanges import EndpointRequest, EndpointResponse
from mcp_gen.compat.zoo.zoo import breaks, keeps


@breaks("http:accepted")
class TakenWithStatus200(ReferenceEndpoint):
    """Takes notifications and answers with status 200."""

    def accepted(self, request: EndpointRequest) -> EndpointResponse:
        return EndpointResponse(status=200)


@keeps("http:accepted")
class TakenWithHeaders(ReferenceEndpoint):
    """Names a content type for the body that there is none of."""

    def accepted(self, request: EndpointRequest) -> EndpointResponse:
        headers = {"content-type": "application/json"}
        return EndpointResponse(status=202, headers=headers)


@breaks("http:not-accepted")
class RefusedWithStatus200(ReferenceEndpoint):
    """Refuses a notification with an error, and status 200."""

    def take(self, request: EndpointRequest) -> EndpointResponse:
        if is_object(request.message) and request.message.get("jsonrpc") != "2.0":
            error: Json = {"code": self.profile.errors.invalid_request, "message": "Invalid"}
            return self.json_response(200, {"jsonrpc": "2.0", "error": error})
        return super().take(request)


@keeps("http:not-accepted")
class RefusedWithoutWords(ReferenceEndpoint):
    """Refuses a notification with a status alone."""

    def take(self, request: EndpointRequest) -> EndpointResponse:
        if member(request.message, "jsonrpc") != "2.0":
            return EndpointResponse(status=422)
        return super().take(request)


@breaks("http:answer-type")
class AnswersAsText(ReferenceEndpoint):
    """Sends JSON as plain text."""

    def answer_response(self, request: EndpointRequest, answer: Json) -> EndpointResponse:
        response = super().answer_response(request, answer)
        if not self.is_opening(request):
            response.headers["content-type"] = "text/plain"
        return response


@keeps("http:answer-type")
class AnswersInCapitals(ReferenceEndpoint):
    """Spells the content type in another way."""

    def answer_response(self, request: EndpointRequest, answer: Json) -> EndpointResponse:
        response = super().answer_response(request, answer)
        response.headers["content-type"] = "Application/JSON; charset=utf-8"
        return response
