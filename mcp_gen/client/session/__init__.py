"""ClientSession.

Imported by: callbacks, connecting, client.py, manager, cli.
"""
