"""Long contents of resources, the same for all servers."""

__all__ = ["BLOB_URI", "DATA", "LONG_BYTES", "TEXT", "TEXT_URI"]

LONG_BYTES = 1 << 20
"""Size of each, before base64."""
TEXT_URI, BLOB_URI = "text://long", "data://long"
TEXT = "x" * LONG_BYTES
DATA = bytes(range(256)) * (LONG_BYTES // 256)
