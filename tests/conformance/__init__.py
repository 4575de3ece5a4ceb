"""What the official conformance suite wants to find in a server."""
