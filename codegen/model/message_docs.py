"""Documentation of messages and JSON-RPC frames, by rule from their methods and members."""

import re

from codegen.model import ir
from codegen.model.text import is_plain_line

_ENVELOPE = re.compile(r"JSONRPC.*|.*ResultResponse|(Client|Server)(Request|Notification|Result)")
_DIRECTIONS: dict[ir.Direction, str] = {
    "client_to_server": "from client to server",
    "server_to_client": "from server to client",
    "both": "from either side",
}
_FRAME = {
    "error": "Code and description of the failure.",
    "id": "Ties a response to its request; chosen by the request's sender.",
    "jsonrpc": "Version of JSON-RPC, always `2.0`.",
    "method": "Name of the request or notification, such as `tools/call`.",
    "params": "Arguments of the method.",
    "result": "Answer to the request; its type depends on the method.",
}


def is_envelope_name(name: str) -> bool:
    """Return True if the name is one of a JSON-RPC frame, or of a union of messages or results."""
    return _ENVELOPE.fullmatch(name) is not None


def is_envelope(struct: ir.Struct) -> bool:
    """Return True if a struct is a message or a JSON-RPC frame."""
    has_method = any(field.wire == "method" for field in struct.fields)
    is_message = struct.tag is not None and struct.tag.wire == "method"
    return has_method or is_message or is_envelope_name(struct.name)


def is_framed(struct: ir.Struct) -> bool:
    """Return True if a struct has the members of a JSON-RPC frame."""
    return any(field.wire == "jsonrpc" for field in struct.fields)


def whole_messages(revision: ir.Revision) -> set[str]:
    """Return the structs that are whole messages: all but requests inside of results."""
    embedded = {one.message for one in revision.methods if one.direction == "embedded"}
    there = {s.name for s in revision.structs.values() if is_envelope(s) or is_framed(s)}
    return there - embedded


def message_line(struct: ir.Struct, revision: ir.Revision) -> str:
    """Return the documentation of a message by its method or result, or an empty text."""
    for method in revision.methods:
        if method.message == struct.name:
            if method.direction == "embedded":
                return f"The request `{method.wire}`, as an entry of `inputRequests`."
            return f"The {method.kind} `{method.wire}`, {_DIRECTIONS[method.direction]}."
    result, response, _ = struct.name.partition("Response")
    return f"The response with {result}." if response else ""


def tag_line(tag: ir.Tag) -> str:
    """Return the documentation of a tag, or an empty text where no row wants one."""
    if not tag.documented:
        return ""
    line = f"Always `{tag.value}` on the wire; the class sets it."
    # The value is data: it may be of any length, and of characters that end a docstring.
    return line if is_plain_line(line) else "A constant on the wire; the class sets it."


def frame_line(struct: ir.Struct, wire: str) -> str:
    """Return the documentation of a member that frames have in common, or an empty text."""
    return _FRAME.get(wire, "") if is_envelope(struct) or is_framed(struct) else ""
