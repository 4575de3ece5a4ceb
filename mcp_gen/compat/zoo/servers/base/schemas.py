"""Servers that break the rules of JSON Schema, and their twins."""

from __future__ import annotations

from typing import ClassVar

from mcp_gen.compat.json_values import Json
from mcp_gen.compat.reference.server import ReferenceServer
from mcp_gen.compat.zoo.zoo import breaks, keeps


class _Schemas(ReferenceServer):
    """Gives the tool without arguments another input schema."""

    SCHEMA: ClassVar[Json] = {}

    def tools(self) -> list[Json]:
        schema = {"type": "object", **self.SCHEMA}
        return [
            {**one, "inputSchema": schema} if one["name"] == "content" else one
            for one in super().tools()
        ]


@breaks("base:schemas:recommended")
class OtherDialects(_Schemas):
    """Sends a schema of an earlier dialect."""

    SCHEMA: ClassVar[Json] = {"$schema": "http://json-schema.org/draft-07/schema#"}


@keeps("base:schemas:recommended")
class NamedDialect(_Schemas):
    """Names the recommended dialect, with an empty fragment."""

    SCHEMA: ClassVar[Json] = {"$schema": "https://json-schema.org/draft/2020-12/schema#"}


@breaks("base:schemas:2020-12")
class SchemasOfEarlierDialects(_Schemas):
    """Writes a schema as earlier dialects did, and names none."""

    SCHEMA: ClassVar[Json] = {"$defs": {"a": {"exclusiveMinimum": True}}}


@keeps("base:schemas:2020-12")
class OddSchemas(_Schemas):
    """Sends a schema with words that no dialect has."""

    SCHEMA: ClassVar[Json] = {
        "$defs": {"a": {"exclusiveMinimum": 1, "favourite": True}, "b": False}
    }


@breaks("base:schemas:dialect")
class WrongForTheirDialect(_Schemas):
    """Sends a schema that its dialect does not allow."""

    SCHEMA: ClassVar[Json] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$defs": {"a": {"exclusiveMinimum": True}},
    }


@keeps("base:schemas:dialect")
class RightForTheirDialect(_Schemas):
    """Sends a schema as its dialect wants it."""

    SCHEMA: ClassVar[Json] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$defs": {"a": {"exclusiveMinimum": 1}},
    }
