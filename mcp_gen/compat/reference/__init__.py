"""Strict peers: a client and a server that speak exactly one revision."""
