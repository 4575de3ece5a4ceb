"""ClientSession: one connected server, its calls, notifications and recovery.

Imported by: callbacks, connecting, client.py, manager, cli.
"""
