"""Server and client for the official conformance suite."""
