"""Checks of what is sent: conversations for sampling, and numbers that JSON does not have.

Imported by: everyone.
"""
