"""Progress, log messages, `list_changed` notifications and subscriptions.

Imported by: tasks, api, dispatch, mounting, request_services, server.py.
"""
