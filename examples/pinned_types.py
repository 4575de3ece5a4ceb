"""The types of one revision, exactly: a tool has icons since 2025-11-25, and had none before."""

import mcp_wire
from mcp_wire import v2024_11_05, v2025_11_25

OLD = v2024_11_05.Tool(name="add", input_schema={"type": "object"})
NEW = v2025_11_25.Tool(
    name="add",
    input_schema={"type": "object"},
    icons=[v2025_11_25.Icon(src="https://example.org/add.png")],
)

if __name__ == "__main__":
    print(mcp_wire.encode(OLD).decode())
    print(mcp_wire.encode(NEW).decode())
    print(mcp_wire.decode(v2025_11_25.Tool, mcp_wire.encode(OLD)))
