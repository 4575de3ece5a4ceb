"""Contracts: locks of what a server promises, and the meaning of changes to callers.

Imported by: manager, compat, cli.
"""
