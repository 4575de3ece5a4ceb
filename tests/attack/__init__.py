"""Attacks on a running server and on a running client, and what others feel meanwhile."""
