"""Imports what a server of the tests needs, before its process is forked."""

import asyncio
import gc
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import mcp_wire
from mcp_gen import Server
from mcp_gen.transports import stdio

__all__ = ["Server", "asyncio", "stdio"]

SPEC = Path(__file__).parents[1] / "server" / "spec"

for _revision in mcp_wire.REVISIONS:
    import_module(f"{mcp_wire.profile(_revision).module}.dispatch")
    import_module(f"{mcp_wire.profile(_revision).module}.requests")
for _path in SPEC.glob("*.py"):
    # The functions that make the servers are in them, and pytest, which takes longest. What is
    # wrong with one of them is said where it is collected.
    with suppress(Exception):
        import_module(f"tests.server.spec.{_path.stem}")

# Otherwise the first collection in each process would copy all of that.
gc.collect()
gc.freeze()
