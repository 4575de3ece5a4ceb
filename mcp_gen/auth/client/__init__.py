"""Clients of authorization servers: what gives the requests of a client their tokens.

Imported by: users, through `mcp_gen.auth`.
"""
