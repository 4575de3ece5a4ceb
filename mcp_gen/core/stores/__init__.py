"""Event, session and task store contracts.

Imported by: session, server/tasks, client/callbacks.
"""
