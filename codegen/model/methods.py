"""The methods of a revision: direction, params, results and capability of each."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from codegen.errors import Stop, Stopped, Stops
from codegen.model import ir
from codegen.model.names import constant, snake
from codegen.model.overlay import Overlay
from codegen.model.rows import row
from codegen.schema.json_values import Object

SENDERS = (
    "ClientRequest",
    "ServerRequest",
    "ClientNotification",
    "ServerNotification",
    "InputRequest",
)


@dataclass(frozen=True)
class Messages:
    """Inputs of method resolution."""

    revision: str
    definitions: Object
    structs: dict[str, ir.Struct]
    aliases: dict[str, ir.Alias]
    overlay: Overlay
    stated: Mapping[str, ir.Direction] = field(default_factory=dict[str, ir.Direction])
    """Sender of the messages of an extension, which no union of the revision names."""
    pointers: Mapping[str, str] = field(default_factory=dict[str, str])
    """JSON pointer of each definition."""
    stops: Stops = field(default_factory=Stops)

    def stop(self, name: str, construct: str, advice: str, row_: str = "") -> Stopped:
        """Return the error for a message, or another definition."""
        return Stopped(Stop(self.revision, self.pointers.get(name, "#"), construct, advice, row_))


def build_methods(messages: Messages) -> tuple[ir.Method, ...]:
    """Build the methods of the revision, requests first, sorted by name.

    A direction, a result or a capability that cannot be resolved is added to the stops, and its
    method left out.
    """
    senders = {union: _arms(messages, union) for union in SENDERS}
    found: dict[str, ir.Method] = {}
    for struct in messages.structs.values():
        if struct.tag is None or struct.tag.wire != "method":
            continue
        with messages.stops.collected():
            method = _method(messages, struct, str(struct.tag.value), senders)
            _check_names(messages, method, found)
            found[method.wire] = method
    return tuple(sorted(found.values(), key=lambda method: (method.kind != "request", method.wire)))


_ARGUMENTS = frozenset({"methods", "progress", "self", "timeout_s", "types"})
"""Names that the generated calls use beside the fields of the params."""
_WIRE = re.compile(r"[A-Za-z][\w$]*([/.-][\w$]+)*", re.ASCII)


def _check_names(messages: Messages, method: ir.Method, others: Mapping[str, ir.Method]) -> None:
    """Check that a method's names can stand in code, and that no other method has them."""
    if not _WIRE.fullmatch(method.wire) or not constant(method.wire).isidentifier():
        raise messages.stop(
            method.message,
            f"the method `{method.wire}`, which cannot name a constant",
            "give it a name of letters, digits and slashes",
        )
    if not method.name.isidentifier() or method.name.startswith("_"):
        raise messages.stop(
            method.message,
            f"`{method.message}`, which cannot name a call",
            "add a [[name]] row that renames the definition",
        )
    struct = messages.structs.get(method.params)
    taken = _ARGUMENTS if method.kind == "request" else _ARGUMENTS - {"progress"}
    for one in struct.fields if struct and not messages.stated else ():
        if one.name in taken:  # of an extension: `codegen.extensions.checks`
            raise messages.stop(
                method.params,
                f"`{one.wire}` among the arguments of `{method.wire}`, where the calls have their "
                f"own `{one.name}`",
                "give it another name with a [[patch]] row",
            )
    for other in others.values():
        if other.wire == method.wire:
            raise messages.stop(
                method.message,
                f"{method.message} and {other.message} are both `{method.wire}`",
                "add an [[alias]] row for one of them",
                row(
                    "alias",
                    {"name": method.message, "target": other.message},
                    messages.revision,
                ),
            )
        same_call = (other.kind, other.name) == (method.kind, method.name)
        if same_call or constant(other.wire) == constant(method.wire):
            raise messages.stop(
                method.message,
                f"{method.message} and {other.message} want the same name in Python",
                "rename one of them",
            )


def _method(
    messages: Messages, struct: ir.Struct, wire: str, senders: dict[str, frozenset[str]]
) -> ir.Method:
    kind: Literal["request", "notification"] = (
        "request" if struct.name.endswith("Request") else "notification"
    )
    stem = struct.name.removesuffix("Request").removesuffix("Notification")
    params = next((field for field in struct.fields if field.wire == "params"), None)
    if params is None or not isinstance(params.type, ir.Ref):
        raise messages.stop(
            struct.name,
            "a message without params of a named type",
            "refer to a definition, with a [[patch]] row",
        )
    direction = messages.stated.get(wire) or _direction(messages, struct.name, kind, senders)
    return ir.Method(
        wire=wire,
        name=snake(stem),
        kind=kind,
        direction=direction,
        message=struct.name,
        params=params.type.name,
        params_required=params.absent == "refused",
        results=_results(messages, struct, stem, params.type.name) if kind == "request" else (),
        capability=_capability(messages, struct.name, wire, direction) if kind == "request" else "",
        deprecated=struct.deprecated,
    )


