"""The client as a server sees it.

Imported by: session/kernel and above.
"""
