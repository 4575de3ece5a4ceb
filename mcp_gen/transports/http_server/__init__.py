"""ASGI endpoint of the HTTP transports: Streamable HTTP, and HTTP+SSE of 2024-11-05.

Imported by: server/serving.
"""
