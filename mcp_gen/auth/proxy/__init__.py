"""The authorization server in front of a login provider that registers no clients.

Imported by: users.
"""
