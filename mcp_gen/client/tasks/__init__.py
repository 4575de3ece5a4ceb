"""Tasks of a server.

Imported by: client/session.
"""
