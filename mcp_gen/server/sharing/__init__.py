"""A server as one node of a cluster.

Imported by: server/serving, and only where there is a cluster.
"""
