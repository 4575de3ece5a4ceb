"""Checks of the base protocol: messages, errors, metadata, lifecycle, lines."""
