"""Servers that break the rules of completions, and their twins."""

from __future__ import annotations

from mcp_gen.compat.json_values import Json
from mcp_gen.compat.reference.call import Failure, ReferenceCall
from mcp_gen.compat.reference.server import ReferenceServer
from mcp_gen.compat.zoo.zoo import breaks, keeps

MANY = 120


class UndeclaredCompletions(ReferenceServer):
    """Does not declare completions."""

    def capabilities(self) -> Json:
        declared = super().capabilities()
        del declared["completions"]
        return declared


@breaks("completion:declared")
class CompletionsThatAreNotDeclared(UndeclaredCompletions):
    """Completes and does not say so."""


@keeps("completion:declared")
@keeps("completion:errors:not-offered")
class NoCompletions(UndeclaredCompletions):
    """Has no completions, and says so in words of its own."""

    async def complete(self, call: ReferenceCall) -> Json:
        raise Failure(self.profile.errors.method_not_found, "Nothing is completed here")


@breaks("completion:errors:not-offered")
class EmptyCompletions(UndeclaredCompletions):
    """Has no completions, and suggests nothing."""

    async def complete(self, call: ReferenceCall) -> Json:
        return {"completion": {"values": []}}


# --- errors ---


@breaks("completion:errors:unknown-prompt")
class NothingForUnknownPrompts(ReferenceServer):
    """Suggests nothing for a prompt that there is none of."""

    async def complete(self, call: ReferenceCall) -> Json:
        names = {one["name"] for one in self.prompts()}
        if call.params["ref"].get("name") not in names and "uri" not in call.params["ref"]:
            return {"completion": {"values": []}}
        return await super().complete(call)


@keeps("completion:errors:unknown-prompt")
class RefusesUnknownPrompts(ReferenceServer):
    """Names its prompts where another one is to be completed."""

    async def complete(self, call: ReferenceCall) -> Json:
        names = [one["name"] for one in self.prompts()]
        if call.params["ref"].get("name") not in names and "uri" not in call.params["ref"]:
            raise Failure(self.profile.errors.invalid_params, "Unknown", {"prompts": names})
        return await super().complete(call)


class WithoutArgument(ReferenceServer):
    """Deals in its own way with a completion that does not say of what."""

    async def answer(self, call: ReferenceCall) -> Json:
        if "ref" in call.params and "argument" not in call.params:
            self.refuse(call)
        return await super().answer(call)

    def refuse(self, call: ReferenceCall) -> None:
        """Answer a completion without an argument."""
        raise Failure(self.profile.errors.invalid_params, "Of what?", {"missing": ["argument"]})


@breaks("completion:errors:missing-argument")
class FailsWithoutArgument(WithoutArgument):
    """Fails where it is not said what is to be completed."""

    def refuse(self, call: ReferenceCall) -> None:
        raise Failure(self.profile.errors.internal_error, "KeyError: argument")


@keeps("completion:errors:missing-argument")
class AsksForTheArgument(WithoutArgument):
    """Asks back where it is not said what is to be completed."""


class FailingCompletions(ReferenceServer):
    """Fails to complete, with a code."""

    def code(self) -> int:
        """Return the code."""
        return self.profile.errors.internal_error

    def completion(self, typed: str) -> Json:
        raise Failure(self.code(), "it failed")


@breaks("completion:errors:internal")
class CompletionsThatFailWithOne(FailingCompletions):
    """Fails to complete, with a code that is none."""

    def code(self) -> int:
        return 1


@keeps("completion:errors:internal")
class CompletionsThatFail(FailingCompletions):
    """Fails to complete, with the code for internal errors."""


# --- what is completed ---


@breaks("completion:validated")
class CompletesAnything(ReferenceServer):
    """Completes arguments that there are none of."""

    def check_completed(self, call: ReferenceCall) -> None:
        if call.params["ref"].get("name") not in {one["name"] for one in self.prompts()}:
            super().check_completed(call)


@keeps("completion:validated")
class NothingForUnknownArguments(ReferenceServer):
    """Suggests nothing for an argument that there is none of."""

    async def complete(self, call: ReferenceCall) -> Json:
        if (
            call.params["argument"]["name"] not in ("name", "id")
            and "uri" not in call.params["ref"]
        ):
            names = {one["name"] for one in self.prompts()}
            if call.params["ref"]["name"] in names:
                return {"completion": {"values": [], "total": 0}}
        return await super().complete(call)


class ManyValues(ReferenceServer):
    """Has many suggestions, and sends some of them."""

    SENT = 100

    def completion(self, typed: str) -> Json:
        values = [f"{number}" for number in range(self.SENT)]
        return {"values": values, "total": MANY, "hasMore": True}


@breaks("completion:limit")
class OneValueTooMany(ManyValues):
    """Sends 101 suggestions."""

    SENT = 101


@keeps("completion:limit")
class AHundredValues(ManyValues):
    """Sends 100 suggestions, and says that there are more."""
