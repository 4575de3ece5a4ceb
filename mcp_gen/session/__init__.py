"""Connections being driven: requests, time limits and sessions around the core.

Imported by: server, client.
"""
