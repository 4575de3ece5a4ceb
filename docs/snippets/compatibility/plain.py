"""A server without an SDK: it speaks two revisions, and sends the same to clients of both."""

import json
import sys
from typing import Any

SPOKEN = ("2024-11-05", "2025-06-18")
TOOL = {
    "name": "count",
    "title": "Count the items on the shelf",
    "inputSchema": {"type": "object"},
}


def answer(method: str, params: Any) -> dict[str, Any]:
    if method == "initialize":
        asked = params["protocolVersion"]
        return {
            "protocolVersion": asked if asked in SPOKEN else SPOKEN[-1],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "plain", "version": "1.0.0"},
        }
    if method == "ping":
        return {}
    if method == "tools/list":
        return {"tools": [TOOL]}
    raise LookupError(method)


for line in sys.stdin:
    try:
        message: Any = json.loads(line)
    except ValueError:
        continue
    try:
        id, method = message["id"], message["method"]
    except (LookupError, TypeError):
        continue  # no request
    try:
        found = {"result": answer(method, message.get("params"))}
    except LookupError:
        found = {"error": {"code": -32601, "message": "unknown method"}}
    print(json.dumps({"jsonrpc": "2.0", "id": id, **found}), flush=True)
