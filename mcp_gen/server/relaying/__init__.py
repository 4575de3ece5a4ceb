"""Calls and subscriptions that are forwarded to a remote server for the client of a request.

Imported by: server/mounting, compat/bridge.
"""
