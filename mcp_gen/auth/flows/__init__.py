"""OAuth flows as generators of requests: no I/O, no clock, no randomness of their own.

Imported by: the other rooms of auth.
"""
