"""The same tool at two protocol versions: icons are new in 2025-11-25."""

import mcp_wire
from mcp_gen import project
from mcp_wire import v2025_11_25

tool = v2025_11_25.Tool(
    name="add",
    input_schema={"type": "object"},
    icons=[v2025_11_25.Icon(src="https://example.org/add.png")],
)

if __name__ == "__main__":
    print(mcp_wire.encode(tool).decode())
    older = project(tool, to="2024-11-05")
    print(mcp_wire.encode(older.value).decode())
    for loss in older.losses:
        print(f"lost: {loss.path}: {loss.reason}")
