"""Blocks of content for tools and prompts, made in one call: see `mcp_gen.server.content`."""

from mcp_gen.server.content import Structured, audio, embedded, image, link, text

__all__ = ["Structured", "audio", "embedded", "image", "link", "text"]
