"""Imports what a server of the tests needs, before its process is forked."""

import asyncio
from importlib import import_module

import mcp_wire
from mcp_gen import Server
from mcp_gen.transports import stdio

__all__ = ["Server", "asyncio", "stdio"]

for _revision in mcp_wire.REVISIONS:
    import_module(f"{mcp_wire.profile(_revision).module}.dispatch")
    import_module(f"{mcp_wire.profile(_revision).module}.requests")
