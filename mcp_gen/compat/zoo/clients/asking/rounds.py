"""Clients that break the rules of rounds, and their twins."""

from __future__ import annotations

from typing import Any

from mcp_gen.compat.json_values import Json, member
from mcp_gen.compat.reference.client import ServerReply
from mcp_gen.compat.reference.client_script import ClientScript
from mcp_gen.compat.zoo.zoo import breaks, keeps


@breaks("mrtr:client:answers")
class AsksAgainAtOnce(ClientScript):
    """Makes a request again with the state alone first, if there is one."""

    def again(self, params: Json, result: Json) -> Json:
        made = super().again(params, result)
        if "requestState" in made and "requestState" not in params:
            del made["inputResponses"]
        return made


@keeps("mrtr:client:answers")
class AnswersMore(ClientScript):
    """Answers also what was asked before."""

    def again(self, params: Json, result: Json) -> Json:
        made = super().again(params, result)
        earlier = params.get("inputResponses", {})
        return {**made, "inputResponses": {**earlier, **made["inputResponses"]}}


@breaks("mrtr:client:state")
class TrimsStates(ClientScript):
    """Takes the white space off a state."""

    def again(self, params: Json, result: Json) -> Json:
        made = super().again(params, result)
        return {**made, **({"requestState": made["requestState"].strip()} if _said(made) else {})}


@keeps("mrtr:client:state")
class LooksAtStates(ClientScript):
    """Looks at a state, and leaves it as it is."""

    def again(self, params: Json, result: Json) -> Json:
        made = super().again(params, result)
        assert not _said(made) or made["requestState"].strip()
        return made


def _said(params: Json) -> bool:
    return "requestState" in params


@breaks("mrtr:client:no-state")
class AlwaysHasAState(ClientScript):
    """Sends an empty state where none came."""

    def again(self, params: Json, result: Json) -> Json:
        return {"requestState": "", **super().again(params, result)}


@keeps("mrtr:client:no-state")
class ForgetsStates(ClientScript):
    """Sends no state but that of the last result."""

    def again(self, params: Json, result: Json) -> Json:
        fresh = {key: value for key, value in params.items() if key != "requestState"}
        return super().again(fresh, result)


class _NumbersRounds(ClientScript):
    """Has ids of its own for rounds."""

    def next_round_id(self) -> Any:
        """Return the id of the next round."""
        raise NotImplementedError

    async def ask(self, method: Any, params: Json | None = None, **more: Any) -> ServerReply:
        """Ask with such an id, if it is a later round."""
        if params and "inputResponses" in params:
            more["id"] = self.next_round_id()
        return await super().ask(method, params, **more)


@breaks("mrtr:client:id")
class KeepsTheId(_NumbersRounds):
    """Makes a request again with the same id."""

    def next_round_id(self) -> Any:
        return self._last_id


@keeps("mrtr:client:id")
class AlmostKeepsTheId(_NumbersRounds):
    """Makes a request again with the same id as a text."""

    def next_round_id(self) -> Any:
        self._last_id += 1
        return str(self._last_id)


class _Carries(ClientScript):
    """Keeps the last state."""

    state: Any = None

    def again(self, params: Json, result: Json) -> Json:
        """Return the params of the next round, and keep the state."""
        made = super().again(params, result)
        self.state = made.get("requestState")
        return made


@breaks("mrtr:client:own-request")
class CarriesStates(_Carries):
    """Sends the state of one request with another, too."""

    async def leave(self) -> None:
        if self.state is not None:
            params = {"uri": "reference://other", "requestState": self.state}
            await self.ask("read_resource", params)
        await super().leave()


@keeps("mrtr:client:own-request")
class RepeatsRounds(_Carries):
    """Makes a request once more with the state and the answers that it had."""

    async def ask(self, method: Any, params: Json | None = None, **more: Any) -> ServerReply:
        reply = await super().ask(method, params, **more)
        if params and "inputResponses" in params and member(reply.result, "content"):
            await super().ask(method, params, **more)
        return reply
