"""Typed sending, receiving notifications, middleware, channels.

Imported by: every room of session, server, client.
"""
