"""Errors, JSON-RPC frames, protocol state and projection between revisions; no I/O.

Imported by: everyone.
"""
