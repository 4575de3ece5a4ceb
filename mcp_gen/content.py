"""Content helpers for tools and prompts: text, image, audio, embedded resource, resource link."""

from mcp_gen.server.content.blocks import Structured, audio, embedded, image, link, text

__all__ = ["Structured", "audio", "embedded", "image", "link", "text"]
