"""`Context`, the Protocols of its services, and worker threads.

Imported by: every room of server.
"""
