"""HTTP exchanges and sessions.

Imported by: server/serving.
"""
