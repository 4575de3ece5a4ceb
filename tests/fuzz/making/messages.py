"""Inputs of one revision: what a client could send, and steps away from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.fuzz.making.shapes import Shapes, shapes_of
from tests.fuzz.making.texts import LITERALS, as_json, bent
from tests.fuzz.target import NAMES
from tests.fuzz.values import is_object

__all__ = ["CAPABILITIES", "Maker"]

CAPABILITIES: dict[str, Any] = {
    "sampling": {},
    "roots": {"listChanged": True},
    "elicitation": {"form": {}, "url": {}},
    "extensions": {"io.modelcontextprotocol/tasks": {}},
    "tasks": {
        "list": {},
        "cancel": {},
        "requests": {"elicitation": {"create": {}}, "sampling": {"createMessage": {}}},
    },
}
"""Capabilities that the fuzzed sessions declare, at every revision."""

ODD_IDS: tuple[Any, ...] = (
    None, True, 1.5, "@1.0@", [], [1], {}, "", "é\n", "x" * 300, -1, 0, 2**53 + 1, 2**63, "@2^64@",
    "@10^400@", "@10^5000@", "@1e999@", "@surrogate@", "@NaN@", "@-0@", "@1E2@", "@deep@",
)  # fmt: skip
ODD_METHODS: tuple[Any, ...] = (
    "", "no/such", "tools", "tools/call/", "TOOLS/LIST", "rpc.discover", "notifications/no/such",
    "notifications/initialized", "roots/list", "sampling/createMessage", "elicitation/create",
    1, None, [], {}, "x" * 5000, "@surrogate@", "é/ü",
)  # fmt: skip
RARE = {"requestState": 0.1, "inputResponses": 0.2, "cursor": 0.5, "task": 0.5}
"""Params that mostly refuse a request, and how often they stay."""
ODD_ENTRIES: tuple[Any, ...] = (1, None, [], "", {}, [{}])
ODD_MEMBERS: tuple[tuple[str, Any], ...] = (
    ("jsonrpc", "1.0"), ("jsonrpc", 2.0), ("jsonrpc", None), ("jsonrpc", "2.0 "), ("result", {}),
    ("error", {"code": 1, "message": ""}), ("params", None), ("params", []), ("params", "text"),
    ("params", 1), ("params", "@deep@"), ("params", "@1e999@"), ("extra", "@deeper@"),
    ("extra", "@10^5000@"), ("extra", "@NaN@"), ("method", None), ("id", None),
)  # fmt: skip
ODD_TEXTS = ("", "é", "x" * 2000, "a\u0000b", "../..", "%2e%2e", "{", "@surrogate@", "@escaped@")


@dataclass(frozen=True)
class Maker:
    """Makes one input.

    Args:
        shapes: Schemas of the revision.
        random: Random numbers of this input alone.
        index: Number of the input; the ids of its requests are made of it.
    """

    shapes: Shapes
    random: Random
    index: int

    @classmethod
    def of(cls, revision: str, random: Random, index: int) -> Maker:
        return cls(shapes_of(revision), random, index)

    def input(self) -> bytes:
        """Return the bytes of one message, or of a batch."""
        kinds = (self._single, self._batch, self._bytes)
        (kind,) = self.random.choices(kinds, (86, 5, 9))
        return kind()

    # --- kinds of inputs ---

    def _single(self) -> bytes:
        value = self.value()
        if self.random.random() < 0.03 and is_object(value) and value:
            return self._doubled(value)
        return as_json(value, self.random)

    def _doubled(self, value: dict[str, Any]) -> bytes:
        """Return the text of an object in which a key comes twice."""
        key = self.random.choice([*value])
        others: tuple[Any, ...] = (value[key], self.id(), None, {}, "tools/list")
        other = self.random.choice(others)
        first = as_json({key: other}, self.random)[:-1]
        return first + b"," + as_json(value, self.random)[1:]

    def _batch(self) -> bytes:
        number = self.random.choice((0, 1, 2, 3, 5, 1001 if self.random.random() < 0.05 else 4))
        if number > 1000:
            return b"[" + b",".join([b'{"jsonrpc":"2.0","method":"a"}'] * number) + b"]"
        entries: list[Any] = [
            self.random.choice(ODD_ENTRIES) if self.random.random() < 0.1 else self.value(entry)
            for entry in range(number)
        ]
        return as_json(entries, self.random)

    def _bytes(self) -> bytes:
        return bent(as_json(self.value(), self.random), self.random)

    def value(self, entry: int = 0) -> Any:
        """Return one message as a value; `entry` makes the ids of a batch differ."""
        makes: tuple[Callable[[int], Any], ...] = (
            self.request,
            self._notification,
            self._cancelled,
            self._response,
            self._odd_envelope,
        )
        (make,) = self.random.choices(makes, (68, 8, 8, 6, 10))
        return make(entry)

    def id(self, entry: int = 0) -> Any:
        """Return an id: of this input, and rarely one of an earlier input."""
        roll = self.random.random()
        number = self.index * 10 + entry
        if roll < 0.9:
            return number if roll < 0.6 else f"i{number}"
        return max(0, number - 10 * self.random.randrange(1, 4))

    def request(self, entry: int = 0) -> dict[str, Any]:
        """Return a request that is valid, or a step or two away."""
        shapes, random = self.shapes, self.random
        roll = random.random()
        if roll < 0.45 and "tools/call" in shapes.requests:
            method = "tools/call"
        elif roll < 0.52 and shapes.extensions:
            method = random.choice(shapes.extensions)
        elif roll < 0.54:
            method = NAMES["methods"][0]
        else:
            method = random.choice([*shapes.requests])
        params = self.params(method)
        if random.random() < 0.35:
            params = shapes.changed(params, random)
        if random.random() < 0.04:
            params = self._with_literal(params)
        whole = {"jsonrpc": "2.0", "id": self.id(entry), "method": method, "params": params}
        if params == {} and random.random() < 0.5:
            del whole["params"]
        return whole

    def params(self, method: str) -> dict[str, Any]:
        """Return params of a request of this method, with names that the target has."""
        shapes, random = self.shapes, self.random
        name = shapes.requests.get(method) or shapes.notifications.get(method)
        if name is None:
            params: Any = {"text": "t", "count": 1} if "fuzz" in method else {"taskId": "@task@"}
        else:
            params = shapes.instance(name, random).get("params", {})
        if not is_object(params):
            return {}
        self._fit(method, params)
        return self._with_meta(params)

    def _fit(self, method: str, params: dict[str, Any]) -> None:
        """Put the target's names in the place of made up ones, mostly."""
        random = self.random
        if random.random() < 0.04:
            return
        for key, value in params.items():
            if isinstance(value, str):
                params[key] = self._text(key, value)
        for key, kept in RARE.items():
            if key in params and random.random() > kept:
                del params[key]
        if method == "tools/call":
            tool = random.choice([*self.shapes.tools])
            params["name"], params["arguments"] = tool, self.shapes.arguments(tool, random)
            self._answer_again(params)
        elif method == "prompts/get":
            params["name"] = random.choice(NAMES["prompts"])
            params["arguments"] = {
                one: "Ada" for one in NAMES["arguments"] if random.random() < 0.5
            }
        elif method == "completion/complete":
            self._fit_completion(params)
        elif method == "initialize" and random.random() < 0.8:
            params["protocolVersion"] = self.shapes.profile.revision
        elif method == "subscriptions/listen":
            params["notifications"] = {
                "toolsListChanged": True,
                "resourceSubscriptions": random.sample(NAMES["resources"], 2),
                "taskIds": ["@task@"],
            }

    def _text(self, key: str, value: str) -> str:
        random = self.random
        if random.random() < 0.05:
            return random.choice((*ODD_TEXTS, *LITERALS))
        known = {"uri": NAMES["resources"], "taskId": ("@task@",), "cursor": ("@cursor@",)}
        return random.choice(known.get(key, (value,)))

    def _answer_again(self, params: dict[str, Any]) -> None:
        """Repeat an earlier request with answers to its questions, now and then."""
        if "requestState" in params or "inputResponses" in params:
            params["requestState"] = "@state@"

    def _fit_completion(self, params: dict[str, Any]) -> None:
        random = self.random
        if random.random() < 0.5:
            params["ref"] = {"type": "ref/prompt", "name": random.choice(NAMES["prompts"])}
        else:
            params["ref"] = {"type": "ref/resource", "uri": random.choice(NAMES["templates"])}
        params["argument"] = {"name": random.choice(NAMES["arguments"]), "value": "A"}

    def _with_meta(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return the params with the `_meta` that each request of the revision needs, mostly."""
        profile, random = self.shapes.profile, self.random
        if profile.protocol_version_key is None or random.random() < 0.02:
            return params
        meta: Any = params.get("_meta", {})
        own = {
            profile.protocol_version_key: profile.revision,
            str(profile.client_capabilities_key): CAPABILITIES if random.random() < 0.9 else {},
            str(profile.client_info_key): {"name": "fuzz", "version": "1"},
        }
        return {**params, "_meta": {**(meta if is_object(meta) else {}), **own}}

    def _with_literal(self, params: Any) -> Any:
        """Return the params with a number or text in them that is awkward to read."""
        if not is_object(params) or not params:
            return params
        key, literal = self.random.choice([*params]), self.random.choice([*LITERALS])
        inner = params[key]
        if is_object(inner) and inner and self.random.random() < 0.8:
            return {**params, key: self._with_literal(inner)}
        return {**params, key: literal}

    def _notification(self, entry: int = 0) -> dict[str, Any]:
        random = self.random
        method = random.choice([*self.shapes.notifications, *NAMES["notifications"]])
        params = self.params(method)
        if random.random() < 0.4:
            params = self.shapes.changed(params, random)
        return {"jsonrpc": "2.0", "method": method, "params": params}

    def _cancelled(self, entry: int = 0) -> dict[str, Any]:
        random = self.random
        number = max(0, self.index * 10 - 10 * random.randrange(0, 6))
        id: Any = number if random.random() < 0.6 else f"i{number}"
        if random.random() < 0.1:
            id = random.choice(ODD_IDS)
        params = {"requestId": id, "reason": "fuzz"}
        if random.random() < 0.1:
            params = self.shapes.changed(params, random)
        return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}

    def _response(self, entry: int = 0) -> dict[str, Any]:
        """Return a response that nobody asked for, mostly."""
        random = self.random
        id: Any = random.randrange(1, 6) if random.random() < 0.5 else self.id(entry)
        if random.random() < 0.2:
            id = random.choice(ODD_IDS)
        part: Any = random.choice(
            ({"result": {}}, {"result": None}, {"result": {"action": "accept"}})
        )
        if random.random() < 0.4:
            part = {
                "error": random.choice(({"code": 1, "message": "m"}, None, {}, {"code": "x"}, 1))
            }
        return {"jsonrpc": "2.0", "id": id, **part}

    def _odd_envelope(self, entry: int = 0) -> Any:
        random = self.random
        whole = self.request(entry)
        match random.randrange(5):
            case 0:
                whole["id"] = random.choice(ODD_IDS)
            case 1:
                whole["method"] = random.choice(ODD_METHODS)
            case 2:
                key, value = random.choice(ODD_MEMBERS)
                whole[key] = value
            case 3:
                del whole[random.choice([*whole])]
            case _:
                return random.choice((whole, [whole], [[whole]], "text", 1, None, {}, True, whole))
        return whole
