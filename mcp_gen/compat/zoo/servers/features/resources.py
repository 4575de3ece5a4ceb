"""Servers that break the rules of resources, and their twins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from mcp_gen.compat.json_values import Json
from mcp_gen.compat.reference.call import Failure, ReferenceCall
from mcp_gen.compat.reference.server import ReferenceServer
from mcp_gen.compat.zoo.zoo import breaks, keeps

if TYPE_CHECKING:
    from mcp_wire.method import Method


class UndeclaredResources(ReferenceServer):
    """Does not declare resources."""

    def capabilities(self) -> Json:
        declared = super().capabilities()
        del declared["resources"]
        return declared

    def resources(self) -> list[Json]:
        return []


@breaks("resources:declared")
class TemplatesThatAreNotDeclared(UndeclaredResources):
    """Has templates and does not say so."""


@keeps("resources:declared")
class NoResourcesAndNoneDeclared(UndeclaredResources):
    """Has neither resources nor templates, and answers with empty lists."""

    def templates(self) -> list[Json]:
        return []


@breaks("resources:list")
class ResourcesThatAreNotListed(ReferenceServer):
    """Declares resources, and fails to list them."""

    async def list_resources(self, call: ReferenceCall) -> Json:
        raise Failure(self.profile.errors.internal_error, "Internal error")


@keeps("resources:list")
class TemplatesAlone(ReferenceServer):
    """Declares resources, and has templates alone."""

    def resources(self) -> list[Json]:
        return []


# --- URIs ---


class OtherReading(ReferenceServer):
    """Reads some URIs in its own way."""

    def takes(self, uri: str) -> bool:
        """Return True for a URI that it reads in its own way."""
        raise NotImplementedError

    def read(self, uri: str) -> list[Json]:
        """Return the contents of such a URI."""
        return [{"uri": uri, "mimeType": "text/plain", "text": "anything"}]

    async def read_resource(self, call: ReferenceCall) -> Json:
        uri = call.params["uri"]
        return (
            {"contents": self.read(uri)} if self.takes(uri) else await super().read_resource(call)
        )


@breaks("resources:uris:valid")
class WordsAsUris(OtherReading):
    """Reads what has no scheme."""

    def takes(self, uri: str) -> bool:
        return ":" not in uri


@keeps("resources:uris:valid")
class WordsAsInvalidParams(OtherReading):
    """Refuses what has no scheme as invalid params."""

    def takes(self, uri: str) -> bool:
        return ":" not in uri

    def read(self, uri: str) -> list[Json]:
        raise Failure(self.profile.errors.invalid_params, "No URI")


class OneMoreResource(ReferenceServer):
    """Has a resource with a URI of its own."""

    URI = "reference://more"

    def resources(self) -> list[Json]:
        more = {"uri": self.URI, "name": "more", "mimeType": "text/plain"}
        return [*super().resources(), more]


@breaks("resources:uris:schemes")
class PathsAsUris(OneMoreResource):
    """Lists a path as the URI of a resource."""

    URI = "/more/text"


@keeps("resources:uris:schemes")
class SchemesOfItsOwn(OneMoreResource):
    """Lists a resource with a scheme of its own, and no authority."""

    URI = "x-Ref.1+more:text"


class Files(OneMoreResource):
    """Serves the files of a folder."""

    URI = "file:///srv/notes/one.txt"

    def path(self, uri: str) -> str:
        """Return the path of a file in the form in which it is compared."""
        raise NotImplementedError

    async def read_resource(self, call: ReferenceCall) -> Json:
        uri = call.params["uri"]
        path = self.path(uri)
        if path.startswith("file:///srv/notes/") and ".." not in path:
            return {"contents": [{"uri": uri, "mimeType": "text/plain", "text": "a note"}]}
        return await super().read_resource(call)


@breaks("resources:traversal")
class PathsThatLeadOut(Files):
    """Looks for dots in a path before it decodes it."""

    def path(self, uri: str) -> str:
        return uri


@keeps("resources:traversal")
class PathsThatStay(Files):
    """Decodes a path before it looks for dots."""

    def path(self, uri: str) -> str:
        return unquote(uri)


# --- reading ---


class AbsentResources(OtherReading):
    """Deals in its own way with a resource that there is none of."""

    def takes(self, uri: str) -> bool:
        known = {one["uri"] for one in self.resources()}
        return ":" in uri and uri not in known and "items" not in uri


@breaks("resources:not-found-early")
@breaks("resources:not-found")
class AbsentResourcesFail(AbsentResources):
    """Answers with an internal error where there is no resource."""

    def read(self, uri: str) -> list[Json]:
        raise Failure(self.profile.errors.internal_error, "FileNotFoundError")


@keeps("resources:not-found-early")
@keeps("resources:not-found")
@keeps("resources:not-found:not-empty")
class AbsentResourcesInWords(AbsentResources):
    """Says in words of its own that there is no resource."""

    def read(self, uri: str) -> list[Json]:
        raise Failure(self.profile.resource_not_found_code, f"{uri} is gone")


@breaks("resources:not-found:not-empty")
class AbsentResourcesAreEmpty(AbsentResources):
    """Returns no contents where there is no resource."""

    def read(self, uri: str) -> list[Json]:
        return []


class FailingResources(OtherReading):
    """Has a resource that fails, with a code."""

    def takes(self, uri: str) -> bool:
        return uri == "reference://text"

    def code(self) -> int:
        """Return the code."""
        return self.profile.errors.internal_error

    def read(self, uri: str) -> list[Json]:
        raise Failure(self.code(), "it failed")


@breaks("resources:internal-error")
class ResourcesThatFailWithZero(FailingResources):
    """Has a resource that fails with a code that is none."""

    def code(self) -> int:
        return 0


@keeps("resources:internal-error")
class ResourcesThatFail(FailingResources):
    """Has a resource that fails with the code for internal errors."""


class Binary(ReferenceServer):
    """Has binary contents of its own."""

    BLOB = ""

    def exact(self, method: Method[Any, Any], result: Json) -> Json:
        made = super().exact(method, result)
        for one in made.get("contents", []):
            if "blob" in one:
                one["blob"] = self.BLOB
        return made


@breaks("resources:binary")
class BinaryForUrls(Binary):
    """Sends binary contents in the alphabet for URLs."""

    BLOB = "-_-_"


@keeps("resources:binary")
class BinaryOfNoBytes(Binary):
    """Sends binary contents of no bytes."""
