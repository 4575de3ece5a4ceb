"""Streamable HTTP and HTTP+SSE clients.

Imported by: client/connecting, manager.
"""
