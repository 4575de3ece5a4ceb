"""Clients, servers and authorization servers of others, with tokens between them and ours."""
