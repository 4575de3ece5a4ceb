"""Serves a server over stdio, HTTP, sockets and in-memory transports.

Imported by: server.py, cli.
"""
