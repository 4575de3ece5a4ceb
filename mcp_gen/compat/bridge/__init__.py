"""The bridge: serves every revision in front of a server of any revision.

Imported by: cli, compat (its public name).
"""