def _arms(messages: Messages, union: str) -> frozenset[str]:
    alias = messages.aliases.get(union)
    return frozenset(ir.arm_names(alias.type)) if alias else frozenset()


def _direction(
    messages: Messages, name: str, kind: str, senders: dict[str, frozenset[str]]
) -> ir.Direction:
    suffix = kind.title()
    by_client, by_server = name in senders[f"Client{suffix}"], name in senders[f"Server{suffix}"]
    if by_client and by_server:
        return "both"
    if by_client or by_server:
        return "client_to_server" if by_client else "server_to_client"
    if name in senders["InputRequest"]:
        return "embedded"
    if messages.overlay.draft == messages.revision:
        return "both"
    raise messages.stop(
        name,
        f"no union of the schema says who sends it ({', '.join(SENDERS)})",
        "add it to one with a [[patch]] row",
    )


def _results(messages: Messages, struct: ir.Struct, stem: str, params: str) -> tuple[str, ...]:
    """Return the result types of a request, the complete one first."""
    response = messages.structs.get(f"{stem}ResultResponse")
    if response:
        result = next((one.type for one in response.fields if one.wire == "result"), None)
        names = list(_flat(messages, response.name, result or ir.Scalar("any")))
        names.sort(key=lambda name: name != f"{stem}Result")
    elif f"{stem}Result" in messages.definitions:
        names = list(_flat(messages, struct.name, ir.Ref(f"{stem}Result")))
    elif "EmptyResult" in messages.definitions:
        names = ["EmptyResult"]
    else:
        raise messages.stop(
            struct.name,
            "no result type",
            f"expected a definition {stem}ResultResponse, {stem}Result or EmptyResult",
        )
    if "CreateTaskResult" in messages.structs and _may_become_a_task(messages, params):
        names.append("CreateTaskResult")
    return tuple(names)


def _may_become_a_task(messages: Messages, params: str) -> bool:
    """Return True if the params, or an arm of them, can ask for a task."""
    alias = messages.aliases.get(params)
    kinds = ir.arm_names(alias.type) if alias else [params]
    structs = [messages.structs[kind] for kind in kinds if kind in messages.structs]
    return any(field.wire == "task" for struct in structs for field in struct.fields)


def _flat(messages: Messages, response: str, type_: ir.Type) -> tuple[str, ...]:
    if isinstance(type_, ir.OneOf):
        return tuple(name for arm in type_.arms for name in _flat(messages, response, arm))
    if not isinstance(type_, ir.Ref):
        raise messages.stop(
            response, "a result without a name", "move it to a definition of its own"
        )
    alias = messages.aliases.get(type_.name)
    return (
        _flat(messages, response, alias.type)
        if alias and alias.strategy == "tag"
        else (type_.name,)
    )


_DECLARED_IN: Mapping[ir.Direction, tuple[str, ...]] = {
    "client_to_server": ("ServerCapabilities",),
    "server_to_client": ("ClientCapabilities",),
    "embedded": ("ClientCapabilities",),
    "both": ("ServerCapabilities", "ClientCapabilities"),
}
"""Types of the capabilities of whoever answers a request."""


def _capability(messages: Messages, name: str, wire: str, direction: ir.Direction) -> str:
    if wire in messages.stated:
        return ""  # the extension itself is what must be declared
    found = messages.overlay.one("capability", messages.revision, "method", wire)
    if found is None:
        if messages.overlay.draft == messages.revision:
            return ""
        # The method stays: the same run tells what else it asks for.
        messages.stops.add(
            messages.stop(
                name,
                f"no row says which capability `{wire}` needs",
                'add a [[capability]] row (path = "" for none)',
                row("capability", {"method": wire, "path": ""}),
            ).stops
        )
        return ""
    path = str(found["path"])
    if path and not any(_declares(messages, owner, path) for owner in _DECLARED_IN[direction]):
        if found.passes_over(messages.revision):
            return ""
        raise messages.stop(name, f"`{wire}`: no capability `{path}`", f"correct {found}")
    return path


def _declares(messages: Messages, owner: str, path: str) -> bool:
    struct: ir.Struct | None = messages.structs.get(owner)
    steps = path.split(".")
    for number, step in enumerate(steps, 1):
        field = next((f for f in struct.fields if f.wire == step), None) if struct else None
        if field is None:
            return False
        struct = messages.structs.get(field.type.name) if isinstance(field.type, ir.Ref) else None
        if number == len(steps):
            return True
    return False
