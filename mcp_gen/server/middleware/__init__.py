"""Middleware that a server may add: limits, records, cached results. Public: `mcp_gen.middleware`.

All of it stands on the token bucket, the redaction and the encoder that this package has anyway:
libraries for rates, structured logs or caches bound neither the clients nor the bytes, or bring
their own log pipeline.

Imported by: mcp_gen/middleware.py.
"""
