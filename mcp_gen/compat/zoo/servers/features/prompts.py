"""Servers that break the rules of prompts, and their twins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from mcp_gen.compat.json_values import Json
from mcp_gen.compat.reference.call import Failure, ReferenceCall
from mcp_gen.compat.reference.features import PNG, WAV
from mcp_gen.compat.reference.server import ReferenceServer
from mcp_gen.compat.zoo.zoo import breaks, keeps

if TYPE_CHECKING:
    from mcp_wire.method import Method


class UndeclaredPrompts(ReferenceServer):
    """Does not declare prompts."""

    def capabilities(self) -> Json:
        declared = super().capabilities()
        del declared["prompts"]
        return declared

    def prompts(self) -> list[Json]:
        return []

    def refuse(self) -> None:
        """Answer as one who does not know the method."""
        raise Failure(self.profile.errors.method_not_found, "Method not found")


@breaks("prompts:declared")
class PromptsThatAreNotDeclared(UndeclaredPrompts):
    """Has prompts and does not say so."""

    def prompts(self) -> list[Json]:
        return ReferenceServer.prompts(self)


@keeps("prompts:declared")
class NoPromptsAndNoneDeclared(UndeclaredPrompts):
    """Has no prompts, and does not know the method."""

    async def list_prompts(self, call: ReferenceCall) -> Json:
        self.refuse()
        return {}


@breaks("prompts:capabilities")
class EmptyListOfPrompts(UndeclaredPrompts):
    """Has no prompts, and answers with an empty list."""


@keeps("prompts:capabilities")
class NoPromptsForThisClient(UndeclaredPrompts):
    """Has no prompts, and says that the request is not one for it."""

    async def list_prompts(self, call: ReferenceCall) -> Json:
        raise Failure(self.profile.errors.method_not_found, "No prompts here", {"use": "tools"})


@breaks("prompts:list")
class PromptsThatAreNotListed(ReferenceServer):
    """Declares prompts, and fails to list them."""

    async def list_prompts(self, call: ReferenceCall) -> Json:
        raise Failure(self.profile.errors.internal_error, "Internal error")


@keeps("prompts:list")
class NoPromptsYet(ReferenceServer):
    """Declares prompts, and has none."""

    def prompts(self) -> list[Json]:
        return []


# --- errors ---


@breaks("prompts:errors:unknown")
class UnknownPromptsAreEmpty(ReferenceServer):
    """Returns no messages for a prompt that there is none of."""

    async def get_prompt(self, call: ReferenceCall) -> Json:
        if call.params["name"] not in {one["name"] for one in self.prompts()}:
            return {"messages": []}
        return await super().get_prompt(call)


@keeps("prompts:errors:unknown")
class UnknownPromptsWithHelp(ReferenceServer):
    """Names its prompts when another one is asked for."""

    async def get_prompt(self, call: ReferenceCall) -> Json:
        names = [one["name"] for one in self.prompts()]
        if call.params["name"] not in names:
            raise Failure(self.profile.errors.invalid_params, "Not found", {"prompts": names})
        return await super().get_prompt(call)


class NamelessGreetings(ReferenceServer):
    """Deals with a greeting without a name in its own way."""

    async def get_prompt(self, call: ReferenceCall) -> Json:
        if call.params["name"] == "greet" and not call.params.get("arguments"):
            return self.greet_nobody()
        return await super().get_prompt(call)

    def greet_nobody(self) -> Json:
        """Answer a request without a name."""
        return {"messages": [{"role": "user", "content": {"type": "text", "text": "Hello."}}]}


@breaks("prompts:arguments-validated")
class GreetingsOfNobody(NamelessGreetings):
    """Makes a prompt without the argument that it needs."""


@keeps("prompts:arguments-validated")
@keeps("prompts:errors:missing-argument")
class GreetingsOfSomebody(NamelessGreetings):
    """Refuses a prompt without its argument in words of its own."""

    def greet_nobody(self) -> Json:
        raise Failure(self.profile.errors.invalid_params, "Whom?", {"missing": ["name"]})


@breaks("prompts:errors:missing-argument")
class GreetingsThatFail(NamelessGreetings):
    """Answers with an internal error where an argument is missing."""

    def greet_nobody(self) -> Json:
        raise Failure(self.profile.errors.internal_error, "KeyError: name")


class FailingPrompts(ReferenceServer):
    """Has a prompt that fails, with a code."""

    def code(self) -> int:
        """Return the code."""
        return self.profile.errors.internal_error

    async def prompt_show(self, arguments: Json) -> list[Json]:
        raise Failure(self.code(), "it failed")


@breaks("prompts:errors:internal")
class PromptsThatFailWithZero(FailingPrompts):
    """Has a prompt that fails with a code that is none."""

    def code(self) -> int:
        return 0


@keeps("prompts:errors:internal")
class PromptsThatFail(FailingPrompts):
    """Has a prompt that fails with the code for internal errors."""


@breaks("prompts:inputs-validated")
class AnyPromptArguments(ReferenceServer):
    """Takes arguments that are no object for none."""

    async def answer(self, call: ReferenceCall) -> Json:
        if isinstance(call.params.get("arguments"), str):
            call.params["arguments"] = {"name": call.params["arguments"]}
        return await super().answer(call)


@keeps("prompts:inputs-validated")
class PromptsWithoutMessages(ReferenceServer):
    """Has a prompt without messages."""

    async def prompt_show(self, arguments: Json) -> list[Json]:
        return []


# --- content ---


class OneContent(ReferenceServer):
    """Has a prompt with one content of its own, whatever its shape."""

    CONTENT: ClassVar[Json] = {}

    async def prompt_show(self, arguments: Json) -> list[Json]:
        return []

    def exact(self, method: Method[Any, Any], result: Json) -> Json:
        made = super().exact(method, result)
        if made.get("messages") == []:
            made["messages"] = [{"role": "user", "content": self.CONTENT}]
        return made


@breaks("prompts:content:image")
class ImagesInHex(OneContent):
    """Sends an image in hexadecimal digits, one too few for base64."""

    CONTENT: ClassVar[Json] = {"type": "image", "data": "89504e470", "mimeType": "image/png"}


@keeps("prompts:content:image")
class ImagesOfAnyKind(OneContent):
    """Sends an image with a MIME type of its own."""

    CONTENT: ClassVar[Json] = {"type": "image", "data": PNG, "mimeType": "image/x.own+xml; v=1"}


@breaks("prompts:content:audio")
class SoundsWithoutType(OneContent):
    """Sends a sound with a MIME type that is none."""

    CONTENT: ClassVar[Json] = {"type": "audio", "data": WAV, "mimeType": "wav"}


@keeps("prompts:content:audio")
class SoundsOfNoLength(OneContent):
    """Sends a sound of no bytes."""

    CONTENT: ClassVar[Json] = {"type": "audio", "data": "", "mimeType": "audio/wav"}


@breaks("prompts:content:resource")
class ResourcesWithoutType(OneContent):
    """Embeds a resource without a MIME type."""

    CONTENT: ClassVar[Json] = {
        "type": "resource",
        "resource": {"uri": "reference://text", "text": "text"},
    }


@keeps("prompts:content:resource")
class EmptyResources(OneContent):
    """Embeds an empty resource."""

    CONTENT: ClassVar[Json] = {
        "type": "resource",
        "resource": {"uri": "reference:", "mimeType": "text/plain", "text": ""},
    }
