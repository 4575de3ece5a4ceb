"""Servers that break the rules of multi round-trip requests, and their twins."""

from __future__ import annotations

from typing import Any

import msgspec

from mcp_gen.compat.json_values import Json, is_object, member
from mcp_gen.compat.method_names import method_of
from mcp_gen.compat.reference.call import Failure, NeedsInput, ReferenceCall, Unanswered
from mcp_gen.compat.reference.features import text_result
from mcp_gen.compat.reference.server import ReferenceServer
from mcp_gen.compat.zoo.zoo import breaks, keeps


@breaks("mrtr:requests")
class ListsInRounds(ReferenceServer):
    """Answers a list with a state."""

    async def list_resource_templates(self, call: ReferenceCall) -> Json:
        return {"resultType": "input_required", "requestState": self.request_state(call)}


@keeps("mrtr:requests")
class CallsInTwoRounds(ReferenceServer):
    """Answers a call with a state alone, and then with a question."""

    async def run_ask_roots(self, call: ReferenceCall, arguments: Json) -> Json:
        if "requestState" not in call.params:
            raise NeedsInput({})
        return await super().run_ask_roots(call, arguments)

    def input_required(self, call: ReferenceCall, needed: NeedsInput) -> Json:
        made = super().input_required(call, needed)
        return {name: one for name, one in made.items() if one != {}}


@breaks("mrtr:keys-unique")
class OneKeyForTwo(ReferenceServer):
    """Asks each question twice under one key."""

    def input_required(self, call: ReferenceCall, needed: NeedsInput) -> Json:
        once = msgspec.json.encode(needed.requests)
        twice = msgspec.Raw(b"%s,%s" % (once[:-1], once[1:]))
        return {**super().input_required(call, needed), "inputRequests": twice}


@keeps("mrtr:keys-unique")
class TwoKeysForOne(ReferenceServer):
    """Asks one question twice, under two keys."""

    async def run_ask_user(self, call: ReferenceCall, arguments: Json) -> Json:
        try:
            return await super().run_ask_user(call, arguments)
        except NeedsInput as needed:
            raise NeedsInput({**needed.requests, "": needed.requests["elicit"]}) from None


@breaks("mrtr:kinds")
class AsksForTools(ReferenceServer):
    """Asks the client for its tools."""

    def input_required(self, call: ReferenceCall, needed: NeedsInput) -> Json:
        question: Json = {"method": method_of(self.profile, "list_tools").name, "params": {}}
        more = NeedsInput({**needed.requests, "tools": question})
        return super().input_required(call, more)


@keeps("mrtr:kinds")
class AsksAllAtOnce(ReferenceServer):
    """Asks for the roots also where it asks the user."""

    async def run_ask_user(self, call: ReferenceCall, arguments: Json) -> Json:
        try:
            return await super().run_ask_user(call, arguments)
        except NeedsInput as needed:
            if "roots" not in self.client_capabilities:
                raise
            frame = self.question_frame("list_roots", {})
            question = {"method": frame["method"], "params": frame["params"]}
            raise NeedsInput({**needed.requests, "roots": question}) from None


@breaks("mrtr:not-empty")
class AsksForNothing(ReferenceServer):
    """Asks for another round, and does not say what for."""

    def input_required(self, call: ReferenceCall, needed: NeedsInput) -> Json:
        return {"resultType": "input_required"}


@keeps("mrtr:not-empty")
class AsksWithEmptyList(ReferenceServer):
    """Asks for another round with no question, and no state."""

    async def run_ask_roots(self, call: ReferenceCall, arguments: Json) -> Json:
        if "inputResponses" not in call.params:
            raise NeedsInput({})
        return await super().run_ask_roots(call, arguments)

    def input_required(self, call: ReferenceCall, needed: NeedsInput) -> Json:
        made = super().input_required(call, needed)
        if not needed.requests:
            del made["requestState"]
        return made


@breaks("mrtr:declared-only")
class AsksEveryUser(ReferenceServer):
    """Asks the user without a look at what the client has declared."""

    async def run_ask_user(self, call: ReferenceCall, arguments: Json) -> Json:
        self.client_capabilities = {**self.client_capabilities, "elicitation": {}}
        return await super().run_ask_user(call, arguments)


@keeps("mrtr:declared-only")
class AsksWhatItCan(ReferenceServer):
    """Asks the model where it cannot ask the user."""

    async def run_ask_user(self, call: ReferenceCall, arguments: Json) -> Json:
        if "elicitation" not in self.client_capabilities:
            return await self.run_ask_model(call, arguments)
        return await super().run_ask_user(call, arguments)


class OwnStates(ReferenceServer):
    """Keeps in its state whose request it is, for all to read, and tells so in the end."""

    def request_state(self, call: ReferenceCall) -> str:
        return f"{call.digest}-{self.named_state('ada')}"

    def named_state(self, name: str) -> str:
        """Return a name in the form of the state."""
        return name

    def check_state(self, call: ReferenceCall) -> None:
        if "requestState" in call.params and self.name_in(call) is None:
            raise Failure(self.profile.errors.invalid_params, "Invalid request state")

    def name_in(self, call: ReferenceCall) -> str | None:
        """Return the name in a state; None if the state is none."""
        digest, _, name = str(call.params.get("requestState")).partition("-")
        return name if digest == call.digest else None

    async def run_ask_user(self, call: ReferenceCall, arguments: Json) -> Json:
        await super().run_ask_user(call, arguments)
        return text_result(f"It is {self.name_in(call)}.")


