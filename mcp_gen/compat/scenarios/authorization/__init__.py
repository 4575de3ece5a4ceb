"""Scenarios of servers that want a token: each is its own authorization server, too."""
