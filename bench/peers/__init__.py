"""Comparison with other SDKs: servers and clients, one program each, asked in turn."""
