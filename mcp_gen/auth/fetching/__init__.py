"""Sends the requests of flows over HTTP, to addresses that were checked.

Imported by: auth/client, auth/server, auth/proxy.
"""
