"""The ASGI endpoint.

Imported by: server/serving.
"""
