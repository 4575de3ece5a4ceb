"""Answering one request.

Imported by: session/duplex, http_server, server, client/connecting.
"""