@breaks("mrtr:state:integrity")
class StatesForAllToWrite(OwnStates):
    """Takes any name in a state."""


@keeps("mrtr:state:integrity")
class StatesForAllToRead(OwnStates):
    """Takes those names in a state that it has signed."""

    def named_state(self, name: str) -> str:
        return self.sealed({"name": name})

    def name_in(self, call: ReferenceCall) -> str | None:
        found = super().name_in(call)
        held = None if found is None else self.unsealed(found)
        return str(held["name"]) if held else None


@breaks("mrtr:state:untrusted")
class StuckByStates(ReferenceServer):
    """Answers nothing to a state that it did not make."""

    def check_state(self, call: ReferenceCall) -> None:
        try:
            super().check_state(call)
        except Failure:
            if "." in call.params["requestState"][:-64]:
                raise
            raise Unanswered from None


@keeps("mrtr:state:untrusted")
class AsksAgainForStates(ReferenceServer):
    """Asks again where a state is not its own."""

    def check_state(self, call: ReferenceCall) -> None:
        try:
            super().check_state(call)
        except Failure:
            raise NeedsInput({}) from None


@breaks("mrtr:state:bound")
class StatesForAllRequests(ReferenceServer):
    """Takes a state that it made for another request."""

    def request_state(self, call: ReferenceCall) -> str:
        return self.sealed({"for": "all"})

    def check_state(self, call: ReferenceCall) -> None:
        state = call.params.get("requestState")
        if state is not None and self.unsealed(state) is None:
            raise Failure(self.profile.errors.invalid_params, "Invalid request state")


@keeps("mrtr:state:bound")
class StatesAskedForAgain(ReferenceServer):
    """Asks again where a state belongs to another request."""

    def check_state(self, call: ReferenceCall) -> None:
        try:
            super().check_state(call)
        except Failure as failure:
            raise NeedsInput({}) from failure


@breaks("mrtr:abandoned")
class WaitsForEveryone(ReferenceServer):
    """Serves nobody any more when too many have not answered."""

    waiting = 0

    def input_required(self, call: ReferenceCall, needed: NeedsInput) -> Json:
        self.waiting += 1
        if self.waiting > 15:
            raise Failure(self.profile.errors.internal_error, "Too many open questions")
        return super().input_required(call, needed)

    def check_state(self, call: ReferenceCall) -> None:
        super().check_state(call)
        self.waiting -= "requestState" in call.params

    async def run(self, call: ReferenceCall) -> None:
        try:
            await super().run(call)
        except Failure as failure:
            call.outlet(self.error_frame(call.id, failure))


@keeps("mrtr:abandoned")
class WaitsForNobody(ReferenceServer):
    """Counts its first rounds, and keeps nothing else of them."""

    waiting = 0

    def input_required(self, call: ReferenceCall, needed: NeedsInput) -> Json:
        self.waiting += 1
        return super().input_required(call, needed)


@breaks("mrtr:responses:invalid")
class TakesAnyAnswer(ReferenceServer):
    """Takes any answer of the user."""

    async def run_ask_user(self, call: ReferenceCall, arguments: Json) -> Json:
        if member(call.params, "inputResponses", "elicit") is not None:
            return text_result("thank you")
        return await super().run_ask_user(call, arguments)


@keeps("mrtr:responses:invalid")
class AsksAgainForAnswers(ReferenceServer):
    """Asks again where an answer is none."""

    async def run_ask_user(self, call: ReferenceCall, arguments: Json) -> Json:
        try:
            return await super().run_ask_user(call, arguments)
        except Failure:
            del call.params["inputResponses"]
            return await super().run_ask_user(call, arguments)


@breaks("mrtr:responses:extra")
class RefusesExtraAnswers(ReferenceServer):
    """Refuses answers that it has not asked for."""

    async def run_ask_user(self, call: ReferenceCall, arguments: Json) -> Json:
        given: Any = call.params.get("inputResponses")
        if is_object(given) and given.keys() - {"elicit"}:
            raise Failure(self.profile.errors.invalid_params, "Nobody asked for that")
        return await super().run_ask_user(call, arguments)


@keeps("mrtr:responses:extra")
class CountsAnswers(ReferenceServer):
    """Tells how many answers came."""

    async def run_ask_user(self, call: ReferenceCall, arguments: Json) -> Json:
        await super().run_ask_user(call, arguments)
        return text_result(f"{len(call.params.get('inputResponses', ()))} answers")


@breaks("mrtr:responses:missing")
class RefusesMissingAnswers(ReferenceServer):
    """Refuses a round whose answers are missing."""

    async def run_ask_user(self, call: ReferenceCall, arguments: Json) -> Json:
        if call.params.get("inputResponses") == {}:
            raise Failure(self.profile.errors.invalid_params, "An answer is missing")
        return await super().run_ask_user(call, arguments)


@keeps("mrtr:responses:missing")
class DoesWithoutAnswers(ReferenceServer):
    """Does without an answer that is missing."""

    async def run_ask_user(self, call: ReferenceCall, arguments: Json) -> Json:
        if call.params.get("inputResponses") == {}:
            return text_result("never mind")
        return await super().run_ask_user(call, arguments)
