"""Tool results: content helpers, output schemas, typed results.

Imported by: client/tasks, client/session.
"""
