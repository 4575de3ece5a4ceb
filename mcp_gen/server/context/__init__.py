"""Context and the Protocols it is served by.

Imported by: every room of server.
"""
