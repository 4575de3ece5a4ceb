"""One request to the reference server: its params, and the way back to the client."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import msgspec

from mcp_gen.compat.json_values import Json, is_object, member
from mcp_gen.compat.method_names import method_of
from mcp_gen.compat.reference.shaping import shaped

if TYPE_CHECKING:
    from mcp_wire.profile import Profile

__all__ = ["Failure", "NeedsInput", "Outlet", "ReferenceCall", "Unanswered"]

Outlet: TypeAlias = Callable[[Json], None]
"""Sends one frame to the client, on the way that belongs to a request or to none."""


class Failure(Exception):
    """The request is answered with an error.

    Args:
        code: The JSON-RPC code.
        message: The message.
        data: More about it; None for nothing.
    """

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class Unanswered(Exception):
    """The request is not answered."""


class NeedsInput(Exception):
    """The request cannot be answered before its client has answered questions.

    Args:
        requests: The questions by their keys.
    """

    def __init__(self, requests: Json) -> None:
        super().__init__(", ".join(requests))
        self.requests = requests


class _Server(Protocol):
    """The server that a call is for."""

    profile: Profile

    def notification_frame(self, name: str, params: Json) -> Json: ...

    def question_frame(self, name: str, params: Json) -> Json: ...

    async def ask(self, frame: Json, outlet: Outlet | None = None) -> Json: ...


class ReferenceCall:
    """One request of the client.

    Args:
        server: The server that answers it.
        frame: The request.
        outlet: Sends what belongs to the request.
    """

    def __init__(self, server: _Server, frame: Json, outlet: Outlet) -> None:
        self.server = server
        self.frame = frame
        self.outlet = outlet
        self.id = frame["id"]
        self.method: str = frame["method"]
        params = frame.get("params")
        self.params: Json = params if is_object(params) else {}
        meta = self.params.get("_meta")
        self.meta: Json = meta if is_object(meta) else {}

    @property
    def progress_token(self) -> Any:
        """Token of the progress notifications that the client wants; None for none."""
        token = self.meta.get(self.server.profile.progress_token_key)
        # What is no token cannot be repeated in a notification.
        return token if type(token) in (int, str) else None

    @property
    def digest(self) -> str:
        """Digest of what is the same in all rounds of the request."""
        of_round = ("_meta", "inputResponses", "requestState")
        kept = {key: value for key, value in self.params.items() if key not in of_round}
        text = msgspec.json.encode([self.method, kept], order="deterministic")
        return hashlib.sha256(text).hexdigest()

    async def step(self) -> None:
        """Pass a step of long work: at once, where the client waits for the answer."""
        await asyncio.sleep(0)

    def tell(self, name: str, params: Json) -> None:
        """Send a notification that belongs to the request, in the form of the revision.

        Args:
            name: The Python name of the notification, such as `progress`.
            params: Its params, with the members of all revisions.

        Raises:
            NoSuchMethod: the revision does not have it.
        """
        self.outlet(self.server.notification_frame(name, params))

    async def ask(self, name: str, params: Json) -> Json:
        """Ask the client, and return its result.

        Where the server sends no requests, the question goes out in the result of the call, and
        this returns once the client has called again with the answer.

        Args:
            name: The Python name of the request, such as `elicit`.
            params: Its params, with the members of all revisions.

        Raises:
            Failure: the client has answered with an error.
            NeedsInput: the question has to be asked first.
        """
        frame = self.server.question_frame(name, params)
        if self.server.profile.asks_client == "server_request":
            return await self.server.ask(frame, self.outlet)
        answer = member(self.params, "inputResponses", name)
        if answer is None:
            raise NeedsInput({name: {"method": frame["method"], "params": frame["params"]}})
        return self.checked(name, answer)

    def checked(self, name: str, answer: Any) -> Json:
        """Return the answer to a question, if it is one.

        Raises:
            Failure: it is none.
        """
        profile = self.server.profile
        try:
            made: Json = shaped(method_of(profile, name).results[0], answer)
        except msgspec.ValidationError as error:
            raise Failure(profile.errors.invalid_params, f"Not an answer: {error}") from None
        return made
