"""Imports the modules of the test servers, before their process is forked."""

import asyncio
import gc
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import mcp_wire
from mcp_gen import Server
from mcp_gen.transports import stdio

__all__ = ["Server", "asyncio", "stdio"]

ROOT = Path(__file__).parents[3]

for _revision in mcp_wire.REVISIONS:
    import_module(f"{mcp_wire.profile(_revision).module}.dispatch")
    import_module(f"{mcp_wire.profile(_revision).module}.requests")
for _path in ROOT.glob("tests/server/spec/**/[!_]*.py"):
    # The functions that make the servers are in them, and pytest, which takes longest. What is
    # wrong with one of them is said where it is collected.
    with suppress(Exception):
        import_module(".".join(_path.relative_to(ROOT).with_suffix("").parts))

# Otherwise the first collection in each process would copy all of that.
gc.collect()
gc.freeze()
