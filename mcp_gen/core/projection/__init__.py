"""Restating values between revisions.

Imported by: session, server, client, compat.
"""
