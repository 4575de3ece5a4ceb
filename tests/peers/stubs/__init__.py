"""Typed clients of servers of others."""
