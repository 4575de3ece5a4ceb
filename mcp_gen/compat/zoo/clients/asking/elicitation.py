"""Clients that break the rules of questions to the user, and their twins."""

from __future__ import annotations

import socket
from typing import ClassVar
from urllib.parse import urlsplit

from mcp_gen.compat.json_values import Json
from mcp_gen.compat.reference.call import Failure
from mcp_gen.compat.reference.client import Answers
from mcp_gen.compat.reference.client_script import ClientScript
from mcp_gen.compat.zoo.clients.asking.answering import AnsweringClient
from mcp_gen.compat.zoo.zoo import breaks, keeps


@breaks("elicitation:client:declared")
class AsksUnsaid(AnsweringClient):
    """Asks its user, and does not say so."""

    undeclared = "elicitation"


@keeps("elicitation:client:declared")
class SaysItAsks(AnsweringClient):
    """Says that it asks its user, and not how."""

    declares: ClassVar[Json] = {"elicitation": {}}


@breaks("elicitation:client:modes")
class AsksByVoice(AnsweringClient):
    """Declares a way of asking that there is not."""

    declares: ClassVar[Json] = {"elicitation": {"com.example/voice": {}}}


@keeps("elicitation:client:modes")
class AsksByForms(AnsweringClient):
    """Declares forms alone."""

    declares: ClassVar[Json] = {"elicitation": {"form": {}}}


class _NeedsWays(Answers):
    def elicit(self, params: Json) -> Json:
        return super().elicit(params) if "mode" in params else {"action": "accept"}


class _Declines(Answers):
    def elicit(self, params: Json) -> Json:
        return super().elicit(params) if "mode" in params else {"action": "decline"}


@breaks("elicitation:client:no-mode")
class TakesFormsForPages(AnsweringClient):
    """Accepts a form that does not say that it is one, and fills in nothing."""

    answering = _NeedsWays


@keeps("elicitation:client:no-mode")
class DeclinesForms(AnsweringClient):
    """Has a user who declines a form that does not say that it is one."""

    answering = _Declines


class _Careless(Answers):
    def elicit(self, params: Json) -> Json:
        made = super().elicit(params)
        return {**made, "content": dict.fromkeys(made.get("content", {}), True)}


class _Brief(Answers):
    def elicit(self, params: Json) -> Json:
        made = super().elicit(params)
        required = params.get("requestedSchema", {}).get("required", ())
        content = {key: value for key, value in made.get("content", {}).items() if key in required}
        return {**made, "content": content} if "content" in made else made


@breaks("elicitation:client:validated")
class FillsInAnything(AnsweringClient):
    """Fills in forms with what does not fit."""

    answering = _Careless


@keeps("elicitation:client:validated")
class FillsInTheLeast(AnsweringClient):
    """Fills in what is required, and nothing else."""

    answering = _Brief


@breaks("elicitation:client:errors")
class AsksInAnyWay(AnsweringClient):
    """Asks its user also in ways that it has not declared."""

    def is_malformed(self, asked: Json) -> bool:
        return not self.is_about(asked, "elicit") and super().is_malformed(asked)


@keeps("elicitation:client:errors")
class RefusesPages(AnsweringClient):
    """Declares forms alone, and refuses pages."""

    declares: ClassVar[Json] = {"elicitation": {"form": {}}}


class _PageWatcher(ClientScript):
    """Takes note of pages that are done with."""

    def notified(self, frame: Json) -> None:
        """Take the id of the page."""
        if "elicitationId" in frame.get("params", {}):
            self.done(frame["params"]["elicitationId"])

    def done(self, id: str) -> None:
        """Take the id of a page that is done with."""
        raise NotImplementedError


@breaks("elicitation:client:complete:unknown")
class KnowsItsPages(_PageWatcher):
    """Fails when an unknown page is done with."""

    def done(self, id: str) -> None:
        self.fault = f"no page has the id {id}"


@keeps("elicitation:client:complete:unknown")
class ForgetsPages(_PageWatcher):
    """Looks for the page that is done with, and finds none."""

    def done(self, id: str) -> None:
        assert id not in self.tools


class _WantsPlainIds(Answers):
    def elicit(self, params: Json) -> Json:
        if not params.get("elicitationId", "a").replace("-", "").isalnum():
            raise Failure(-32602, "Not an id")
        return super().elicit(params)


class _RemembersIds(Answers):
    def elicit(self, params: Json) -> Json:
        assert str(params.get("elicitationId", "")).encode().decode() is not None
        return super().elicit(params)


@breaks("elicitation:client:id-opaque")
class WantsPlainIds(AnsweringClient):
    """Refuses ids of pages that are not of letters and digits."""

    answering = _WantsPlainIds


@keeps("elicitation:client:id-opaque")
class RemembersIds(AnsweringClient):
    """Reads the id of a page, and thinks nothing of it."""

    answering = _RemembersIds


class _Curious(Answers):
    def elicit(self, params: Json) -> Json:
        if params.get("mode") == "url":
            _look_at(params["url"])
            return {"action": "decline"}
        return super().elicit(params)


class _Wary(Answers):
    def elicit(self, params: Json) -> Json:
        if params.get("mode") == "url":
            assert urlsplit(str(params["url"])).hostname
            return {"action": "decline"}
        return super().elicit(params)


def _look_at(url: str) -> None:
    parts = urlsplit(url)
    if parts.hostname == "127.0.0.1" and parts.port:
        with socket.create_connection((parts.hostname, parts.port)) as connection:
            connection.sendall(f"GET {parts.path} HTTP/1.1\r\n\r\n".encode())


@breaks("elicitation:client:no-fetch")
class LooksAtPages(AnsweringClient):
    """Looks at a page before it asks its user, who declines."""

    answering = _Curious


@keeps("elicitation:client:no-fetch")
class LooksAtAddresses(AnsweringClient):
    """Looks at the address of a page alone, and its user declines."""

    answering = _Wary
