"""Running over transports.

Imported by: server.py.
"""
