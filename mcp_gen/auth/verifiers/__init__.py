"""Verifiers of access tokens: JWTs, introspection, fixed tables, headers of a gateway.

Imported by: auth/server, users.
"""
