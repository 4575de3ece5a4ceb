"""Progress, logs, list changes, subscriptions.

Imported by: tasks, api, dispatch, mounting, request_services, server.py.
"""
