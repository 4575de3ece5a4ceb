"""Connections with both directions.

Imported by: session/http_*, server/serving, client.
"""
