"""All surfaces: how to make each, and its share of the inputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from tests.fuzz.surfaces.surface import Surface

__all__ = ["SURFACES", "Kind", "make"]


@dataclass(frozen=True)
class Kind:
    """One surface.

    Args:
        share: Its part of all inputs, in percent.
        about: One line for `--help`.
        place: Module and class.
    """

    share: int
    about: str
    place: str


SURFACES: dict[str, Kind] = {
    "memory": Kind(32, "the server in the process, over a memory pair", "memory:Memory"),
    "stdio": Kind(18, "the server as a child process, over its pipes", "stdio:Stdio"),
    "http": Kind(18, "the ASGI app in the process, with headers", "http:Http"),
    "sockets": Kind(4, "the app behind uvicorn, over loopback sockets", "sockets:Sockets"),
    "client": Kind(12, "our HTTP client, whose server answers what it likes", "client:Clients"),
    "decoders": Kind(16, "what reads bytes of a peer, called directly", "decoders:Decoders"),
}


def make(name: str) -> Surface:
    """Return a surface; only what it needs is imported."""
    module, _, kind = SURFACES[name].place.partition(":")
    found: Callable[[], Any] = getattr(import_module(f"tests.fuzz.surfaces.{module}"), kind)
    surface: Surface = found()
    return surface
