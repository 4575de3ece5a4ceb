"""Build-time generator: reads `schema/`, writes `generated/mcp_wire/`. Not part of the wheel."""
