"""Contracts: what a server promises, kept in a lock, and what a change of it means to callers.

Imported by: manager, compat, cli.
"""
