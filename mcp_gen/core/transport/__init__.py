"""Transport Protocols, headers, SSE bytes.

Imported by: session, transports, server/serving, client.
"""
