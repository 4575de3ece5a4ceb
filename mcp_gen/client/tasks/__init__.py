"""Tasks of a server: tool calls that continue in the background.

Imported by: client/session.
"""
