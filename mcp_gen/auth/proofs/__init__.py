"""DPoP proofs and client assertions: making them, checking proofs, and the keys that sign them.

Imported by: auth/client, auth/server.
"""
