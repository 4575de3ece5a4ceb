"""Shapes of the messages of a revision: schemas, and the tools of the target."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any

import msgspec

import mcp_wire
from codegen.verify.instances import Mutator, instance, property_names
from mcp_gen import Client
from mcp_wire.json_schemas import json_schema
from mcp_wire.profile import Profile
from tests.fuzz.target import make_server
from tests.support.checks.known_extensions import known_extensions

__all__ = ["Shapes", "shapes_of"]


@dataclass(frozen=True)
class Shapes:
    """Schemas of one revision, and what the target has.

    Args:
        profile: Facts of the revision.
        document: JSON Schema of its types, as a receiver may read them.
        requests: Type of each request of a client, by method.
        notifications: Type of each notification of a client, by method.
        extensions: Methods of extensions.
        by_method: Type of each message of either side, by method.
        keys: Names of all properties, for keys that are added.
        tools: Input schema of each tool, by name.
    """

    profile: Profile
    document: dict[str, Any]
    requests: dict[str, str]
    notifications: dict[str, str]
    extensions: tuple[str, ...]
    by_method: dict[str, str]
    keys: tuple[str, ...]
    tools: dict[str, dict[str, Any]]

    def instance(self, name: str, random: Random) -> Any:
        """Return an instance of a type."""
        return instance(self.document, self.document["$defs"][name], random.choice)

    def smallest(self, name: str) -> Any:
        """Return the smallest instance of a type."""
        return instance(self.document, self.document["$defs"][name], lambda choices: choices[0])

    def arguments(self, tool: str, random: Random) -> Any:
        """Return arguments of a tool that fit its schema, mostly."""
        schema = self.tools[tool]
        return instance(schema, schema, random.choice)

    def changed(self, value: Any, random: Random) -> Any:
        """Return the value with a change, and a fifth of the time another one."""
        return next(Mutator(random, self.keys).changes(value, 1))

    def has(self, name: str) -> bool:
        """Return True if the revision has a type of this name."""
        return name in self.document["$defs"]


@cache
def shapes_of(revision: str) -> Shapes:
    """Return the shapes of a revision, which are read once."""
    profile, document = mcp_wire.profile(revision), json_schema(revision)
    types: dict[str, Any] = document["$defs"]
    by_method = {
        schema["properties"]["method"]["const"]: name
        for name, schema in types.items()
        if "const" in schema.get("properties", {}).get("method", {})
    }
    found: dict[str, dict[str, str]] = {"request": {}, "notification": {}}
    for name, method in profile.methods.items():
        if method.from_client:
            found[method.kind][name] = by_method[name]
    return Shapes(
        profile,
        document,
        found["request"],
        found["notification"],
        tuple(known_extensions().rows(profile)),
        by_method,
        tuple(sorted(property_names(document))),
        _tools(),
    )


@cache
def _tools() -> dict[str, dict[str, Any]]:
    async def listed() -> dict[str, dict[str, Any]]:
        async with Client("shapes") as client:
            session = await client.connect(make_server())
            return {
                tool.name: msgspec.to_builtins(tool.input_schema) async for tool in session.tools()
            }

    # In a thread: there may be an event loop here already.
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, listed()).result()
