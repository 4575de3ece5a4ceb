"""Stores of credentials: the Protocol, and where tokens and registrations are kept.

Imported by: the client rooms of auth.
"""
