"""A bridge in front of a server of others."""
