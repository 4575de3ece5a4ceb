"""Calls of a handler to tools and resources of its own server.

Imported by: request_services.
"""
