"""Types and values of users: who reads a type, its JSON Schema, and values to JSON and back.

Imported by: server, client.
"""
